import { sep } from 'node:path';
import type { Schema } from 'apache-arrow';
import type { Storage } from '../../storage/storage.ts';
import type { Flushes } from '../../storage/flushes.ts';
import { commitFilesOnce, tookNoEffect, type Committer } from '../catalog/records/commit-loop.ts';
import { versionKey } from '../catalog/records/keys.ts';
import { requireDurable } from '../catalog/records/seal.ts';
import { unchanged } from '../catalog/records/reader.ts';
import type { BranchRecord, Stored, TableRecord, VersionRecord } from '../format/records.ts';
import { ManagedVersions, type FoundValue } from './managed/managed-versions.ts';
import { settledBranch } from './managed/managed-branches.ts';
import { branchChain, Branches, branchNotFound } from './lines/branches.ts';
import { MAIN, MAIN_CHAIN, type Chain } from '../format/chain.ts';
import { appended, empty, ManifestSnapshots } from '../format/change.ts';
import type { WrittenFile } from '../format/fragment-writer.ts';
import { withLiveIndices } from '../index/keys/index-upkeep.ts';
import { discard, ingest } from '../format/ingest.ts';
import type { IncomingBatches } from '../format/incoming.ts';
import { KeyedMutex } from '../format/memory/keyed-mutex.ts';
import type { Manifest } from '../format/manifest.ts';
import { ManifestStore } from './lines/manifest-store.ts';
import {
  newLargeFiles,
  type Committed,
  type Founding,
  type OnLargeFile,
  type VersionCommit,
} from './lines/version-commits.ts';
import type { FoundSnapshot, Snapshot, TableFolder } from '../format/snapshot.ts';
import { makeTableFolder, removeTableFolder } from '../format/table-folder.ts';
import { TablePlaces } from '../format/table-places.ts';
import { headCheck, versionWrites, VersionStore, type VersionPage } from './lines/version-store.ts';
import { tableReplaced, versionNotFound } from '../format/version-refusals.ts';
import { removeVersions, type VersionRemoval, type RemovalParts } from './version-removal.ts';
import { Waste } from './leases/waste.ts';
import type { Store } from '../../store/store.ts';
import type { Horizon } from './leases/horizon.ts';
import type { MemoryBudget } from '../format/memory/memory-budget.ts';

/** Result of an attempt to commit a version. */
type Made = Pick<Committed, 'record' | 'list'>;

/** Place of a new version. */
interface AttemptPlace {
  readonly tableId: string;
  readonly folder: string;
  readonly chain: Chain;
}

/** The attempts to commit a version, each with a manifest under a staging name of its own. */
class Attempts<Attempt extends Made> {
  readonly #manifests: ManifestStore;
  readonly #versions: VersionStore;
  readonly #place: AttemptPlace;
  readonly #all: Attempt[] = [];

  constructor(manifests: ManifestStore, versions: VersionStore, place: AttemptPlace) {
    this.#manifests = manifests;
    this.#versions = versions;
    this.#place = place;
  }

  get none(): boolean {
    return this.#all.length === 0;
  }

  add(attempt: Attempt): void {
    this.#all.push(attempt);
  }

  /** Removes the staged manifest of the last attempt, which is known to have had no effect. */
  async unstageLast(): Promise<void> {
    const last = this.#all.at(-1);
    if (last !== undefined) await this.#manifests.unstage(this.#place.folder, last);
  }

  /** The attempt that took effect after all. One of unknown outcome may do so while later ones are made. */
  async taken(): Promise<Attempt | undefined> {
    const { tableId, chain } = this.#place;
    for (const attempt of this.#all) {
      const { version, staging } = attempt.record;
      const stored = await this.#versions.at(tableId, version, chain);
      if (stored?.content.staging === staging) return attempt;
    }
    return undefined;
  }
}

/** A version's record, and a key that it was found under, which may be that of a head. */
type FoundVersion = Pick<Stored<VersionRecord>, 'key' | 'content'> & FoundValue;

/** The tables that this engine writes, with their data files and manifests; and the versions of all tables. */
export class Tables {
  readonly #root: string;
  readonly #places: TablePlaces;
  readonly #committer: Committer;
  readonly #versions: VersionStore;
  readonly #managed: ManagedVersions;
  readonly #branches: Branches;
  readonly #manifests: ManifestStore;
  readonly #reading: boolean;
  readonly #mutex = new KeyedMutex();
  readonly #snapshots: ManifestSnapshots;
  readonly #onCommit: OnCommit | undefined;
  readonly #onLargeFile: OnLargeFile;
  readonly #clock: () => number;
  /** Storage of the tables' files. */
  readonly storage: Storage;
  /** The files of versions that were removed. */
  readonly waste: Waste;

  constructor(options: TablesOptions) {
    this.storage = options.storage;
    this.#snapshots = new ManifestSnapshots(options.storage);
    this.#onCommit = options.onCommit;
    this.#onLargeFile = options.onLargeFile ?? (() => undefined);
    this.#clock = options.clock ?? Date.now;
    this.#root = options.root;
    this.#places = options.places ?? new TablePlaces([], [options.root]);
    this.#committer = options.committer;
    this.#versions = new VersionStore(options.store);
    this.#managed = new ManagedVersions(options);
    this.#branches = new Branches(options.store, options.committer);
    this.#reading = options.reading ?? false;
    this.#manifests =
      options.manifests ?? new ManifestStore(options.storage, options.memory, options.reading);
    this.waste = new Waste({
      ...options,
      folder: (table) => this.folder(table),
      named: (folder, record) => this.#manifests.named(folder, record),
    });
  }

  /** The absolute path of a table's folder: under its id, unless its creator chose a location. */
  folder(table: Pick<TableRecord, 'id' | 'location'>): string {
    const { id, location } = table;
    return location === null ? `${this.#root}${sep}${id}` : this.#places.folderAt(location);
  }

  #folderOf(table: TableRecord): TableFolder {
    return { storage: this.storage, folder: this.folder(table) };
  }

  /** Removes what was written for a table that did not come to be. */
  async removeFolder(table: TableRecord, files: readonly WrittenFile[]): Promise<void> {
    const chosen = table.location !== null;
    await removeTableFolder(this.#folderOf(table), chosen, files, this.#places.retained);
  }

  /**
   * The line of versions that a name means: `main`, or a branch.
   * @throws CatalogError TableBranchNotFound.
   */
  async chain(table: TableRecord, branch: string): Promise<Chain> {
    if (table.kind === 'engine') return this.#branches.chain(table.id, branch);
    if (branch === MAIN) return MAIN_CHAIN;
    const stored = await this.#branchOf(table, branch);
    if (stored === undefined) throw branchNotFound(branch);
    return { ...branchChain(branch, stored), lineage: [] };
  }

  /** The branch of a Lance table. Readers that change nothing leave its file as a crash did. */
  async #branchOf(table: TableRecord, branch: string): Promise<Stored<BranchRecord> | undefined> {
    if (this.#reading) return this.#branches.find(table.id, branch);
    const [storage, committer, branches] = [this.storage, this.#committer, this.#branches];
    const { retained } = this.#places;
    return settledBranch({ storage, committer, branches, retained }, table, branch);
  }

  /** Finishes the removals of branches of a Lance table that gateways left. Readers that change nothing leave them. */
  async finishBranchRemovals(table: TableRecord): Promise<void> {
    if (this.#reading || table.kind !== 'lance') return;
    for (const name of await this.#branches.removed(table.id)) {
      // The branch is removed even if its files are not: a request that needs its name tries again, and gets the error.
      await this.#branchOf(table, name).catch(() => undefined);
    }
  }

  /** Every line of versions of a table: the main one first. */
  async chains(table: TableRecord): Promise<readonly Chain[]> {
    return [MAIN_CHAIN, ...(await this.#branches.chains(table.id))];
  }

  /**
   * A table at its newest version, or at the one asked for.
   * @param chain The line of versions that is meant.
   * @throws CatalogError TableVersionNotFound.
   */
  async snapshot(table: TableRecord, version?: bigint, chain?: Chain): Promise<Snapshot> {
    return (await this.found(table, version, chain)).snapshot;
  }

  /** The same with the record by which the version was found. */
  async found(
    table: TableRecord,
    version?: bigint,
    chain: Chain = MAIN_CHAIN,
  ): Promise<FoundSnapshot> {
    const record = await this.#stored(table.id, version, chain);
    try {
      const found = this.foundNow(table, record);
      if (found !== undefined) return found;
      return { snapshot: this.snapshotOf(table, await this.#load(table, record)), record };
    } catch (error) {
      // It may have been removed since its record was read: then the newest is another.
      const found = await this.#stored(table.id, version, chain);
      if (found.content.version === record.content.version) throw error;
      return this.found(table, version, chain);
    }
  }

  /** A version of a table by its record; undefined if its manifest has to be read. */
  foundNow(table: TableRecord, record: Stored<VersionRecord>): FoundSnapshot | undefined {
    const manifest = this.#manifests.cached(this.folder(table), record.content);
    return manifest && { snapshot: this.snapshotOf(table, manifest), record };
  }

  /** A table at the version of a manifest. */
  snapshotOf(table: TableRecord, manifest: Manifest): Snapshot {
    const folder = this.folder(table);
    return this.#snapshots.of(manifest, table.id, folder);
  }

  /**
   * The record of a table's newest version, or of the one asked for.
   * @throws CatalogError TableVersionNotFound.
   */
  async version(
    table: TableRecord,
    version?: bigint,
    chain: Chain = MAIN_CHAIN,
  ): Promise<Stored<VersionRecord>> {
    if (table.kind !== 'engine') return this.#managed.version(table, version, chain);
    const stored = await this.#stored(table.id, version, chain);
    await this.#finish(table, stored);
    return stored;
  }

  /** The versions of a table; every one that is answered has its final manifest. */
  async versions(
    table: TableRecord,
    page: VersionPage,
    chain: Chain = MAIN_CHAIN,
  ): Promise<readonly VersionRecord[]> {
    if (table.kind !== 'engine') return this.#managed.versions(table, page, chain);
    const records = await this.#versions.list(table.id, page, chain);
    for (const content of records) {
      const key = versionKey(table.id, chain.key, content.version);
      await this.#finish(table, { key, content });
    }
    return records;
  }

  /** Makes the folder of a new table and writes its first rows; nothing refers to it yet. */
  async begin(
    table: TableRecord,
    schema: Schema,
    batches: IncomingBatches,
    flushes?: Flushes,
  ): Promise<readonly WrittenFile[]> {
    const folder = this.#folderOf(table);
    try {
      const mode = table.location === null ? undefined : this.#places.mode;
      await makeTableFolder(folder, mode);
      return await ingest(folder, schema, batches, flushes);
    } catch (error) {
      await this.removeFolder(table, []);
      throw error;
    }
  }

  /**
   * The first version of a table whose files were written by `begin`. When the
   * commit is refused they are removed.
   */
  async first(
    table: TableRecord,
    schema: Schema,
    files: readonly WrittenFile[],
    commit: Founding['commit'],
    flushes?: Flushes,
  ): Promise<Committed> {
    const remove = () => this.removeFolder(table, files);
    const contents = appended(empty(schema), files);
    return this.founded({ table, contents, commit, remove, flushes });
  }

  /** The first version of a table whose files are in its folder. */
  async founded({ table, contents, commit, remove, flushes }: Founding): Promise<Committed> {
    const manifest = { ...contents, version: 1n, timestampMillis: this.#clock() };
    const folder = this.folder(table);
    const staged = await this.#manifests.stage(folder, manifest).catch(async (error: unknown) => {
      await remove();
      throw error;
    });
    const { record } = staged;
    const committed = { table: table.id, base: undefined, ...staged };
    try {
      await requireDurable(flushes);
      await commit([headCheck(table.id, undefined)], versionWrites(table.id, record), committed);
    } catch (error) {
      if (tookNoEffect(error)) {
        await this.#manifests.unstage(folder, staged);
        await remove();
      }
      throw error;
    }
    return this.#settled(table, committed);
  }

  /**
   * Writes rows into a table's folder; nothing refers to them until a commit does.
   * Where flushes are given, the commit has to wait for them.
   */
  async write(
    table: TableRecord,
    schema: Schema,
    batches: IncomingBatches,
    flushes?: Flushes,
  ): Promise<readonly WrittenFile[]> {
    return ingest(this.#folderOf(table), schema, batches, flushes);
  }

  /** Removes files that `write` wrote and no commit took. */
  async discard(table: TableRecord, files: readonly Pick<WrittenFile, 'file'>[]): Promise<void> {
    await discard(this.#folderOf(table), files);
  }

  /**
   * Makes the next version of a table.
   * @throws CatalogError ConcurrentModification when others were first too often,
   * or when another table has taken this one's name.
   */
  async commit(commit: VersionCommit): Promise<Committed> {
    const table = commit.table.content;
    const committed = await this.#mutex.run(table.id, async () =>
      this.#settled(table, await this.#committed(commit)),
    );
    this.#onCommit?.(commit.table, commit.chain ?? MAIN_CHAIN, committed.manifest);
    return committed;
  }

  /**
   * Removes versions of a table and the files that no other version needs.
   * @returns The versions that were removed.
   */
  async remove(removal: VersionRemoval): Promise<readonly bigint[]> {
    const { content } = await removal.table();
    return this.removing(content, (parts) => removeVersions(parts, removal));
  }

  /** Work that removes versions of a table. Writers of this process read the version that they build on, so none goes while they do. */
  async removing<Result>(
    table: TableRecord,
    work: (parts: RemovalParts) => Promise<Result>,
  ): Promise<Result> {
    return this.#mutex.run(table.id, () =>
      work({
        storage: this.storage,
        committer: this.#committer,
        versions: this.#versions,
        folder: (one) => this.folder(one),
        waste: this.waste,
        retained: this.#places.retained,
      }),
    );
  }

  async #committed(commit: VersionCommit): Promise<Committed> {
    const table = commit.table.content;
    const chain = commit.chain ?? MAIN_CHAIN;
    const place = { tableId: table.id, folder: this.folder(table), chain };
    const attempts = new Attempts<Committed>(this.#manifests, this.#versions, place);
    return commitFilesOnce({ committer: this.#committer, seal: commit.seal }, async (uncertain) => {
      const first = attempts.none;
      const taken = uncertain ? await attempts.taken() : undefined;
      if (taken !== undefined) return { kind: 'done', result: taken };
      if (!uncertain) await attempts.unstageLast();
      const current = first ? commit.table : await commit.current();
      if (current.content.id !== table.id) throw tableReplaced();
      const head = await this.#stored(table.id, undefined, chain);
      // One that took effect since it was looked for stands in this head, or below it.
      const late = uncertain ? await attempts.taken() : undefined;
      if (late !== undefined) return { kind: 'done', result: late };
      const further = (await commit.checks?.()) ?? [];
      const staged = await this.#staged(head, commit, chain);
      const undo = () => this.#manifests.unstage(this.folder(table), staged);
      await requireDurable(commit.flushes, { undo, first });
      attempts.add(staged);
      return {
        kind: 'commit',
        checks: [unchanged(current), headCheck(table.id, head, chain.key), ...further],
        writes: [
          ...versionWrites(table.id, staged.record, chain.key),
          ...(commit.writes?.(current) ?? []),
        ],
        result: staged,
      };
    }).catch(async (error: unknown) => {
      if (tookNoEffect(error)) await attempts.unstageLast();
      throw error;
    });
  }

  async #staged(
    head: Stored<VersionRecord>,
    { table: { content: table }, change, judge }: VersionCommit,
    chain: Chain,
  ): Promise<Committed> {
    const folder = this.folder(table);
    const base = await this.#load(table, head);
    const contents = withLiveIndices(await change(base), base);
    // Times of a line never run back, even if clocks do.
    const timestampMillis = Math.max(this.#clock(), base.timestampMillis);
    const manifest = { ...contents, version: base.version + 1n, timestampMillis };
    await judge?.({ base, manifest });
    const staged = await this.#manifests.stage(folder, manifest, chain.key);
    return { table: table.id, base, ...staged };
  }

  /** Gives a version its final name, once the journal has it: then it is there for good, also when nothing else of its commit is left. */
  async #finish(table: TableRecord, { key, value, content }: FoundVersion): Promise<void> {
    const settle = async () => this.#committer.settle?.(key, value);
    await this.#manifests.finalise(this.folder(table), content, settle);
  }

  async #load(table: TableRecord, { key, value, content }: FoundVersion): Promise<Manifest> {
    const settle = async () => this.#committer.settle?.(key, value);
    return this.#manifests.load(this.folder(table), content, settle);
  }

  async #settled(table: TableRecord, committed: Committed): Promise<Committed> {
    const folder = this.folder(table);
    await this.#manifests.finalise(folder, committed.record);
    this.#manifests.keep(folder, committed.record, committed.manifest);
    for (const stored of newLargeFiles(folder, committed)) this.#onLargeFile(stored);
    return committed;
  }

  async #stored(
    tableId: string,
    version: bigint | undefined,
    chain: Chain,
  ): Promise<Stored<VersionRecord>> {
    const stored =
      version === undefined
        ? await this.#versions.head(tableId, chain)
        : await this.#versions.at(tableId, version, chain);
    if (stored !== undefined) return stored;
    // Its head is there as long as it is.
    if (version === undefined && chain.branch !== MAIN) throw branchNotFound(chain.branch);
    throw versionNotFound(version);
  }
}

/** Dependencies of the tables of an engine. */
interface TablesOptions {
  /** Storage of the tables' files. */
  readonly storage: Storage;
  /** The folder that holds a folder for each table. */
  readonly root: string;
  /** Folders of other tables; their records say by default. */
  readonly places?: TablePlaces;
  readonly store: Store;
  readonly committer: Committer;
  /** Memory for manifests. */
  readonly memory: MemoryBudget;
  /** Manifests that are shared with others, in place of some of its own. */
  readonly manifests?: ManifestStore;
  /** Called with each new version of a table once it is final. Must not throw. */
  readonly onCommit?: OnCommit;
  /** Called with the large data files of a new version once it is final. Must not throw. */
  readonly onLargeFile?: OnLargeFile;
  /** Times of versions: milliseconds since 1970; the machine's clock unless it is given. */
  readonly clock?: () => number;
  /** Work in progress in all processes; without it this process is assumed to be alone and idle. */
  readonly horizon?: Horizon;
  /** Whether versions are only read: what a crash left undone of them stays so. */
  readonly reading?: boolean;
  /** Called when files were removed, so that they do not stay open. */
  readonly removed?: () => Promise<void>;
}

/** Called with each new version of a line. */
type OnCommit = (table: Stored<TableRecord>, chain: Chain, manifest: Manifest) => void;
