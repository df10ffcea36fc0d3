import { join, sep } from 'node:path';
import { LRUCache } from 'lru-cache';
import type { VersionRecord } from '../../format/records.ts';
import { isMissing } from '../../../storage/storage-error.ts';
import type { Storage } from '../../../storage/storage.ts';
import { VersionReader } from '../../catalog/records/version-reader.ts';
import { filesOf } from '../../catalog/records/version-walk.ts';
import { MAIN } from '../../format/chain.ts';
import { FRAGMENTS, manifestName, stagingName } from '../../format/layout.ts';
import { encodeManifest, type EncodedList, type Manifest } from '../../format/manifest.ts';
import type { MemoryBudget } from '../../format/memory/memory-budget.ts';
import type { OnDamage } from '../../format/memory/open-files.ts';
import { DamagedFile } from '../../../arrow/sealed/file-seal.ts';
import { MEMORY_PER_BYTE, SharedLists } from './shared-lists.ts';

/** Bytes of a fragment that a manifest shares with others. */
const REFERENCE_BYTES = 8;
/** How many manifests are known to have their final names. */
const KNOWN_FINAL = 2 ** 14;

/** Resolves when the journal has the change that committed a version. */
type Settle = () => Promise<void>;

interface Kept {
  readonly manifest: Manifest;
  readonly bytes: number;
  /** Keys of its lists. */
  readonly lists: readonly string[];
}

/** A version whose manifest is written, and that nothing refers to yet. */
export interface StagedVersion {
  readonly record: VersionRecord;
  /** With the lists that it names. */
  readonly manifest: Manifest;
  /** Path of the list that was written for it, in the table's folder. */
  readonly list?: string | undefined;
}

/**
 * Manifests on disk. They are remembered by their staging names, which are never
 * used again: a folder that was chosen by its table's creator can be another
 * table's later, with the same final names. A manifest is written under a staging name, becomes a
 * version by the conditional commit of its record, and then gets its final
 * name. Whoever reads a record first finishes what a crash left undone.
 */
export class ManifestStore {
  readonly #storage: Storage;
  readonly #cache: LRUCache<string, Kept>;
  readonly #final = new LRUCache<string, true>({ max: KNOWN_FINAL });
  readonly #budget: MemoryBudget;
  readonly #reading: boolean;
  readonly #lists: SharedLists;
  readonly #reader: VersionReader;
  /** Called with each read of a manifest that does not match its seal. */
  onDamagedFile: OnDamage = () => undefined;

  /**
   * @param budget The memory that read manifests may take, of which others get what is left.
   * @param reading Whether what a crash left undone stays so: nothing is renamed or removed.
   */
  constructor(storage: Storage, budget: MemoryBudget, reading = false) {
    this.#storage = storage;
    this.#budget = budget;
    this.#reading = reading;
    this.#lists = new SharedLists(budget);
    this.#reader = new VersionReader(storage, this.#lists);
    this.#cache = new LRUCache({
      maxSize: Math.max(1, budget.bytes),
      dispose: ({ bytes, lists }) => {
        budget.refund(bytes);
        for (const key of lists) this.#lists.release(key);
      },
    });
  }

  /**
   * Writes a manifest durably under a staging name and describes the version it would be.
   * @param chain The line that the version is made on: `main`, or a branch's id.
   */
  async stage(folder: string, manifest: Manifest, chain: string = MAIN): Promise<StagedVersion> {
    const { bytes, seal, lists, list } = encodeManifest(manifest);
    const staging = stagingName(manifest.version, chain);
    const record = {
      version: manifest.version,
      timestampMillis: manifest.timestampMillis,
      manifest: manifestName(manifest.version, chain),
      staging,
      manifestBytes: bytes.byteLength,
      seal,
      metadata: {},
    };
    const named = { ...manifest, lists: lists.length === 0 ? undefined : lists };
    const staged = { record, manifest: named, list: list?.path };
    const written = await Promise.allSettled([
      this.#storage.write(join(folder, staging), bytes),
      list && this.#writeList(folder, list),
    ]);
    const failed = written.find((one) => one.status === 'rejected');
    if (failed === undefined) return staged;
    await this.unstage(folder, staged).catch(() => undefined);
    throw failed.reason;
  }

  /** Removes the files of a staged version whose commit was refused. */
  async unstage(folder: string, { record, list }: Omit<StagedVersion, 'manifest'>): Promise<void> {
    await this.#storage.remove(join(folder, record.staging));
    if (list !== undefined) await this.#storage.remove(join(folder, list));
  }

  /**
   * Gives a committed manifest its final name; does nothing where it has it. The
   * new name need not be on stable storage: a crash leaves the file under one of
   * the two, and the version's record holds both.
   * @param settle Sees to it that the journal has the version, before the name says
   * that there is one; absent where that is known.
   */
  async finalise(folder: string, record: VersionRecord, settle?: Settle): Promise<void> {
    if (this.#reading) return;
    const path = inside(folder, record.manifest);
    const staging = inside(folder, record.staging);
    if (this.#final.get(staging) !== undefined) return;
    if (settle !== undefined && !(await this.#has(path)) && (await this.#has(staging)))
      await settle();
    try {
      if ((await this.#storage.renameIfAbsent(staging, path)) === 'exists') {
        await this.#checkSame(staging, path);
        await this.#storage.remove(staging);
      }
    } catch (error) {
      // The staging name is gone when somebody has finished before: then the final one is there.
      if (!isMissing(error) || !(await this.#has(path))) throw error;
    }
    this.#final.set(staging, true);
  }

  /** The manifest of a committed version that has its final name, if it is remembered. */
  cached(folder: string, { staging }: VersionRecord): Manifest | undefined {
    const path = inside(folder, staging);
    return this.#final.get(path) && this.#cache.get(path)?.manifest;
  }

  /** The manifest of a committed version. @param settle As for `finalise`. */
  async load(folder: string, record: VersionRecord, settle?: Settle): Promise<Manifest> {
    const cached = this.cached(folder, record);
    if (cached !== undefined) return cached;
    await this.finalise(folder, record, settle);
    const finalised = this.#cache.get(inside(folder, record.staging));
    if (finalised !== undefined) return finalised.manifest;
    const manifest = await this.#watched(
      this.#reading ? this.#reader.version(folder, record) : this.#read(folder, record),
    );
    this.keep(folder, record, manifest);
    return manifest;
  }

  /** The files that a committed version names beside its manifest, as paths in the table's folder. */
  async named(folder: string, record: VersionRecord): Promise<readonly string[]> {
    const cached = this.#cache.get(inside(folder, record.staging));
    if (cached !== undefined) return filesOf(cached.manifest);
    const manifest = await this.#watched(this.#reader.version(folder, record));
    this.keep(folder, record, manifest);
    return filesOf(manifest);
  }

  /** Remembers a manifest that was just written. */
  keep(folder: string, record: VersionRecord, manifest: Manifest): void {
    const { fragments, lists = [] } = manifest;
    const bytes = record.manifestBytes * MEMORY_PER_BYTE + fragments.length * REFERENCE_BYTES;
    // The cache would not take it, nor refund it.
    if (bytes > this.#cache.maxSize) return;
    this.#budget.spend(bytes);
    for (const list of lists) this.#lists.hold(inside(folder, list.path), list);
    const keys = lists.map(({ path }) => inside(folder, path));
    const kept = { manifest, bytes, lists: keys };
    this.#cache.set(inside(folder, record.staging), kept, { size: bytes });
    while (this.#lists.bytes + this.#cache.calculatedSize > this.#cache.maxSize) {
      if (this.#cache.pop() === undefined) return;
    }
  }

  /** Writes a list durably. Tables get the folder of lists with the first one. */
  async #writeList(folder: string, { path, bytes }: EncodedList): Promise<void> {
    await this.#storage.folders?.prepare(join(folder, FRAGMENTS));
    await this.#storage.write(join(folder, path), bytes);
  }

  /** The manifest of a version under its final name. */
  async #read(folder: string, record: VersionRecord): Promise<Manifest> {
    const bytes = await this.#storage.read(inside(folder, record.manifest));
    return this.#reader.decode(folder, bytes, record);
  }

  async #watched(reading: Promise<Manifest>): Promise<Manifest> {
    try {
      return await reading;
    } catch (error) {
      if (error instanceof DamagedFile) this.onDamagedFile(error);
      throw error;
    }
  }

  async #has(path: string): Promise<boolean> {
    return (await this.#storage.stat(path)) !== undefined;
  }

  /** A final name that is taken by other bytes is never overwritten. */
  async #checkSame(staging: string, path: string): Promise<void> {
    const [ours, theirs] = await Promise.all([staging, path].map((one) => this.#storage.read(one)));
    if (ours?.equals(theirs ?? Buffer.alloc(0)) === true) return;
    throw new Error(`${path} exists and is not the manifest that was committed`);
  }
}

/**
 * Whether a version of a table was once made, even if the store has lost it.
 * @param chain The line that it was made on: `main`, or a branch's id.
 */
export async function wasMade(
  storage: Storage,
  folder: string,
  version: bigint,
  chain: string,
): Promise<boolean> {
  return (await storage.stat(join(folder, manifestName(version, chain)))) !== undefined;
}

/** The path of a file of a table. Its name was made here, with nothing in it to be resolved. */
function inside(folder: string, name: string): string {
  return `${folder}${sep}${name}`;
}
