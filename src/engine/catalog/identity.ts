import { randomUUID } from 'node:crypto';
import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { CatalogError } from '../../protocol/errors.ts';
import { makeFolder } from '../../store/folder.ts';
import type { Check, Store } from '../../store/store.ts';
import { createDurable, syncFolder } from '../disk.ts';
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
  const known = (await readId(join(folder, 'id'))) ?? (await found(folder, store, journal));
  const stored = await store.get(CATALOG_KEY);
  const value = Buffer.from(known);
  if (stored === undefined || !value.equals(stored)) throw stranger(known, stored);
  return { id: known, check: { kind: 'value', key: CATALOG_KEY, value } };
}

/**
 * Founds the catalog: an id is proposed on disk, then put into the store, then
 * made final on disk. A crash, or another process that does the same, leaves
 * the proposal, and whoever comes next goes on with it.
 */
async function found(folder: string, store: Store, journal: Journal): Promise<string> {
  const proposal = join(folder, 'id.proposed');
  // A store that has an id belongs to a catalog that was founded elsewhere, unless the id is our proposal.
  const taken = await store.get(CATALOG_KEY);
  if (taken === undefined) await createDurable(proposal, Buffer.from(randomUUID()));
  const id = (await readId(proposal)) ?? (await readId(join(folder, 'id')));
  if (id === undefined) throw stranger(undefined, taken);
  const value = Buffer.from(id);
  await journal.commit(
    [{ kind: 'value', key: CATALOG_KEY, value: null }],
    [{ key: CATALOG_KEY, value }],
  );
  // Whatever became of the commit, what counts is what the store says now.
  const stored = await store.get(CATALOG_KEY);
  if (stored === undefined || !value.equals(stored)) throw stranger(id, stored);
  await journal.catchUp();
  await createDurable(join(folder, 'id'), value);
  await rm(proposal, { force: true });
  await syncFolder(folder);
  return id;
}

async function readId(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw error;
  }
}

function stranger(id: string | undefined, stored: Uint8Array | undefined): CatalogError {
  const expected = id === undefined ? 'the data folder carries none' : `which is ${id}`;
  const actual = stored === undefined ? 'none' : Buffer.from(stored).toString();
  return new CatalogError(
    'ServiceUnavailable',
    `the store does not carry this catalog's id, ${expected}; it carries ${actual}`,
  );
}
