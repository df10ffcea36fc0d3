import {
  hashAfter,
  hashOf,
  HASH_BACK,
  hashTail,
  TAIL_LENGTH,
  type ChainHead,
} from './hash-chain.ts';
import type { LogFile } from './log-files.ts';
import { linePieces, type LinePiece } from './log-files.ts';

const NEWLINE = 0x0a;

/** The first line of a file whose hash does not follow from the line before. */
export interface BrokenLine {
  readonly file: LogFile;
  /** Number of the line, from 1. */
  readonly line: number;
  /** The line without its newline. */
  readonly bytes: Buffer;
}

/** How far the chain of an instance is intact in a file. */
export interface ChainProgress {
  /** Head after the last intact line. */
  readonly head: ChainHead;
  readonly broken?: BrokenLine;
  /** Whether the file ends with a line that has no newline. */
  readonly torn: boolean;
}

/** Requested hashes of a chain, by record count; undefined until they are read. */
export type HashMarks = Map<bigint, string | undefined>;

/**
 * Verifies the chain of a file from a head on, and sets the hashes of the marks.
 * Reading stops at the first line that breaks the chain.
 * @param position Of the line after the head.
 */
export async function readChain(
  file: LogFile,
  from: ChainHead,
  marks: HashMarks,
  position = 0,
): Promise<ChainProgress> {
  const walk = new Walk(file, from, marks);
  for await (const piece of linePieces(file.path, position)) {
    const broken = walk.take(piece);
    if (broken !== undefined) return { head: walk.head, broken, torn: false };
    if (piece.torn) return { head: walk.head, torn: true };
  }
  return { head: walk.head, torn: false };
}

class Walk {
  readonly #file: LogFile;
  readonly #marks: HashMarks;
  readonly #wanted: bigint[];
  #count: bigint;
  #hash: string;
  #line = 0;

  constructor(file: LogFile, from: ChainHead, marks: HashMarks) {
    this.#file = file;
    this.#marks = marks;
    this.#count = from.count;
    this.#hash = from.hash;
    this.#wanted = [...marks.keys()].filter((count) => count > from.count).sort(descending);
  }

  get head(): ChainHead {
    return { count: this.#count, hash: this.#hash };
  }

  /** Verifies whole lines; returns the first line that breaks the chain. */
  take({ bytes, torn }: LinePiece): BrokenLine | undefined {
    if (torn) return undefined;
    let start = 0;
    for (let end = bytes.indexOf(NEWLINE); end >= 0; end = bytes.indexOf(NEWLINE, start)) {
      this.#line += 1;
      const next = this.#next(bytes, start, end);
      if (hashTail(next) !== tailIn(bytes, start, end)) {
        return {
          file: this.#file,
          line: this.#line,
          bytes: Buffer.from(bytes.subarray(start, end)),
        };
      }
      this.#advance(next);
      start = end + 1;
    }
    return undefined;
  }

  /** Expected hash of the line from `start` to `end`. */
  #next(bytes: Buffer, start: number, end: number): string {
    const fields = Math.max(start, end - TAIL_LENGTH);
    // The previous hash and the line are adjacent, except for the first line of a piece.
    if (start > 0) return hashOf(bytes.subarray(start - 1 - HASH_BACK, fields));
    return hashAfter(this.#hash, bytes.subarray(start, fields));
  }

  #advance(hash: string): void {
    this.#hash = hash;
    this.#count += 1n;
    if (this.#wanted.at(-1) !== this.#count) return;
    this.#wanted.pop();
    this.#marks.set(this.#count, hash);
  }
}

/** The bytes at the place of a line's tail, as text. */
function tailIn(bytes: Buffer, start: number, end: number): string {
  return bytes.toString('latin1', Math.max(start, end - TAIL_LENGTH), end);
}

function descending(one: bigint, other: bigint): number {
  return one < other ? 1 : -1;
}
