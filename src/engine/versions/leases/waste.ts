import { dirname, join } from 'node:path';
import type { Store } from '../../../store/store.ts';
import { children } from '../../catalog/records/children.ts';
import type { Committer } from '../../catalog/records/commit-loop.ts';
import { wastesOf } from '../../catalog/records/keys.ts';
import type { TableRecord } from '../../format/records.ts';
import { FRAGMENTS, removeBranchFolder, TREE } from '../../format/layout.ts';
import { KeyedMutex } from '../../format/memory/keyed-mutex.ts';
import { unlessMissing } from '../../../storage/storage-error.ts';
import { NOTHING, plus, type Freed, type Storage } from '../../../storage/storage.ts';
import { Horizon } from './horizon.ts';
import { Running } from './running.ts';
import {
  inFolder,
  spareNamed,
  type RemovalCandidates,
  type WalkParts,
} from '../../catalog/records/version-walk.ts';
import { VersionReader } from '../../catalog/records/version-reader.ts';
import { decodeWaste, type WasteRecord } from './waste-record.ts';

interface WasteParts extends WalkParts {
  readonly storage: Storage;
  readonly store: Store;
  readonly committer: Committer;
  /** Work in progress; without it this process is assumed to be alone and idle. */
  readonly horizon?: Horizon;
  readonly folder: (table: TableRecord) => string;
  /** Called when files were removed, so that they do not stay open. */
  readonly removed?: () => Promise<void>;
}

/** A record of removed versions, and where it stands. */
interface FoundWaste {
  readonly key: string;
  readonly record: WasteRecord;
}

/**
 * The files of versions that were removed. They stay until everything has ended
 * that was in progress when the versions went, for it may be reading them: here
 * that is waited for; in other processes the next collection sees to it.
 */
export class Waste {
  readonly #parts: WasteParts;
  readonly #horizon: Horizon;
  readonly #mutex = new KeyedMutex();

  constructor(parts: WasteParts) {
    this.#parts = parts;
    this.#horizon = parts.horizon ?? new Horizon(new Running());
  }

  /** The removed versions of a table whose files are still there. */
  async of(tableId: string): Promise<readonly FoundWaste[]> {
    const found: FoundWaste[] = [];
    for await (const { key, value } of children(this.#parts.store, wastesOf(tableId))) {
      found.push({ key, record: decodeWaste(value) });
    }
    return found;
  }

  /**
   * Removes files as soon as nothing here can be reading them any more: before
   * this resolves when nothing else is in progress, else later. What fails is left
   * to a collection.
   */
  async removeSoon(table: TableRecord, keys: readonly string[]): Promise<void> {
    const horizon = this.#horizon;
    await horizon.running.afterwards(async () => {
      if (await horizon.isAlone()) await this.remove(table, keys, false);
    });
  }

  /** Removes the files that only the versions of some records named, and then the records. */
  async remove(table: TableRecord, keys: readonly string[], dryRun: boolean): Promise<Freed> {
    // Two at once would each leave to the other what both name.
    return this.#mutex.run(table.id, () => this.#remove(table, keys, dryRun));
  }

  async #remove(table: TableRecord, keys: readonly string[], dryRun: boolean): Promise<Freed> {
    const { storage, committer, removed } = this.#parts;
    const folder = this.#parts.folder(table);
    const { manifests, files } = await this.#idle(table, folder, new Set(keys));
    let freed = NOTHING;
    // Manifests go last, and lists before them: after an interruption they still name the other files.
    const isList = (path: string) => path.startsWith(`${FRAGMENTS}/`);
    const lists = [...files].filter(isList);
    const others = [...files].filter((path) => !isList(path));
    for (const path of inFolder(folder, [...others, ...lists, ...manifests])) {
      freed = plus(freed, await storage.remove(path, dryRun));
    }
    if (dryRun) return freed;
    await removeEmpty(storage, folder, manifests);
    await syncAll(storage, folder, [...files, ...manifests]);
    await committer.commit(
      [],
      keys.map((key) => ({ key, value: null })),
    );
    if (freed.files > 0) await removed?.();
    return freed;
  }

  /** What the records' versions named and nothing else does: no version, and no record whose turn has not come. */
  async #idle(
    { id }: TableRecord,
    folder: string,
    keys: ReadonlySet<string>,
  ): Promise<RemovalCandidates> {
    const { storage } = this.#parts;
    const reader = new VersionReader(storage);
    const idle: RemovalCandidates = { manifests: new Set(), files: new Set() };
    const all = await this.of(id);
    for (const { record } of all.filter(({ key }) => keys.has(key))) {
      for (const name of record.manifests.flat()) idle.manifests.add(name);
      for (const path of await namedByWaste(reader, folder, record)) idle.files.add(path);
    }
    await spareWaste(
      storage,
      folder,
      all.filter(({ key }) => !keys.has(key)),
      idle,
    );
    await spareNamed(this.#parts, id, folder, idle);
    return idle;
  }
}

/** Takes out of candidates what removed versions name whose files must stay for now. */
export async function spareWaste(
  storage: Storage,
  folder: string,
  waste: readonly FoundWaste[],
  { manifests, files }: RemovalCandidates,
): Promise<void> {
  const reader = new VersionReader(storage);
  for (const { record } of waste) {
    for (const name of record.manifests.flat()) manifests.delete(name);
    for (const path of await namedByWaste(reader, folder, record)) files.delete(path);
  }
}

/** The files that removed versions named, as far as their manifests are still there. */
async function namedByWaste(
  reader: VersionReader,
  folder: string,
  { manifests, seals = [] }: WasteRecord,
): Promise<readonly string[]> {
  const paths = new Set<string>();
  for (const [at, [manifest, staging]] of manifests.entries()) {
    const seal = seals[at] ?? undefined;
    const record = { manifest, staging, ...(seal !== undefined && { seal }) };
    const named = await unlessMissing(reader.named(folder, record));
    for (const path of named ?? []) paths.add(path);
  }
  return [...paths];
}

/** Removes the folders of branches of which nothing is left. */
async function removeEmpty(
  storage: Storage,
  folder: string,
  manifests: Iterable<string>,
): Promise<void> {
  const branches = new Set([...manifests].map((path) => dirname(dirname(path))));
  for (const branch of branches) {
    const [tree, id] = branch.split('/');
    if (tree === TREE && id !== undefined) await removeBranchFolder(storage, folder, id);
  }
}

/** Brings the removal of files to stable storage. */
async function syncAll(storage: Storage, folder: string, paths: readonly string[]): Promise<void> {
  const folders = new Set(paths.map((path) => dirname(join(folder, path))));
  for (const each of folders) await unlessMissing(storage.flush(each));
}
