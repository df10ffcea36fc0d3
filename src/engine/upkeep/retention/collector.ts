import { CatalogError } from '../../../protocol/errors.ts';
import { canonicalPath } from '../../../protocol/identifier.ts';
import { PassedOver, failureText } from '../../base/passed-over.ts';
import { droppedKey, pathOfKey } from '../../catalog/records/keys.ts';
import { decodeDropped, decodeTable } from '../../catalog/records/records-codec.ts';
import type { DroppedRecord, Stored, TableRecord } from '../../format/records.ts';
import { walkTables } from '../../catalog/records/table-walk.ts';
import { Expiry, type ExpiryOptions } from './expiry.ts';
import { entriesBelow, severalAtOnce, begunPurges } from './entries.ts';
import type { Outlook } from '../../versions/leases/horizon.ts';
import { isBehind } from './journal-tail.ts';
import {
  lostFolders,
  orphansOf,
  removeEmptyIndices,
  removeIdleSeals,
  removeLost,
  removeOrphans,
  type Orphan,
} from './orphans.ts';
import { lanceOrphansOf, removeLanceOrphans } from './lance-orphans.ts';
import type { RetentionParts } from './parts.ts';
import { removeStagedOrphans, stagedOrphansOf } from './staged-orphans.ts';
import { purgeDropped, removeTableFiles, resumePurge } from './purge.ts';
import { NOTHING, plus, type Freed } from '../../../storage/storage.ts';

export interface CollectOptions {
  /** How long a dropped table can be brought back, in milliseconds. */
  readonly retentionMillis: number;
  /** Files that no version names are left alone until they are so old, in milliseconds. */
  readonly olderThanMillis: number;
  /** The same for files of Lance clients, which may work on a commit for days; seven days unless given. */
  readonly clientFilesMillis?: number | undefined;
  /** Whether files that no version names are looked for, which reads manifests and lists folders; by default they are. */
  readonly orphans?: boolean;
  /** How versions expire; none do unless it is given. */
  readonly expiry?: Omit<ExpiryOptions, 'dryRun' | 'signal'>;
  /** Only says what would be removed. */
  readonly dryRun?: boolean;
  /** How many tables are worked on at a time. */
  readonly atOnce?: number;
  /** Called with a few words about the current step. */
  readonly progress?: (doing: string) => void;
  /** Ends the work between two steps. */
  readonly signal?: AbortSignal;
}

/** Removed items of a collection, or those that a dry run would remove. */
export interface Collected {
  /** Dropped tables that are gone for good. */
  readonly tables: number;
  /** Versions that their policies do not keep. */
  readonly versions: number;
  /** Lines of versions that a commit rule keeps in spite of the policy. */
  readonly forbidden: number;
  /** Folders of tables that never came to be. */
  readonly folders: number;
  readonly files: number;
  readonly bytes: number;
  /** Number of items still needed by work in progress: dropped tables, and records of removed versions. */
  readonly waiting: number;
  /** Failed removals, a sentence each. */
  readonly failures: readonly string[];
}

/** How long Lance itself spares files that no manifest names. */
const CLIENT_FILES_MILLIS = 7 * 24 * 3600 * 1000;

/** Default number of tables that are collected at once. */
const AT_ONCE = 8;
/** Tables that are removed at a time: their commits share the flushes of the disk. */
const PURGED_AT_ONCE = 32;

/** Removes what nothing needs: dropped tables, files of removed versions, and what was left behind. */
export class Collector {
  readonly #parts: RetentionParts;

  constructor(parts: RetentionParts) {
    this.#parts = parts;
  }

  /** @throws CatalogError ServiceUnavailable when the store is not to be trusted. */
  async collect(options: CollectOptions): Promise<Collected> {
    return new Collection(this.#parts, options).run();
  }
}

/** One run. */
class Collection {
  readonly #parts: RetentionParts;
  readonly #options: CollectOptions;
  readonly #passedOver = new PassedOver();
  readonly #atOnce: number;
  #freed: Freed = NOTHING;
  #tables = 0;
  #folders = 0;
  #versions = 0;
  #forbidden = 0;
  /** Ids of the tables that lose versions in this run. */
  readonly #expiredTables = new Set<string>();
  #waiting = 0;

  constructor(parts: RetentionParts, options: CollectOptions) {
    this.#parts = parts;
    this.#options = options;
    this.#atOnce = options.atOnce ?? AT_ONCE;
  }

  async run(): Promise<Collected> {
    const { storage, store, horizon, journal } = this.#parts;
    if (await isBehind(storage, journal, store)) {
      throw new CatalogError(
        'ServiceUnavailable',
        'the store lacks changes that the catalog journal holds: nothing is removed by what it says',
      );
    }
    await this.#expire();
    // The look covers only what was released before it.
    const dropped = await keysBelow(store, droppedKey(''));
    const wasted = await keysBelow(store, 'W');
    const outlook = await horizon.look();
    await this.#resume();
    await this.#dropped(outlook, dropped);
    await this.#wasted(outlook, wasted);
    if (this.#options.orphans !== false) {
      await this.#orphans(outlook);
      await this.#staged(outlook);
      await this.#lanceOrphans(outlook);
      await this.#lost(outlook);
      await this.#uploads(outlook);
    }
    // Another process may have removed what is open here.
    await this.#parts.removed();
    return {
      tables: this.#tables,
      versions: this.#versions,
      forbidden: this.#forbidden,
      folders: this.#folders,
      ...this.#freed,
      waiting: this.#waiting,
      failures: this.#passedOver.failures.map(failureText),
    };
  }

  /** Removes the records of versions that their policies do not keep. */
  async #expire(): Promise<void> {
    const { expiry: rules, dryRun = false, signal } = this.#options;
    if (rules === undefined) return;
    const expiry = new Expiry(this.#parts, { ...rules, dryRun, signal });
    const everywhere = { delimiter: '/', after: '', chunk: 1000, opens: () => true };
    await this.#each(
      walkTables(this.#parts.store, everywhere),
      this.#atOnce,
      ({ path }) => canonicalPath(path),
      async ({ path, value }) => {
        const record = decodeTable(value);
        if (!this.#parts.isHere(record)) return;
        const { versions, forbidden } = await expiry.expire({ path, record });
        this.#versions += versions;
        if (versions > 0) this.#expiredTables.add(record.id);
        this.#forbidden += forbidden;
        if (versions > 0) this.#tell(`removing versions of ${canonicalPath(path)}`);
      },
    );
  }

  /** Goes on with what a crash cut off. */
  async #resume(): Promise<void> {
    const begun = await all(begunPurges(this.#parts.store));
    const nameOf = ({ content }: (typeof begun)[number]) => droppedName(content.dropped);
    await this.#each(begun, PURGED_AT_ONCE, nameOf, async (purge) => {
      const { record } = purge.content.dropped;
      if (!this.#parts.isHere(record)) return;
      this.#tell(`removing the dropped table ${record.id}`);
      this.#purged(
        this.#options.dryRun === true
          ? await removeTableFiles(this.#parts, record, true)
          : await resumePurge(this.#parts, purge),
      );
    });
  }

  async #dropped(outlook: Outlook, keys: ReadonlySet<string>): Promise<void> {
    const before = Date.now() - this.#options.retentionMillis;
    const nameOf = ({ content }: Stored<DroppedRecord>) => droppedName(content);
    await this.#each(this.#expired(keys, before), PURGED_AT_ONCE, nameOf, async (dropped) => {
      if (!outlook.isForgotten(dropped.content.droppedMillis)) {
        this.#waiting += 1;
        return;
      }
      const { record } = dropped.content;
      this.#tell(`removing the dropped table ${record.id}`);
      this.#purged(
        this.#options.dryRun === true
          ? await removeTableFiles(this.#parts, record, true)
          : await purgeDropped(this.#parts, dropped),
      );
    });
  }

  async *#expired(
    keys: ReadonlySet<string>,
    before: number,
  ): AsyncGenerator<Stored<DroppedRecord>> {
    for await (const { key, value } of entriesBelow(this.#parts.store, droppedKey(''))) {
      const content = decodeDropped(value);
      const isDue = keys.has(key) && content.droppedMillis <= before;
      if (isDue && this.#parts.isHere(content.record)) yield { key, value, content };
    }
  }

  #purged(freed: Freed | undefined): void {
    if (freed === undefined) return;
    this.#tables += 1;
    this.#freed = plus(this.#freed, freed);
  }

  /** The files of removed versions whose readers have all gone. */
  async #wasted(outlook: Outlook, keys: ReadonlySet<string>): Promise<void> {
    if (keys.size === 0) return;
    await this.#each(this.#ownTables(), this.#atOnce, nameOfTable, async ({ content: table }) => {
      const waste = (await this.#parts.waste.of(table.id)).filter(({ key }) => keys.has(key));
      const due = waste.filter(({ record }) => outlook.isForgotten(record.sinceMillis));
      this.#waiting += waste.length - due.length;
      if (due.length === 0) return;
      this.#tell(`removing versions of the table ${table.id}`);
      const names = due.map(({ key }) => key);
      const freed = await this.#parts.waste.remove(table, names, this.#options.dryRun === true);
      this.#freed = plus(this.#freed, freed);
    });
  }

  async #orphans(outlook: Outlook): Promise<void> {
    const isOld = this.#isOld(outlook);
    await this.#each(this.#ownTables(), this.#atOnce, nameOfTable, async ({ content: table }) => {
      this.#tell(`looking at the table ${table.id}`);
      const orphans = await orphansOf(this.#parts, table, isOld);
      const freed =
        this.#options.dryRun === true
          ? sizeOf(orphans)
          : await removeOrphans(this.#parts, table, orphans);
      this.#freed = plus(this.#freed, freed);
      const { storage, folder } = this.#parts;
      const isDry = this.#options.dryRun === true;
      this.#freed = plus(this.#freed, await removeIdleSeals(storage, folder(table), isDry));
      if (!isDry) await removeEmptyIndices(storage, folder(table), isOld);
    });
  }

  /** Staged but uncommitted manifests of Lance clients. */
  async #staged(outlook: Outlook): Promise<void> {
    const isOld = this.#isOld(outlook);
    await this.#each(this.#lanceTables(), this.#atOnce, nameOfTable, async ({ content: table }) => {
      this.#tell(`looking at the table ${table.id}`);
      const orphans = await stagedOrphansOf(this.#parts, table, isOld, outlook);
      const freed =
        this.#options.dryRun === true
          ? sizeOf(orphans)
          : await removeStagedOrphans(this.#parts.storage, table, orphans);
      this.#freed = plus(this.#freed, freed);
    });
  }

  /** Files of Lance tables that no manifest names. Those of versions that have just expired go at the next collection. */
  async #lanceOrphans(outlook: Outlook): Promise<void> {
    const { storage, retained } = this.#parts;
    const isOld = this.#isOld(outlook, this.#options.clientFilesMillis ?? CLIENT_FILES_MILLIS);
    await this.#each(this.#lanceTables(), this.#atOnce, nameOfTable, async ({ content: table }) => {
      if (this.#expiredTables.has(table.id)) {
        this.#waiting += 1;
        return;
      }
      const orphans = await lanceOrphansOf(storage, table, isOld);
      const freed =
        this.#options.dryRun === true
          ? sizeOf(orphans)
          : await removeLanceOrphans(storage, table, orphans, retained);
      this.#freed = plus(this.#freed, freed);
    });
  }

  async #lost(outlook: Outlook): Promise<void> {
    const folders = lostFolders(this.#parts, this.#isOld(outlook));
    const nameOf = ({ id }: { readonly id: string }) => `the folder ${id}`;
    await this.#each(folders, this.#atOnce, nameOf, async (lost) => {
      this.#tell(`removing the folder ${lost.id}`);
      const freed = await removeLost(this.#parts, lost, this.#options.dryRun === true);
      this.#folders += 1;
      this.#freed = plus(this.#freed, freed);
    });
  }

  /** Uploads in parts that nobody completed, of gateways and clients alike. */
  async #uploads(outlook: Outlook): Promise<void> {
    const { dryRun = false, clientFilesMillis = CLIENT_FILES_MILLIS } = this.#options;
    const isOld = this.#isOld(outlook, clientFilesMillis);
    await this.#passedOver.around('the uploads of object stores', async () => {
      const files = (await this.#parts.storage.uploads?.abandon(isOld, dryRun)) ?? 0;
      this.#freed = plus(this.#freed, { files, bytes: 0 });
    });
  }

  #isOld(
    outlook: Outlook,
    ageMillis = this.#options.olderThanMillis,
  ): (writtenMillis: number) => boolean {
    const before = Date.now() - ageMillis;
    return (writtenMillis) => writtenMillis <= before && outlook.isLeft(writtenMillis);
  }

  /** The tables that this engine writes. */
  async *#ownTables(): AsyncGenerator<NamedTable> {
    for await (const table of this.#liveTables()) if (table.content.kind === 'engine') yield table;
  }

  /** The tables that Lance clients write, or will. */
  async *#lanceTables(): AsyncGenerator<NamedTable> {
    for await (const table of this.#liveTables()) if (table.content.kind !== 'engine') yield table;
  }

  async *#liveTables(): AsyncGenerator<NamedTable> {
    for await (const { key, value } of entriesBelow(this.#parts.store, 'T')) {
      const content = decodeTable(value);
      if (this.#parts.isHere(content)) yield { key, content };
    }
  }

  async #each<Item>(
    items: AsyncIterable<Item> | Iterable<Item>,
    atOnce: number,
    nameOf: (item: Item) => string,
    work: (item: Item) => Promise<void>,
  ): Promise<void> {
    await severalAtOnce(items, atOnce, async (item) => {
      if (this.#options.signal?.aborted === true) return;
      await this.#passedOver.around(nameOf(item), () => work(item));
    });
  }

  #tell(doing: string): void {
    this.#options.progress?.(doing);
  }
}

type NamedTable = Pick<Stored<TableRecord>, 'key' | 'content'>;

function nameOfTable({ key }: NamedTable): string {
  return canonicalPath(pathOfKey(key));
}

function droppedName({ path, record }: DroppedRecord): string {
  return `${canonicalPath(path)} (dropped, ${record.id})`;
}

function sizeOf(orphans: readonly Orphan[]): Freed {
  return orphans.reduce((sum, { bytes }) => plus(sum, { files: 1, bytes }), NOTHING);
}

async function keysBelow(
  store: RetentionParts['store'],
  prefix: string,
): Promise<ReadonlySet<string>> {
  const keys = new Set<string>();
  for await (const { key } of entriesBelow(store, prefix)) keys.add(key);
  return keys;
}

async function all<Item>(items: AsyncIterable<Item>): Promise<readonly Item[]> {
  const found: Item[] = [];
  for await (const item of items) found.push(item);
  return found;
}
