import type { ObjectPath } from '../protocol/identifier.ts';
import type { WrittenRule } from '../policy/settings/commits.ts';

/** A dropped table that can be brought back. */
interface Dropped {
  readonly id: string;
  readonly path: ObjectPath;
  /** Milliseconds since 1970; it is kept for certain until the second. */
  readonly droppedMillis: number;
  readonly untilMillis: number;
}

/** A version that a rule would have refused, or that cannot be judged. */
export interface Past {
  readonly branch: string;
  readonly version: bigint;
  readonly timestampMillis: number;
  readonly rule: string | null;
  readonly fault: string;
}

/** Versions of a table, judged by rules. */
interface JudgedPast {
  readonly tables: number;
  readonly commits: number;
  readonly refused: readonly Past[];
  readonly unjudged: readonly Past[];
}

/** What the console needs of the catalog besides operations of the protocol. */
export interface CatalogAccess {
  readonly dropped: () => Promise<readonly Dropped[]>;
  /** @throws CatalogError */
  readonly undrop: (path: ObjectPath, id: string, as: ObjectPath | undefined) => Promise<void>;
  readonly judgePast: (
    table: ObjectPath,
    rules: readonly WrittenRule[],
    signal: AbortSignal,
  ) => Promise<JudgedPast>;
}
