import { readUpTo } from '../../storage/open-object.ts';
import type { OpenObject } from '../../storage/storage.ts';
import { instancePrefix } from '../record/encoding.ts';
import { HASH_BACK } from './hash-chain.ts';
import { openLogFile, type LogFile } from './log-files.ts';

const NEWLINE = 0x0a;
/** Bytes of a file that are searched line by line, and that hold the beginning of a line. */
const WINDOW_BYTES = 2 ** 16;
/** Maximum length of a line. */
const MOST_LINE_BYTES = 64 * 2 ** 20;
/** Digits of a sequence number and the comma after it. */
const NUMBER_BYTES = 20;

/** A line of an instance's log, found by its sequence number. */
export interface PlacedLine {
  readonly file: LogFile;
  /** Position of the next line in the file. */
  readonly next: number;
  /** The line without its newline. */
  readonly bytes: Buffer;
  /** The line's own hash. */
  readonly hash: string;
}

/**
 * Finds the line of a record by a binary search, because numbers ascend within a file.
 * @param files Files of lines of one instance, in order.
 * @returns Undefined if there is no such line, or a line on the way is damaged.
 * @throws as `openLogFile`
 */
export async function lineOfRecord(
  files: readonly LogFile[],
  instance: string,
  sequence: bigint,
): Promise<PlacedLine | undefined> {
  const prefix = Buffer.from(instancePrefix(instance));
  for (const file of files.toReversed()) {
    const object = openLogFile(file.path);
    try {
      const lines = new SortedLines(object, prefix);
      const first = await lines.sequenceAt(0);
      // After a failed flush an earlier file may end with records that the next file replaces.
      if (first === undefined || first > sequence) continue;
      const found = await lines.find(sequence);
      return found && { file, ...found, hash: hashIn(found.bytes) };
    } finally {
      object.close();
    }
  }
  return undefined;
}

/** Number of the first record of a file of lines; undefined if it has no whole first line. */
export async function firstSequence(path: string, instance: string): Promise<bigint | undefined> {
  const object = openLogFile(path);
  try {
    return await new SortedLines(object, Buffer.from(instancePrefix(instance))).sequenceAt(0);
  } finally {
    object.close();
  }
}

/** The sequence number of a line; undefined if it does not begin as a line of the instance does. */
export function sequenceOfLine(bytes: Buffer, start: number, prefix: Buffer): bigint | undefined {
  const at = start + prefix.length;
  if (bytes.compare(prefix, 0, prefix.length, start, at) !== 0) return undefined;
  const [digits] = /^\d+(?=,)/.exec(bytes.toString('latin1', at, at + NUMBER_BYTES)) ?? [];
  return digits === undefined ? undefined : BigInt(digits);
}

function hashIn(line: Buffer): string {
  return line.toString('latin1', line.length - HASH_BACK, line.length - 2);
}

/** The lines of an open file, whose sequence numbers ascend. */
class SortedLines {
  readonly #object: OpenObject;
  readonly #prefix: Buffer;
  readonly #window = Buffer.allocUnsafe(WINDOW_BYTES);

  constructor(object: OpenObject, prefix: Buffer) {
    this.#object = object;
    this.#prefix = prefix;
  }

  /** Number of the line that begins at a position. */
  async sequenceAt(position: number): Promise<bigint | undefined> {
    const bytes = await this.#read(position, this.#prefix.length + NUMBER_BYTES);
    return sequenceOfLine(bytes, 0, this.#prefix);
  }

  async find(sequence: bigint): Promise<Pick<PlacedLine, 'next' | 'bytes'> | undefined> {
    let [low, high] = [0, this.#object.size()];
    while (high - low > WINDOW_BYTES) {
      const middle = Math.floor((low + high) / 2);
      const start = await this.#lineAfter(middle, high);
      const found = start === undefined ? undefined : await this.sequenceAt(start);
      if (start === undefined) high = middle;
      else if (found === undefined) return undefined;
      else if (found <= sequence) low = start;
      else high = middle;
    }
    return this.#walk(low, sequence);
  }

  /** Walks from line to line. */
  async #walk(
    from: number,
    sequence: bigint,
  ): Promise<Pick<PlacedLine, 'next' | 'bytes'> | undefined> {
    for (let start = from; ;) {
      const next = await this.#lineAfter(start, this.#object.size());
      const found = next === undefined ? undefined : await this.sequenceAt(start);
      if (next === undefined || found === undefined || found > sequence) return undefined;
      if (found === sequence) {
        const bytes = Buffer.allocUnsafe(next - 1 - start);
        await readUpTo(this.#object, bytes, start);
        return { next, bytes };
      }
      start = next;
    }
  }

  /** Position after the first newline from a position on; undefined if there is none below a limit. */
  async #lineAfter(from: number, limit: number): Promise<number | undefined> {
    for (let at = from; at < Math.min(limit, from + MOST_LINE_BYTES); at += WINDOW_BYTES) {
      const bytes = await this.#read(at, Math.min(WINDOW_BYTES, limit - at));
      const found = bytes.indexOf(NEWLINE);
      if (found >= 0) return at + found + 1;
    }
    return undefined;
  }

  /** Bytes that are valid until the next call. */
  async #read(position: number, length: number): Promise<Buffer> {
    const bytes = this.#window.subarray(0, length);
    const read =
      this.#object.readNow(bytes, position) ?? (await readUpTo(this.#object, bytes, position));
    return bytes.subarray(0, read);
  }
}
