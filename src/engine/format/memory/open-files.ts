import { setTimeout as sleep } from 'node:timers/promises';
import type { ArrowFile } from '../../../arrow/ipc/file-reader.ts';
import { DamagedFile, type StoredFile } from '../../../arrow/sealed/file-seal.ts';
import { openSealed } from '../../../arrow/sealed/sealed-file.ts';
import { TryAgain } from '../../../protocol/errors.ts';
import { descriptorLimit, filesWithin } from '../../../storage/descriptors.ts';
import { isOutOfDescriptors } from '../../../storage/storage-error.ts';
import type { Storage } from '../../../storage/storage.ts';
import { readDetachedBlock } from './detached-block.ts';
import { fileAccess, type OpenFile } from './random-access.ts';
import type { MaybePromise } from '../../../protocol/maybe-promise.ts';
import { isAvailable } from '../../../protocol/maybe-promise.ts';

/** An open data file with its parsed footer. */
export interface OpenDataFile extends OpenFile {
  readonly file: ArrowFile;
  /** First row of each batch. */
  readonly starts: readonly number[];
}

interface Entry {
  readonly opened: Promise<OpenDataFile>;
  /** The opened file once it is available. */
  ready: OpenDataFile | undefined;
  users: number;
}

/** Greatest number of data files that stay open. */
const OPEN_FILES = 256;
/** Timeout of a read that waits until a file can be opened, in ms, and the interval of its attempts. */
export const DESCRIPTOR_WAIT_MILLIS = 5_000;
const ATTEMPT_MILLIS = 20;
/** `Retry-After` of a request whose wait timed out, in seconds. */
const RETRY_SECONDS = '5';

/** Called with damage that a read found. */
export type OnDamage = (damage: DamagedFile) => void;

/** Keeps data files open: they are immutable, so each footer is parsed once. */
export class OpenFiles {
  readonly #entries = new Map<string, Entry>();
  /** Entries of damaged files that are in use. */
  readonly #damaged = new Set<Entry>();
  readonly #storage: Storage;
  readonly #onDamage: OnDamage;
  readonly #limit = filesWithin(descriptorLimit, OPEN_FILES);

  /** @param onDamage Called with each read that found damage. */
  constructor(storage: Storage, onDamage: OnDamage = () => undefined) {
    this.#storage = storage;
    this.#onDamage = onDamage;
  }

  /**
   * Runs a function with an open file, which stays open meanwhile. Runs synchronously if the file
   * is open and the function does not wait. Errors reject the promise; nothing is thrown.
   */
  use<Result>(
    stored: StoredFile,
    work: (file: OpenDataFile) => MaybePromise<Result>,
  ): MaybePromise<Result> {
    const { path } = stored;
    const entry = this.#entries.get(path) ?? opening(() => this.#open(stored));
    this.#entries.delete(path);
    this.#entries.set(path, entry);
    if (entry.ready === undefined) return this.#finish(path, entry, () => entry.opened.then(work));
    try {
      const result = work(entry.ready);
      return isAvailable(result) ? result : this.#finish(path, entry, () => result);
    } catch (error) {
      this.#failed(path, entry, error);
      return Promise.reject(error);
    }
  }

  async #finish<Result>(path: string, entry: Entry, work: () => Promise<Result>): Promise<Result> {
    entry.users++;
    try {
      return await work();
    } catch (error) {
      this.#failed(path, entry, error);
      throw error;
    } finally {
      entry.users--;
      this.#closeDamaged();
      entry.opened.catch(() => this.#forget(path, entry));
      if (this.#entries.size > this.#limit) void this.#shrink(this.#limit).catch(() => undefined);
    }
  }

  /** Closes every file that is not in use. */
  async close(): Promise<void> {
    await this.#shrink(0);
  }

  /** Closes removed files that are not in use: an open file occupies the disk. */
  async closeRemoved(): Promise<void> {
    const entries = [...this.#entries];
    for (const [path, entry] of entries) {
      const opened = await entry.opened.catch(() => undefined);
      if (opened === undefined) continue;
      // It may have been used or closed meanwhile.
      if (entry.users > 0 || this.#entries.get(path) !== entry) continue;
      if (!opened.object.isRemoved()) continue;
      this.#entries.delete(path);
      opened.object.close();
    }
  }

  /** Opens a file; closes unused ones and waits while no more can be opened. @throws TryAgain after the wait */
  async #open(stored: StoredFile): Promise<OpenDataFile> {
    const end = performance.now() + DESCRIPTOR_WAIT_MILLIS;
    for (;;) {
      try {
        return await openStored(this.#storage, stored);
      } catch (error) {
        if (!isOutOfDescriptors(error)) throw error;
        if (performance.now() > end) throw new TryAgain(NO_FILES, RETRY_SECONDS);
      }
      await this.#shrink(0);
      await sleep(ATTEMPT_MILLIS);
    }
  }

  /** A damaged file is opened again at its next read: a sound one may take its place. */
  #failed(path: string, entry: Entry, error: unknown): void {
    if (!(error instanceof DamagedFile)) return;
    this.#onDamage(error);
    this.#forget(path, entry);
    this.#damaged.add(entry);
    this.#closeDamaged();
  }

  #closeDamaged(): void {
    for (const entry of this.#damaged) {
      if (entry.users > 0) continue;
      this.#damaged.delete(entry);
      entry.ready?.object.close();
    }
  }

  /** It may have been opened again meanwhile. */
  #forget(path: string, entry: Entry): void {
    if (this.#entries.get(path) === entry) this.#entries.delete(path);
  }

  async #shrink(size: number): Promise<void> {
    for (const [path, entry] of this.#entries) {
      if (this.#entries.size <= size) return;
      if (entry.users > 0) continue;
      this.#entries.delete(path);
      await entry.opened.then(
        (opened) => opened.object.close(),
        () => undefined,
      );
    }
  }
}

const NO_FILES =
  'the process can open no more files (ulimit -n): send fewer requests at once, or raise the limit';

function opening(open: () => Promise<OpenDataFile>): Entry {
  const entry: Entry = { opened: open(), ready: undefined, users: 0 };
  entry.opened.then(
    (file) => {
      entry.ready = file;
    },
    () => undefined,
  );
  return entry;
}

async function openStored(storage: Storage, stored: StoredFile): Promise<OpenDataFile> {
  const { path } = stored;
  const object = await storage.open(path);
  try {
    const size = object.size();
    const block = await readDetachedBlock(storage, stored);
    const { file, checks } = await openSealed(fileAccess({ object, size, path }), stored, block);
    const starts: number[] = [];
    let start = 0;
    for (const rows of file.batchRows) {
      starts.push(start);
      start += rows;
    }
    return { path, object, size, file, starts, checks };
  } catch (error) {
    object.close();
    throw error;
  }
}
