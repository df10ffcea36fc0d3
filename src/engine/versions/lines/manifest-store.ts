import { join, sep } from 'node:path';
import { LRUCache } from 'lru-cache';
import type { VersionRecord } from '../../format/records.ts';
import { isMissing } from '../../../storage/storage-error.ts';
import type { Storage } from '../../../storage/storage.ts';
import { filesOf, readVersion } from '../../catalog/records/version-walk.ts';
import { MAIN } from '../../format/chain.ts';
import { manifestName, stagingName } from '../../format/layout.ts';
import { decodeManifest, encodeManifest, type Manifest } from '../../format/manifest.ts';
import type { MemoryBudget } from '../../format/memory/memory-budget.ts';
import type { OnDamage } from '../../format/memory/open-files.ts';
import { storedIn } from '../../format/snapshot.ts';
import { DamagedFile } from '../../../arrow/sealed/file-seal.ts';

/** Estimated bytes of a manifest in memory per byte of its file; bounds the cache. */
const MEMORY_PER_BYTE = 4;

/** Resolves when the journal has the change that committed a version. */
type Settle = () => Promise<void>;

interface Kept {
  readonly manifest: Manifest;
  readonly bytes: number;
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
  readonly #final = new LRUCache<string, true>({ max: 100_000 });
  readonly #budget: MemoryBudget;
  readonly #reading: boolean;
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
    this.#cache = new LRUCache({
      maxSize: Math.max(1, budget.bytes),
      dispose: ({ bytes }) => budget.refund(bytes),
    });
  }

  /**
   * Writes a manifest durably under a staging name and describes the version it would be.
   * @param chain The line that the version is made on: `main`, or a branch's id.
   */
  async stage(folder: string, manifest: Manifest, chain: string = MAIN): Promise<VersionRecord> {
    const { bytes, seal } = encodeManifest(manifest);
    const staging = stagingName(manifest.version, chain);
    const path = join(folder, staging);
    await this.#storage.write(path, bytes);
    return {
      version: manifest.version,
      timestampMillis: manifest.timestampMillis,
      manifest: manifestName(manifest.version, chain),
      staging,
      manifestBytes: bytes.byteLength,
      seal,
      metadata: {},
    };
  }

  /** Removes a staged manifest whose commit was refused. */
  async unstage(folder: string, record: VersionRecord): Promise<void> {
    await this.#storage.remove(join(folder, record.staging));
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
      this.#reading ? readVersion(this.#storage, folder, record) : this.#read(folder, record),
    );
    this.keep(folder, record, manifest);
    return manifest;
  }

  /** The files that a committed version names beside its manifest, as paths in the table's folder. */
  async named(folder: string, record: VersionRecord): Promise<readonly string[]> {
    const cached = this.#cache.get(inside(folder, record.staging));
    if (cached !== undefined) return filesOf(cached.manifest);
    const manifest = await this.#watched(readVersion(this.#storage, folder, record));
    this.keep(folder, record, manifest);
    return filesOf(manifest);
  }

  /** Remembers a manifest that was just written. */
  keep(folder: string, record: VersionRecord, manifest: Manifest): void {
    const bytes = Math.max(1, record.manifestBytes * MEMORY_PER_BYTE);
    // The cache would not take it, nor refund it.
    if (bytes > this.#cache.maxSize) return;
    this.#budget.spend(bytes);
    this.#cache.set(inside(folder, record.staging), { manifest, bytes }, { size: bytes });
  }

  /** The manifest of a version under its final name. */
  async #read(folder: string, { manifest, seal }: VersionRecord): Promise<Manifest> {
    const stored = storedIn(folder, { path: manifest, seal });
    return decodeManifest(await this.#storage.read(stored.path), stored);
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
