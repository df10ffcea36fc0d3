import { crc32 } from '@node-rs/crc32';
import type { ByteRange, RandomAccess } from '../ipc/random-access.ts';
import { DamagedFile, SEALED_PORTION, type SealBlock } from './file-seal.ts';

/** CRC-32 of each portion of bytes that come piece by piece. */
export class PortionSums {
  /** Number of bytes so far. */
  bytes = 0;
  readonly #sums: number[] = [];
  readonly #portionBytes: number;
  #sum = 0;
  #left: number;

  constructor(portionBytes = SEALED_PORTION) {
    this.#portionBytes = portionBytes;
    this.#left = portionBytes;
  }

  add(piece: Uint8Array): void {
    this.bytes += piece.length;
    for (let at = 0; at < piece.length;) {
      const count = Math.min(this.#left, piece.length - at);
      this.#sum = crc32(piece.subarray(at, at + count), this.#sum);
      this.#left -= count;
      at += count;
      if (this.#left === 0) this.#next();
    }
  }

  finish(): Uint32Array {
    if (this.#left < this.#portionBytes) this.#next();
    return Uint32Array.from(this.#sums);
  }

  #next(): void {
    this.#sums.push(this.#sum);
    this.#sum = 0;
    this.#left = this.#portionBytes;
  }
}

/** For each value of the four bytes of a checksum, its part of the checksum with zeros behind the bytes. */
type ZeroTables = readonly [Uint32Array, Uint32Array, Uint32Array, Uint32Array];

/** By the number of zeros: the length of a portion. */
const zeroTables = new Map<number, ZeroTables>();

function zeroTablesOf(bytes: number): ZeroTables {
  const zeros = new Uint8Array(bytes);
  const none = crc32(zeros);
  const bits = Array.from({ length: 32 }, (_, bit) => crc32(zeros, 2 ** bit) ^ none);
  const table = (first: number) =>
    Uint32Array.from({ length: 256 }, (_, value) =>
      bits
        .slice(first, first + 8)
        .reduce((sum, part, bit) => sum ^ (value & (1 << bit) && part), 0),
    );
  const tables: ZeroTables = [table(0), table(8), table(16), table(24)];
  zeroTables.set(bytes, tables);
  return tables;
}

/**
 * The CRC-32 of portions in a row by those of each. One call over many bytes costs less than a call for each
 * portion; a single damaged portion always changes it.
 */
function joinedSum(sums: Uint32Array, first: number, end: number, portionBytes: number): number {
  const [low, second, third, high] = zeroTables.get(portionBytes) ?? zeroTablesOf(portionBytes);
  let sum = 0;
  for (let at = first; at < end; at++) {
    const shifted =
      low[sum & 255]! ^ second[(sum >>> 8) & 255]! ^ third[(sum >>> 16) & 255]! ^ high[sum >>> 24]!;
    sum = (shifted ^ sums[at]!) >>> 0;
  }
  return sum;
}

/** Which portions of an open file were compared with their checksums. */
export class PortionChecks {
  readonly #path: string;
  readonly #contentBytes: number;
  readonly #sums: Uint32Array;
  readonly #portionBytes: number;
  /** 1 for each portion that was compared. */
  readonly #compared: Uint8Array;
  #left: number;

  constructor(
    path: string,
    { contentBytes, sums }: Pick<SealBlock, 'contentBytes' | 'sums'>,
    portionBytes = SEALED_PORTION,
  ) {
    this.#path = path;
    this.#portionBytes = portionBytes;
    this.#contentBytes = contentBytes;
    this.#sums = sums;
    this.#compared = new Uint8Array(sums.length);
    this.#left = sums.length;
  }

  /** Number of bytes that portions cover. */
  get bytes(): number {
    return this.#contentBytes;
  }

  /**
   * The range of whole portions that must be compared before some bytes may be used; undefined if
   * all of them were. Bytes after the content are not portions: they are compared at the opening.
   */
  due(offset: number, length: number): ByteRange | undefined {
    const end = Math.min(offset + length, this.#contentBytes);
    if (this.#left === 0 || offset >= end) return undefined;
    let first = Math.floor(offset / this.#portionBytes);
    let last = Math.ceil(end / this.#portionBytes);
    while (first < last && this.#compared[first] === 1) first++;
    while (first < last && this.#compared[last - 1] === 1) last--;
    if (first === last) return undefined;
    const start = first * this.#portionBytes;
    return {
      offset: start,
      length: Math.min(last * this.#portionBytes, this.#contentBytes) - start,
    };
  }

  /**
   * Compares whole portions.
   * @param offset The beginning of the first one.
   * @param pieces Their bytes in order.
   * @throws DamagedFile
   */
  compare(offset: number, pieces: readonly Uint8Array[]): void {
    let portion = offset / this.#portionBytes;
    let left = this.#bytesOf(portion);
    let sum = 0;
    let isDamaged = false;
    const wholeIn = (bytes: number) => Math.floor(bytes / this.#portionBytes);
    for (const piece of pieces) {
      for (let at = 0; at < piece.length;) {
        const whole = left === this.#portionBytes ? wholeIn(piece.length - at) : 0;
        if (whole > 1 && !isDamaged) {
          isDamaged = !this.#compareRun(portion, whole, piece.subarray(at));
          if (isDamaged) continue;
          portion += whole;
          at += whole * this.#portionBytes;
          left = this.#bytesOf(portion);
          continue;
        }
        const count = Math.min(left, piece.length - at);
        sum = crc32(piece.subarray(at, at + count), sum);
        at += count;
        left -= count;
        if (left > 0) continue;
        this.#settle(portion++, sum);
        left = this.#bytesOf(portion);
        sum = 0;
      }
    }
  }

  /** Compares the portions that lie whole in bytes from an offset on. @throws DamagedFile */
  compareInside(offset: number, bytes: Uint8Array): void {
    const start = this.#portionBytes * Math.ceil(offset / this.#portionBytes);
    const end = Math.min(offset + bytes.length, this.#contentBytes);
    const whole =
      end === this.#contentBytes ? end : this.#portionBytes * Math.floor(end / this.#portionBytes);
    if (whole > start) this.compare(start, [bytes.subarray(start - offset, whole - offset)]);
  }

  /** Compares whole portions of full length together. Returns whether they match. */
  #compareRun(first: number, count: number, bytes: Uint8Array): boolean {
    const sum = crc32(bytes.subarray(0, count * this.#portionBytes));
    const end = first + count;
    if (sum !== joinedSum(this.#sums, first, end, this.#portionBytes)) return false;
    for (let at = first; at < end; at++) this.#mark(at);
    return true;
  }

  #mark(portion: number): void {
    this.#left -= this.#compared[portion] === 1 ? 0 : 1;
    this.#compared[portion] = 1;
  }

  #bytesOf(portion: number): number {
    return Math.min(this.#portionBytes, this.#contentBytes - portion * this.#portionBytes);
  }

  #settle(portion: number, sum: number): void {
    if (sum !== this.#sums[portion]) {
      const start = portion * this.#portionBytes;
      const last = start + this.#bytesOf(portion) - 1;
      throw new DamagedFile(this.#path, `portion ${portion} (bytes ${start} to ${last})`);
    }
    this.#mark(portion);
  }
}

/** Shorter reads of whole portions are copied, so that no memory of the rest is held. */
const LONG_READ = 2 ** 18;

/** Allocates memory for a read, from the start of a buffer. */
export type TakeMemory = (length: number) => Uint8Array;

/**
 * An access that compares each portion of a file when bytes of it are first read; later reads cost
 * nothing more. The first read of bytes is widened to whole portions.
 * @param access Reads into memory that its user provides.
 * @param plain Reads into new memory.
 * @param take Allocates memory for what is copied.
 */
export function checkedAccess(
  access: RandomAccess,
  checks: PortionChecks,
  plain: RandomAccess = access,
  take: TakeMemory = (length) => new Uint8Array(length),
): RandomAccess {
  const compared = (bytes: Uint8Array, from: number, wanted: ByteRange, due: ByteRange) => {
    checks.compare(due.offset, [part(bytes, from, due)]);
    const found = part(bytes, from, wanted);
    if (bytes.length === wanted.length || wanted.length >= LONG_READ) return found;
    const copy = take(wanted.length);
    copy.set(found);
    return copy;
  };
  return {
    size: access.size,
    read: async (offset, length) => {
      const due = checks.due(offset, length);
      if (due === undefined) return access.read(offset, length);
      const wanted = { offset, length };
      const all = union(wanted, due);
      const source = length >= LONG_READ || all.length === length ? access : plain;
      return compared(await source.read(all.offset, all.length), all.offset, wanted, due);
    },
    readNow: (offset, length) => {
      const due = checks.due(offset, length);
      if (due === undefined) return access.readNow?.(offset, length);
      const wanted = { offset, length };
      const all = union(wanted, due);
      const bytes = plain.readNow?.(all.offset, all.length);
      return bytes && compared(bytes, all.offset, wanted, due);
    },
  };
}

/** The smallest range that holds two ranges. */
function union(left: ByteRange, right: ByteRange): ByteRange {
  const offset = Math.min(left.offset, right.offset);
  const end = Math.max(left.offset + left.length, right.offset + right.length);
  return { offset, length: end - offset };
}

/** A range of bytes that were read from an offset on. */
function part(bytes: Uint8Array, from: number, { offset, length }: ByteRange): Uint8Array {
  return bytes.subarray(offset - from, offset - from + length);
}
