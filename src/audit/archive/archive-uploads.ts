import { basename, join } from 'node:path';
import { isMissing, unlessMissing } from '../../storage/storage-error.ts';
import type { Storage } from '../../storage/storage.ts';
import {
  instancesOf,
  logFilesOf,
  logStorage,
  POLICIES_FOLDER,
  readLogFile,
  realFolder,
  segmentOf,
  type LogFile,
} from '../chain/log-files.ts';
import type { CheckpointPlace } from '../checkpoints/places.ts';
import { parseCheckpoint } from '../checkpoints/checkpoint.ts';
import { detachedPortionsOf } from '../segments/detached-portions.ts';
import { parseSeal } from '../segments/seal.ts';
import type { PublicKey } from '../signing/keys.ts';
import {
  archiveKeys,
  ArchivedInstance,
  listArchive,
  type ArchiveListing,
} from './archived-objects.ts';
import { putFile } from './object-copies.ts';
import { TailUploads } from './tail-uploads.ts';

/** Time that a round spends on other instances before it returns to that of this process, in ms. */
const ROUND_MILLIS = 5_000;
/** Interval in which an instance whose process is gone is examined again: its lines may have been sealed, in ms. */
const SETTLED_MILLIS = 60_000;

export interface ArchiveOptions {
  readonly storage: Storage;
  /** Key of the folder of the archive. */
  readonly root: string;
  /** `<data>/private/audit`. */
  readonly folder: string;
  /** `<data>/private/audit-starts`. */
  readonly starts: string;
  /** Public keys that the log is signed with. Private keys are never uploaded. */
  readonly keys: readonly PublicKey[];
  /** Whether the process of an instance is gone. */
  readonly isOver: (instance: string) => Promise<boolean>;
  /** Checkpoints that commands and earlier processes left in the store. */
  readonly checkpoints: () => Promise<readonly string[]>;
}

/** Result of a round. */
export interface ArchiveRound {
  readonly bytes: number;
  /** Whether there was no time for all instances. */
  readonly more: boolean;
}

/** Uploads the audit log of a data folder: sealed segments with their seals, the lines that are not sealed, statements and policies. */
export class ArchiveUploads {
  readonly #options: ArchiveOptions;
  #listing: ArchiveListing | undefined;
  readonly #archived = new Map<string, ArchivedInstance>();
  readonly #tails = new Map<string, TailUploads>();
  /** Times at which seals were written that the archive has, by path. */
  readonly #seals = new Map<string, number>();
  readonly #newest = new Map<string, string>();
  readonly #uploaded = new Map<string, string>();
  readonly #settled = new Map<string, number>();
  readonly #policies = new Set<string>();
  #stored: ReadonlyMap<string, string> | undefined;

  constructor(options: ArchiveOptions) {
    this.#options = options;
  }

  /** A place for checkpoints, which the next round uploads behind the records that they sign. */
  place(): CheckpointPlace {
    return {
      name: 'the archive',
      write: async (instance, text) => void this.#newest.set(instance, text),
      all: async () => [...this.#newest.values()],
    };
  }

  /** Whether the archive has a sealed segment with its seal. */
  has(instance: string, file: LogFile): boolean {
    const number = numberOf(file);
    const found = this.#archived.get(instance);
    return found?.seal.has(number) === true && found.arrow.has(number);
  }

  /**
   * Uploads what the archive lacks, that of one instance first.
   * @throws the storage's error; the next round goes on where it happened
   */
  async round(own: string, signal: AbortSignal): Promise<ArchiveRound> {
    try {
      return await this.#round(own, signal);
    } catch (error) {
      // The outcome of a request may be unknown, so the next round looks at what is there.
      this.#listing = undefined;
      this.#tails.clear();
      throw error;
    }
  }

  async #round(own: string, signal: AbortSignal): Promise<ArchiveRound> {
    await this.#prepare();
    let bytes = await this.#uploadInstance(own);
    const end = performance.now() + ROUND_MILLIS;
    this.#stored = undefined;
    for (const instance of await instancesOf(this.#options.folder)) {
      if (instance === own || !this.#isDue(instance)) continue;
      if (performance.now() > end || signal.aborted) return { bytes, more: true };
      const isOver = await this.#options.isOver(instance);
      // A process that runs uploads its own.
      if (!isOver) continue;
      bytes += await this.#uploadInstance(instance, await this.#storedOf(instance));
      this.#settled.set(instance, performance.now());
    }
    return { bytes, more: false };
  }

  #isDue(instance: string): boolean {
    const settled = this.#settled.get(instance);
    return settled === undefined || performance.now() - settled > SETTLED_MILLIS;
  }

  async #storedOf(instance: string): Promise<string | undefined> {
    this.#stored ??= new Map(
      (await this.#options.checkpoints()).map((text) => [parseCheckpoint(text).instance, text]),
    );
    return this.#stored.get(instance);
  }

  async #prepare(): Promise<void> {
    const { storage, root, keys } = this.#options;
    if (this.#listing === undefined) {
      const listing = await listArchive(storage, root);
      for (const [name, found] of listing.instances) this.#archived.set(name, found);
      for (const digest of listing.policies.keys()) this.#policies.add(digest);
      for (const key of keys) {
        if (listing.keys.has(key.id)) continue;
        await storage.putIfAbsent(archiveKeys.key(root, key.id), Buffer.from(key.pem));
      }
      this.#listing = listing;
    }
    await this.#uploadPolicies();
  }

  async #uploadPolicies(): Promise<void> {
    const { storage, root, folder } = this.#options;
    const all = join(await realFolder(folder), POLICIES_FOLDER);
    for (const digest of (await logStorage.names(all)) ?? []) {
      if (digest.startsWith('.') || this.#policies.has(digest)) continue;
      const texts: Record<string, string> = {};
      for (const name of (await logStorage.names(join(all, digest))) ?? []) {
        texts[name] = await readLogFile(join(all, digest, name));
      }
      const key = archiveKeys.policy(root, digest);
      await storage.putIfAbsent(key, Buffer.from(JSON.stringify(texts)));
      this.#policies.add(digest);
    }
  }

  /** @returns Number of uploaded bytes. */
  async #uploadInstance(instance: string, stored?: string): Promise<number> {
    // The records of a checkpoint are in the file before it is signed, and in the archive before the checkpoint is.
    const checkpoint = this.#newest.get(instance) ?? stored;
    let bytes = 0;
    for (const file of await logFilesOf(this.#options.folder, instance)) {
      bytes += await this.#uploadPart(instance, file);
    }
    await this.#uploadStart(instance);
    if (checkpoint !== undefined && this.#uploaded.get(instance) !== checkpoint) {
      const { storage, root } = this.#options;
      await storage.replace(archiveKeys.checkpoint(root, instance), Buffer.from(checkpoint));
      this.#uploaded.set(instance, checkpoint);
    }
    return bytes;
  }

  async #uploadPart(instance: string, file: LogFile): Promise<number> {
    try {
      if (file.kind === 'lines') return await this.#tailsOf(instance, file).advance(file.path);
      return await this.#uploadSegment(instance, file);
    } catch (error) {
      // It was sealed, or removed after its retention, meanwhile: the next round sees the seal.
      if (isMissing(error) && logStorage.stat(file.path) === undefined) return 0;
      throw error;
    }
  }

  async #uploadSegment(instance: string, file: LogFile): Promise<number> {
    const written = logStorage.stat(file.seal)?.writtenMillis ?? 0;
    if (this.#seals.get(file.seal) === written) return 0;
    const { storage, root } = this.#options;
    const text = await readLogFile(file.seal);
    const { retired } = parseSeal(text);
    const archived = this.#archivedOf(instance);
    const number = numberOf(file);
    const arrow = archiveKeys.part(root, instance, `${number}.arrow`);
    let bytes = 0;
    if (retired === '' && !archived.arrow.has(number)) {
      bytes = await putFile(storage, arrow, segmentOf(file.path));
      await this.#uploadPortions(instance, file);
    }
    if (retired !== '' || !archived.seal.has(number)) {
      await storage.replace(archiveKeys.part(root, instance, `${number}.seal`), Buffer.from(text));
    }
    if (retired !== '') await storage.discard(arrow);
    const known = { path: arrow, bytes, writtenMillis: written };
    if (retired === '') archived.arrow.set(number, known);
    else archived.arrow.delete(number);
    archived.seal.set(number, known);
    await this.#tailsOf(instance, file).clear();
    this.#tails.delete(file.seal);
    archived.tails.delete(number);
    this.#seals.set(file.seal, written);
    return bytes;
  }

  /** Segments of an earlier version have their checksums in a file beside the seal. */
  async #uploadPortions(instance: string, file: LogFile): Promise<void> {
    const { storage, root } = this.#options;
    const path = detachedPortionsOf(file.seal);
    if (logStorage.stat(path) === undefined) return;
    await putFile(storage, archiveKeys.part(root, instance, basename(path)), path);
  }

  async #uploadStart(instance: string): Promise<void> {
    const { storage, root, starts } = this.#options;
    const archived = this.#archivedOf(instance);
    if (archived.start !== undefined) return;
    const path = join(await realFolder(starts), `${instance}.json`);
    const text = await unlessMissing(readLogFile(path));
    if (text === undefined) return;
    const key = archiveKeys.start(root, instance);
    await storage.putIfAbsent(key, Buffer.from(text));
    archived.start = key;
  }

  #archivedOf(instance: string): ArchivedInstance {
    let found = this.#archived.get(instance);
    if (found === undefined) this.#archived.set(instance, (found = new ArchivedInstance()));
    return found;
  }

  #tailsOf(instance: string, file: LogFile): TailUploads {
    const { storage, root } = this.#options;
    let found = this.#tails.get(file.seal);
    if (found === undefined) {
      const number = numberOf(file);
      const there = this.#archivedOf(instance).tails.get(number) ?? [];
      found = new TailUploads({ storage, root, instance, number }, there);
      this.#tails.set(file.seal, found);
    }
    return found;
  }
}

function numberOf({ seal }: LogFile): string {
  return basename(seal, '.seal');
}
