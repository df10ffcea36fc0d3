import type { Check, Write } from '../../../store/store.ts';
import type { Flushes } from '../../../storage/flushes.ts';
import type { TableRecord } from '../../format/records.ts';

/** The files of a change could not be brought to stable storage, so it was never committed. */
export class NotDurable extends Error {
  constructor(cause: unknown) {
    super('the files of a change could not be brought to stable storage', { cause });
  }
}

/** Called if the files of an attempt are lost. */
interface LostFiles {
  readonly undo: () => Promise<void>;
  /** Whether no attempt was made before, which may have taken effect. */
  readonly first: boolean;
}

/**
 * Waits until the files of a change are on stable storage.
 * @throws NotDurable, or what went wrong where it cannot be said that nothing took effect.
 */
export async function requireDurable(
  flushes: Flushes | undefined,
  lost?: LostFiles,
): Promise<void> {
  try {
    await flushes?.settled();
  } catch (error) {
    await lost?.undo();
    throw lost?.first === false ? error : new NotDurable(error);
  }
}

/** Part of a change's commit that makes the change once: it stores the answer. */
export interface Seal<Result> {
  /** Check that the change has not been made yet. */
  readonly checks: readonly Check[];
  /** Writes that store the answer, given the result. */
  writes(result: Result): readonly Write[];
  /** @throws AlreadyDone, when one of the checks does not hold. */
  broken(): Promise<never>;
}

/** A change that was made before. Not a refusal: the caller gets the first answer. */
export class AlreadyDone extends Error {
  /** Whether this very request made it, in an attempt whose outcome was unknown: then what it wrote must stay. */
  readonly mine: boolean;

  constructor(mine: boolean) {
    super('the change was made before');
    this.name = 'AlreadyDone';
    this.mine = mine;
  }
}

/** A seal for a commit whose result lacks parts of the answer. */
export function sealOf<Inner, Outer>(
  seal: Seal<Outer> | undefined,
  whole: (inner: Inner) => Outer,
): Seal<Inner> | undefined {
  if (seal === undefined) return undefined;
  return {
    checks: seal.checks,
    writes: (inner) => seal.writes(whole(inner)),
    broken: () => seal.broken(),
  };
}

/** Judges what is done to a table before it is committed. @throws CatalogError for what may not be done. */
export type JudgeTable = (record: TableRecord) => Promise<void>;
