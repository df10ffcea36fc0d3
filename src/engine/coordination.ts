import type { Storage } from '../storage/storage.ts';
import { CatalogError } from '../protocol/errors.ts';
import type { Store } from '../store/store.ts';
import { idPaths, readId, requireOwnStore } from './catalog/records/catalog-id.ts';
import { openPlace, type JournalPlace } from './catalog/journal/journal-place.ts';
import { openIdentity, OwnCommitter, type Identity } from './catalog/journal/identity.ts';
import { openJournal, type Journal } from './catalog/journal/journal.ts';
import { NotedCommitter, NotedStore } from './catalog/records/noted-store.ts';
import { RecentRecords } from './catalog/records/recent-records.ts';
import { SettlingCommitter } from './catalog/journal/settling-committer.ts';
import { guardStore } from './upkeep/recovery/store-guard.ts';

/** The committer and reader shared by all parts of the engine. */
interface Coordination {
  readonly journal: Journal;
  readonly committer: SettlingCommitter;
  readonly store: NotedStore;
  /** Recently read or written records, for reads while the store is unavailable. */
  readonly recent: RecentRecords;
}

/** Guards a store with a journal. Returns the function that guards again. */
function guarded(storage: Storage, journal: string, store: Store): () => void {
  const look = (): void => guardStore(storage, store, journal);
  look();
  return look;
}

/**
 * Opens the journal of a data folder and binds the folder to its store.
 * @throws CatalogError ServiceUnavailable when the store is not this folder's, or went back.
 */
export async function openCoordination(
  storage: Storage,
  place: JournalPlace,
  store: Store,
): Promise<Coordination> {
  await openPlace(storage, place);
  const look = guarded(storage, place.journal, store);
  const journal = await openJournal(storage, place.journal, store);
  const identity = await identityOf(storage, place, store, journal);
  const recent = new RecentRecords();
  const own = new NotedCommitter(new OwnCommitter(journal, identity, look), recent);
  const committer = new SettlingCommitter(own);
  return { journal, committer, recent, store: new NotedStore(store, identity.id, recent, look) };
}

/**
 * The same for a data folder that is only read, with a store that was opened for reading: commits
 * are refused, and changes without a line in the journal get none.
 * @throws CatalogError ServiceUnavailable as `openCoordination` does.
 */
export async function openReadCoordination(
  storage: Storage,
  { journal: folder }: JournalPlace,
  store: Store,
): Promise<Coordination> {
  const look = guarded(storage, folder, store);
  await requireOwnStore(storage, folder, store);
  const id = await readId(storage, idPaths(folder).final);
  if (id === undefined) {
    throw new CatalogError('ServiceUnavailable', `the catalog in ${folder} was never founded`);
  }
  const recent = new RecentRecords();
  const committer = new SettlingCommitter(new NotedCommitter(readJournal, recent));
  return {
    journal: readJournal,
    committer,
    recent,
    store: new NotedStore(store, id, recent, look),
  };
}

/** The journal of a catalog that is only read. */
const readJournal: Journal = {
  commit: async () => {
    throw new CatalogError(
      'ServiceUnavailable',
      'the catalog is only read, and nothing is changed',
    );
  },
  catchUp: async () => undefined,
  fault: undefined,
  close: async () => undefined,
};

async function identityOf(
  storage: Storage,
  place: JournalPlace,
  store: Store,
  journal: Journal,
): Promise<Identity> {
  try {
    return await openIdentity(storage, place.journal, store, journal);
  } catch (error) {
    await journal.close();
    throw error;
  }
}
