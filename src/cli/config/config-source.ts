import type { ConfigPath } from './config-table.ts';

/** A configuration that cannot be used: one sentence that names where and which key. */
export class ConfigError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'ConfigError';
  }
}

/** A value as a source gives it, before it is read. */
export interface Given {
  readonly value: unknown;
  /** Source of the value, for refusals: `arrowgate.yaml:3: cache.bytes`, `--port`, `ARROWGATE_PORT`. */
  readonly where: string;
  /** An example of the text of a flag or variable; absent for values of a file and plain texts. */
  readonly form?: string | undefined;
  /** Source of a place inside of the value; `where` and the place when absent. */
  readonly inside?: (place: readonly (string | number)[]) => string;
}

/** The keys of one source. */
export type SettingSource = ReadonlyMap<ConfigPath, Given>;

/** A place inside of a value as it is written: `[1].timeouts.idle`. */
export function sourceText(place: readonly (string | number)[]): string {
  return place.map((step) => (typeof step === 'number' ? `[${step}]` : `.${step}`)).join('');
}
