import { readUpTo } from '../../storage/open-object.ts';
import type { Storage } from '../../storage/storage.ts';
import { openLogFile } from '../chain/log-files.ts';
import { archiveKeys, neededTails, type ArchivedTail } from './archived-objects.ts';
import { putFile } from './object-copies.ts';

const NEWLINE = 0x0a;
/** Bytes before the end of what is archived, which show whether the file was cut and written anew. */
const MARK_BYTES = 64;
/** Bytes that are searched for the end of the last whole line at once. */
const SEARCH_BYTES = 2 ** 16;

interface TailPlace {
  readonly storage: Storage;
  readonly root: string;
  readonly instance: string;
  /** Number of the file of lines. */
  readonly number: string;
}

/**
 * Uploads the whole lines of a growing file as objects that are put once and never changed. A new
 * object also has the lines of those before it that are less than twice as large, and replaces
 * them: each is at least twice as large as the next, so their number is about the logarithm of the size of the file.
 */
export class TailUploads {
  readonly #place: TailPlace;
  /** Objects in order, each behind the one before. */
  #tails: readonly ArchivedTail[];
  /** Objects that others have replaced. */
  #unneeded: readonly ArchivedTail[];
  #mark: Buffer | undefined;

  /** @param archived Objects that are there. */
  constructor(place: TailPlace, archived: readonly ArchivedTail[]) {
    this.#place = place;
    this.#tails = neededTails(archived);
    this.#unneeded = archived.filter((tail) => !this.#tails.includes(tail));
  }

  /**
   * Uploads what the file has more than the archive.
   * @returns Number of uploaded bytes.
   * @throws as `openLogFile` and the storage do
   */
  async advance(path: string): Promise<number> {
    const { end, mark } = await this.#examine(path);
    const uploaded = end > this.#end ? await this.#put(path, end) : 0;
    this.#mark = mark;
    await this.#discard(this.#unneeded);
    this.#unneeded = [];
    return uploaded;
  }

  /** Removes all objects, when the sealed segment has their records. */
  async clear(): Promise<void> {
    await this.#discard([...this.#tails, ...this.#unneeded]);
    this.#tails = [];
    this.#unneeded = [];
  }

  get #end(): number {
    return this.#tails.at(-1)?.to ?? 0;
  }

  /** End of the last whole line. What was not durable is cut off after a write that failed: then all is uploaded anew. */
  async #examine(path: string): Promise<{ readonly end: number; readonly mark: Buffer }> {
    const file = openLogFile(path);
    try {
      const before = await markBefore(file, this.#end);
      const isOther = this.#mark !== undefined && !before.equals(this.#mark);
      if (file.size() < this.#end || isOther) await this.clear();
      const end = await endOfLines(file, this.#end);
      return { end, mark: await markBefore(file, end) };
    } finally {
      file.close();
    }
  }

  async #put(path: string, to: number): Promise<number> {
    const { storage, root, instance, number } = this.#place;
    const kept = [...this.#tails];
    let from = this.#end;
    for (
      let last = kept.at(-1);
      last && last.to - last.from < 2 * (to - from);
      last = kept.at(-1)
    ) {
      from = last.from;
      kept.pop();
    }
    const key = archiveKeys.tail(root, instance, number, from, to);
    const bytes = await putFile(storage, key, path, from, to);
    this.#unneeded = [...this.#unneeded, ...this.#tails.slice(kept.length)];
    this.#tails = [...kept, { path: key, bytes, writtenMillis: Date.now(), from, to }];
    return bytes;
  }

  async #discard(tails: readonly ArchivedTail[]): Promise<void> {
    for (const { path } of tails) await this.#place.storage.discard(path);
  }
}

type OpenLog = ReturnType<typeof openLogFile>;

async function markBefore(file: OpenLog, end: number): Promise<Buffer> {
  const bytes = Buffer.alloc(Math.min(MARK_BYTES, end));
  return bytes.subarray(0, await readUpTo(file, bytes, end - bytes.length));
}

/** Position behind the last newline at or after a position that is the beginning of a line. */
async function endOfLines(file: OpenLog, from: number): Promise<number> {
  for (let to = file.size(); to > from;) {
    const start = Math.max(from, to - SEARCH_BYTES);
    const bytes = Buffer.alloc(to - start);
    const read = await readUpTo(file, bytes, start);
    const at = bytes.subarray(0, read).lastIndexOf(NEWLINE);
    if (at >= 0) return start + at + 1;
    to = start;
  }
  return from;
}
