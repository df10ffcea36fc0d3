import type { Flushes } from '../../store/flushes.ts';

/** The files of a change could not be brought to stable storage, so it was never committed. */
export class NotDurable extends Error {
  constructor(cause: unknown) {
    super('the files of a change could not be brought to stable storage', { cause });
  }
}

/** Waits until the files of a change are on stable storage. @throws NotDurable. */
export async function requireDurable(flushes: Flushes | undefined): Promise<void> {
  try {
    await flushes?.settled();
  } catch (error) {
    throw new NotDurable(error);
  }
}
