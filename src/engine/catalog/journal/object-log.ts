import { join } from 'node:path';
import { discardAll } from '../../../storage/discard-all.ts';
import type { Storage } from '../../../storage/storage.ts';
import type { ChangeLine } from './journal-line.ts';
import { putLines } from './journal-objects.ts';

/** The lines that one process writes to a journal. */
export interface JournalLog {
  /** Adds the line of a change. It is on stable storage when this resolves. @throws Error if that is not certain. */
  append(line: ChangeLine): Promise<void>;
  /** Why lines could not be written a moment ago; undefined when they can. */
  readonly fault: string | undefined;
  /** Finishes what is in progress. */
  close(): Promise<void>;
}

/** A line that is in no object yet. */
interface Entry {
  readonly line: ChangeLine;
  readonly resolve: () => void;
  readonly reject: (error: Error) => void;
}

/** An object of this log that is not merged yet. */
interface OwnObject {
  readonly name: string;
  readonly lines: readonly ChangeLine[];
}

/** Lines of one object, in bytes, unless a single line is longer. */
const OBJECT_BYTES = 4 * 2 ** 20;
/** Objects, and their bytes, after which they are merged into one. */
const MERGED_OBJECTS = 64;
const MERGED_BYTES = 4 * 2 ** 20;
/** Pause before a log that failed is tried again, in ms. */
const RETRY_MILLIS = 1000;

/**
 * The log of one process in an object store. Lines that come while an object is being written share the
 * next one. Each object has a name of its own, so processes never write the same one, and is written
 * only if its name is free. Small objects are merged after a while.
 *
 * After a failure the outcome may be unknown: the object may be there. Its lines are rejected, and the
 * journal writes them again; readers take a line that occurs twice once.
 */
export class ObjectLog implements JournalLog {
  readonly #storage: Storage;
  readonly #folder: string;
  readonly #instance: string;
  #waiting: Entry[] = [];
  #working: Promise<void> | undefined;
  #objects = 0;
  #own: OwnObject[] = [];
  #ownBytes = 0;
  #merging: Promise<void> = Promise.resolve();
  #failure: string | undefined;
  #timer: NodeJS.Timeout | undefined;
  #closed = false;

  /** @param instance Distinguishes this log from all others: hexadecimal. */
  constructor(storage: Storage, folder: string, instance: string) {
    this.#storage = storage;
    this.#folder = folder;
    this.#instance = instance;
  }

  get fault(): string | undefined {
    return this.#failure;
  }

  append(line: ChangeLine): Promise<void> {
    if (this.#closed) return Promise.reject(new Error('the log is closed'));
    return new Promise((resolve, reject) => {
      this.#waiting.push({ line, resolve, reject });
      this.#working ??= this.#work();
    });
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#timer);
    await this.#working;
    this.#merge();
    await this.#merging;
  }

  async #work(): Promise<void> {
    // Lines that are added in this turn join the object.
    await Promise.resolve();
    while (this.#waiting.length > 0) await this.#write(this.#next());
    this.#working = undefined;
  }

  /** The lines of the next object: at least one. */
  #next(): readonly Entry[] {
    let count = 0;
    for (let bytes = 0; count < this.#waiting.length && bytes < OBJECT_BYTES; count += 1) {
      bytes += this.#waiting[count]!.line.bytes.byteLength;
    }
    return this.#waiting.splice(0, count);
  }

  async #write(entries: readonly Entry[]): Promise<void> {
    const lines = entries.map(({ line }) => line);
    try {
      const name = await this.#put(lines);
      this.#failure = undefined;
      for (const { resolve } of entries) resolve();
      this.#remember({ name, lines });
    } catch (error) {
      this.#fail([...entries, ...this.#waiting.splice(0)], error);
    }
  }

  #put(lines: readonly ChangeLine[]): Promise<string> {
    this.#objects += 1;
    const writer = { instance: this.#instance, number: this.#objects };
    return putLines(this.#storage, this.#folder, writer, lines);
  }

  #remember(object: OwnObject): void {
    this.#own.push(object);
    this.#ownBytes += object.lines.reduce((sum, { bytes }) => sum + bytes.byteLength, 0);
    if (this.#own.length >= MERGED_OBJECTS || this.#ownBytes >= MERGED_BYTES) this.#merge();
  }

  /** Puts one object in place of those that were written since the last time. What fails stays as it is. */
  #merge(): void {
    const merged = this.#own;
    [this.#own, this.#ownBytes] = [[], 0];
    if (merged.length < 2) return;
    this.#merging = this.#merging.then(async () => {
      try {
        await this.#put(merged.flatMap(({ lines }) => lines));
        const keys = merged.map(({ name }) => join(this.#folder, name));
        await discardAll(this.#storage, keys);
      } catch {
        // The journal's keeper merges them later.
      }
    });
  }

  #fail(entries: readonly Entry[], error: unknown): void {
    this.#failure = error instanceof Error ? error.message : String(error);
    for (const { reject } of entries) reject(new Error(this.#failure));
    if (!this.#closed) this.#timer ??= setTimeout(() => void this.#probe(), RETRY_MILLIS).unref();
  }

  /** Finds out whether the store takes objects again. */
  async #probe(): Promise<void> {
    this.#timer = undefined;
    const key = join(this.#folder, `probe-${this.#instance}`);
    try {
      await this.#storage.replace(key, Buffer.from('\n'));
      await this.#storage.discard(key);
      this.#failure = undefined;
    } catch (error) {
      this.#fail([], error);
    }
  }
}
