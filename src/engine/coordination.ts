import type { Storage } from '../storage/storage.ts';
import { join } from 'node:path';
import type { Store } from '../store/store.ts';
import { openIdentity, OwnCommitter, type Identity } from './catalog/journal/identity.ts';
import { openJournal, type Journal } from './catalog/journal/journal.ts';
import { NotedCommitter, NotedStore } from './catalog/records/noted-store.ts';
import { RecentRecords } from './catalog/records/recent-records.ts';
import { SettlingCommitter } from './catalog/journal/settling-committer.ts';
import { guardStore } from './upkeep/recovery/store-guard.ts';

/** What every part of the engine commits to and reads from. */
export interface Coordination {
  readonly journal: Journal;
  readonly committer: SettlingCommitter;
  readonly store: NotedStore;
  /** What was read or written lately, for reads while the store is unavailable. */
  readonly recent: RecentRecords;
}

/**
 * Opens the journal of a data folder and binds the folder to its store.
 * @throws CatalogError ServiceUnavailable when the store is not this folder's, or went back.
 */
export async function openCoordination(
  storage: Storage,
  data: string,
  store: Store,
): Promise<Coordination> {
  const folder = join(data, 'catalog');
  const look = () => guardStore(storage, store, folder);
  look();
  const journal = await openJournal(storage, folder, store);
  const identity = await identityOf(storage, data, store, journal);
  const recent = new RecentRecords();
  const own = new NotedCommitter(new OwnCommitter(journal, identity, look), recent);
  const committer = new SettlingCommitter(own);
  return { journal, committer, recent, store: new NotedStore(store, identity.id, recent, look) };
}

async function identityOf(
  storage: Storage,
  data: string,
  store: Store,
  journal: Journal,
): Promise<Identity> {
  try {
    return await openIdentity(storage, data, store, journal);
  } catch (error) {
    await journal.close();
    throw error;
  }
}
