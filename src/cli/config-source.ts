import type { ConfigPath } from './config-table.ts';

/** A value as a source gives it, before it is read. */
export interface Given {
  readonly value: unknown;
  /** Where it stands, for the sentence of a refusal: `arrowgate.yaml:3: cache.bytes`, `--port`, `ARROWGATE_PORT`. */
  readonly where: string;
}

/** What one source says. */
export type Source = ReadonlyMap<ConfigPath, Given>;
