import { join } from 'node:path';
import { isObjectKey, wireLocation } from '../../../storage/object-key.ts';
import type { Storage } from '../../../storage/storage.ts';
import { idPaths, readId, StrangeStore } from '../records/catalog-id.ts';
import { openFormat } from './data-format.ts';

/** Where a catalog keeps its data. */
export interface JournalPlace {
  /** The data folder. */
  readonly data: string;
  /** The journal: a folder of the data folder, or a key in an object store. */
  readonly journal: string;
}

/** Where the journal of a data folder is, unless it is in an object store. */
export function folderJournal(data: string): string {
  return join(data, 'catalog');
}

/** Whether a journal consists of objects, which are written whole, and not of files that grow. */
export function isOfObjects(storage: Storage, journal: string): boolean {
  return storage.files === undefined || isObjectKey(journal);
}

/**
 * Makes sure that data folder and journal have a format that this program reads; new ones get this program's.
 * @throws CatalogError ServiceUnavailable for a newer format, and for a journal in an object store if
 * the data folder has one itself.
 */
export async function openPlace(storage: Storage, { data, journal }: JournalPlace): Promise<void> {
  await openFormat(storage, data);
  const own = folderJournal(data);
  if (journal === own) return;
  await openFormat(storage, journal);
  const id = await readId(storage, idPaths(own).final);
  if (id === undefined || id === (await readId(storage, idPaths(journal).final))) return;
  throw new StrangeStore(
    `the journal is ${wireLocation(journal)}, but ${own} is the journal of the catalog ${id}: ` +
      'copy all files of that folder there while no gateway runs, or use another data folder',
  );
}
