import type { Storage } from './storage.ts';

/** Discards objects, in no order: those of an object store share requests. @throws the error of one that stays */
export async function discardAll(
  storage: Pick<Storage, 'discard'>,
  keys: readonly string[],
): Promise<void> {
  await Promise.all(keys.map(async (key) => storage.discard(key)));
}
