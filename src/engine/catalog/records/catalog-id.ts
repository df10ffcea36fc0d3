import { join } from 'node:path';
import { CatalogError } from '../../../protocol/errors.ts';
import type { Store } from '../../../store/store.ts';
import type { Storage } from '../../../storage/storage.ts';
import { unlessMissing } from '../../../storage/storage-error.ts';
import { CATALOG_KEY } from './keys.ts';

/** Files of the catalog's id: the final one, and the proposal before the store has it. */
export const idPaths = (folder: string): { readonly final: string; readonly proposal: string } => ({
  final: join(folder, 'id'),
  proposal: join(folder, 'id.proposed'),
});

/** The id in a file; undefined when there is no such file. */
export async function readId(storage: Storage, path: string): Promise<string | undefined> {
  return (await unlessMissing(storage.read(path, 'all')))?.toString();
}

/** The id that the store carries. */
export async function storedId(store: Store): Promise<string | undefined> {
  const value = await store.get(CATALOG_KEY);
  return value === undefined ? undefined : Buffer.from(value).toString();
}

/**
 * Refuses a store that is not the one of this catalog folder. Nothing may be
 * taken from such a store, nor put into it. A store without id belongs to a
 * folder without id.
 * @throws CatalogError ServiceUnavailable
 */
export async function requireOwnStore(
  storage: Storage,
  folder: string,
  store: Store,
): Promise<void> {
  const { final, proposal } = idPaths(folder);
  const stored = await storedId(store);
  const existing = await readId(storage, final);
  if (existing === stored) return;
  // A crash, or another process, is between the store and the final name.
  const proposed = existing === undefined ? await readId(storage, proposal) : undefined;
  if (proposed !== undefined && proposed === stored) return;
  // Another process may have finished between the two reads.
  if (existing === undefined && stored !== undefined && (await readId(storage, final)) === stored)
    return;
  throw foreignStore(existing ?? proposed, stored);
}

/** The refusal of a store that is not this catalog's. */
export function foreignStore(id: string | undefined, stored: string | undefined): StrangeStore {
  const expected = id === undefined ? 'the data folder carries none' : `which is ${id}`;
  return new StrangeStore(
    `the store does not carry this catalog's id, ${expected}; it carries ${stored ?? 'none'}`,
  );
}

/** The store was wiped, or is another catalog's. */
export class StrangeStore extends CatalogError {
  constructor(message: string) {
    super('ServiceUnavailable', message);
    this.name = 'StrangeStore';
  }
}
