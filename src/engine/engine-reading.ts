import type { Storage } from '../storage/storage.ts';
import { join } from 'node:path';
import { maskKeyOf } from './query/restrict/mask-secret.ts';
import { CatalogError } from '../protocol/errors.ts';
import type { ReadNotes } from '../store/notes.ts';
import type { Store } from '../store/store.ts';
import { idPaths, readId, requireOwnStore } from './catalog/records/catalog-id.ts';
import { folderJournal } from './catalog/journal/journal-place.ts';
import { lastInJournal } from './catalog/journal/journal-end.ts';
import { LocalTables, type LocalOptions } from './catalog/local-tables.ts';
import { RecordReader } from './catalog/records/reader.ts';
import { OwnStore } from './catalog/records/own-store.ts';
import type { Committer } from './catalog/records/commit-loop.ts';
import { Collector, type Collected, type CollectOptions } from './upkeep/retention/collector.ts';
import { DroppedTables, type DroppedTable } from './upkeep/retention/dropped-tables.ts';
import { Horizon } from './versions/leases/horizon.ts';
import type { RetentionParts } from './upkeep/retention/parts.ts';
import { readProcesses } from './versions/leases/presence.ts';
import { folderBoard, readBoard } from './versions/leases/presence-board.ts';
import { Running } from './versions/leases/running.ts';
import { VersionReader } from './catalog/records/version-reader.ts';
import { judgeHistory, type History, type HistoryOptions } from './rules/history.ts';
import { MemoryBudget } from './format/memory/memory-budget.ts';
import { Tables } from './versions/tables.ts';
import { Verifier, type Verified, type VerifyOptions } from './upkeep/verification/verifier.ts';

interface ReadingOptions {
  /** The data folder. */
  readonly data: string;
  /** The journal: a key in an object store; a folder of the data folder unless given. */
  readonly journal?: string | undefined;
  /** The processes of the catalog, where they publish what is in progress beside the store. */
  readonly presence?: ReadNotes | undefined;
  /** This gateway, where gateways share no folder. */
  readonly local?: LocalOptions | undefined;
  /** Where files and objects lie. */
  readonly storage: Storage;
  /** A store that was opened for reading. */
  readonly store: Store;
  /** The folder where Lance clients write. */
  readonly managed: string;
  /** Memory for manifests, in bytes. */
  readonly cacheBytes: number;
}

/** Operations of a catalog that is opened for reading. */
export interface CatalogReading {
  verify(options: VerifyOptions): Promise<Verified>;
  /** The dropped tables that can be brought back. */
  dropped(): Promise<readonly DroppedTable[]>;
  /** Dry run of a collection. */
  wouldCollect(options: Omit<CollectOptions, 'dryRun'>): Promise<Collected>;
  judgePast(options: HistoryOptions): Promise<History>;
}

/**
 * Opens a catalog for reading, beside the processes that serve it: nothing is made, finished,
 * repaired or removed, neither on the disk nor in the store.
 * @throws CatalogError ServiceUnavailable when the store is not this folder's, or went back.
 */
export async function openForReading(options: ReadingOptions): Promise<CatalogReading> {
  const { data, managed, storage, journal = folderJournal(data) } = options;
  const store = await ownStore(storage, journal, options.store);
  const memory = new MemoryBudget(options.cacheBytes);
  const horizon = new Horizon(
    new Running(),
    await readProcesses(
      options.presence === undefined
        ? folderBoard(storage, join(journal, 'processes'))
        : readBoard(options.presence),
    ),
  );
  const root = join(data, 'tables');
  const local = new LocalTables(options.local);
  const tables = new Tables({
    storage,
    root,
    store,
    committer: noCommitter,
    memory,
    reading: true,
  });
  const versions = new VersionReader(storage);
  const retention: RetentionParts = {
    storage,
    store,
    committer: noCommitter,
    root,
    journal,
    maskKey: maskKeyOf(data, options.journal),
    managed,
    // Nothing is removed.
    retained: [],
    reader: new RecordReader(store),
    folder: (table) => tables.folder(table),
    named: (folder, record) => versions.named(folder, record),
    waste: tables.waste,
    removing: (table, work) => tables.removing(table, work),
    clock: Date.now,
    horizon,
    removed: async () => undefined,
    isHere: (table) => local.isHere(table),
    process: '',
    isAlive: async () => true,
  };
  return {
    verify: (options) => new Verifier(retention).verify(options),
    dropped: () => new DroppedTables(retention).list(),
    wouldCollect: (options) => new Collector(retention).collect({ ...options, dryRun: true }),
    judgePast: (options) => judgeHistory({ store, tables }, options),
  };
}

/** The store, once it is known to be this folder's and to lack nothing. */
async function ownStore(storage: Storage, folder: string, store: Store): Promise<Store> {
  await requireOwnStore(storage, folder, store);
  const id = await readId(storage, idPaths(folder).final);
  if (id === undefined) {
    throw new CatalogError('ServiceUnavailable', `the catalog in ${folder} was never founded`);
  }
  const last = await lastInJournal(storage, folder);
  const sequence = await store.sequence();
  if (sequence < last) {
    throw new CatalogError(
      'ServiceUnavailable',
      `the store has the changes up to ${sequence}, but the journal those up to ${last}: ` +
        'the next start of a gateway, or catalog rebuild, restores them',
    );
  }
  return new OwnStore(store, id);
}

const noCommitter: Committer = {
  commit: async () => {
    throw new CatalogError('Internal', 'the catalog was opened for reading');
  },
};
