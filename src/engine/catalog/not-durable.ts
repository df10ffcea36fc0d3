import type { Flushes } from '../../store/flushes.ts';

/** The files of a change could not be brought to stable storage, so it was never committed. */
export class NotDurable extends Error {
  constructor(cause: unknown) {
    super('the files of a change could not be brought to stable storage', { cause });
  }
}

/** What is done where the files of an attempt are lost. */
export interface LostFiles {
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
