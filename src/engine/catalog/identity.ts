import { randomUUID } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { makeFolder } from '../../store/folder.ts';
import type { Check, Store } from '../../store/store.ts';
import { createDurable, syncFolder } from '../disk.ts';
import { idPaths, readId, storedId, stranger } from './catalog-id.ts';
import { openFormat } from './format.ts';
import type { Journal } from './journal.ts';
import { CATALOG_KEY } from './keys.ts';

/** Which catalog this is: a random id that stands in the store and on disk. */
export interface Identity {
  readonly id: string;
  /** Holds as long as the store is this catalog's; belongs into every commit. */
  readonly check: Check;
}

/**
 * Makes sure that a data folder and a store belong together. Where both are
 * fresh they get a new id; a start that a crash cut off is finished.
 * @throws CatalogError ServiceUnavailable when the store carries another id or none
 * (wiped, or another catalog's), or when the folder's format is too new.
 */
export async function openIdentity(
  dataFolder: string,
  store: Store,
  journal: Journal,
): Promise<Identity> {
  await openFormat(dataFolder);
  const folder = join(dataFolder, 'catalog');
  await makeFolder(folder);
  const id = (await readId(idPaths(folder).final)) ?? (await found(folder, store, journal));
  const stored = await storedId(store);
  if (stored !== id) throw stranger(id, stored);
  return { id, check: { kind: 'value', key: CATALOG_KEY, value: Buffer.from(id) } };
}

/**
 * Founds the catalog: an id is proposed on disk, then put into the store, then
 * made final on disk. A crash, or another process that does the same, leaves
 * the proposal, and whoever comes next goes on with it.
 */
async function found(folder: string, store: Store, journal: Journal): Promise<string> {
  const { final, proposal } = idPaths(folder);
  // A store that has an id already was founded with another folder, unless the id is our proposal.
  const taken = await storedId(store);
  if (taken === undefined) await createDurable(proposal, Buffer.from(randomUUID()));
  const id = (await readId(proposal)) ?? (await readId(final));
  if (id === undefined) throw stranger(undefined, taken);
  const value = Buffer.from(id);
  await journal.commit(
    [{ kind: 'value', key: CATALOG_KEY, value: null }],
    [{ key: CATALOG_KEY, value }],
  );
  // Whatever became of the commit, what counts is what the store says now.
  if ((await storedId(store)) !== id) return overtaken(folder, store, id);
  await journal.catchUp();
  await createDurable(final, value);
  await rm(proposal, { force: true });
  await syncFolder(folder);
  return id;
}

/** Another process founded the catalog and took its proposal away before we looked: ours came too late. */
async function overtaken(folder: string, store: Store, id: string): Promise<string> {
  const { final, proposal } = idPaths(folder);
  const known = await readId(final);
  if (known === undefined) throw stranger(id, await storedId(store));
  await rm(proposal, { force: true });
  return known;
}
