import { crc32 } from 'node:zlib';

/** Whole numbers in as few bytes as the greatest of them needs. */
export type Numbers = Uint8Array | Uint16Array | Uint32Array;

/** The rows of a fragment that have a token. */
export interface Postings {
  /** Positions of the rows in the fragment's files, ascending. */
  readonly rows: Uint32Array;
  /** How often each of them has it. */
  readonly counts: Numbers;
  /** Where it stands in each of them, one row after the other; null where that is not known. */
  readonly positions: Numbers | null;
  /** The most that a row has it. */
  readonly mostCount: number;
  /** How many tokens the shortest of the rows has. */
  readonly leastLength: number;
}

/** Checksum, rows, places, the most that a row has it, tokens of the shortest row; then two widths. */
const HEADER = 24;

/** Postings as bytes, a multiple of eight. */
export function encodePostings(postings: Postings): Uint8Array {
  const { rows, counts, positions, mostCount, leastLength } = postings;
  const packed = [rows, positions, counts].map((numbers) => numbers ?? new Uint8Array());
  const sizes = packed.map(({ byteLength }) => padded(byteLength));
  const bytes = new Uint8Array(
    padded(
      sizes.reduce((sum, size) => sum + size, HEADER),
      8,
    ),
  );
  const view = new DataView(bytes.buffer);
  view.setUint32(4, rows.length, true);
  view.setUint32(8, positions?.length ?? 0, true);
  view.setUint32(12, mostCount, true);
  view.setUint32(16, leastLength, true);
  view.setUint8(20, counts.BYTES_PER_ELEMENT);
  view.setUint8(21, positions?.BYTES_PER_ELEMENT ?? 0);
  let at = HEADER;
  for (const [part, numbers] of packed.entries()) {
    bytes.set(new Uint8Array(numbers.buffer, numbers.byteOffset, numbers.byteLength), at);
    at += sizes[part]!;
  }
  view.setUint32(0, crc32(bytes.subarray(4)), true);
  return bytes;
}

/** The inverse of `encodePostings`; the numbers lie in the bytes where these are aligned. */
export function decodePostings(bytes: Uint8Array): Postings {
  const aligned = bytes.byteOffset % 4 === 0 ? bytes : bytes.slice();
  const view = new DataView(aligned.buffer, aligned.byteOffset, aligned.byteLength);
  const length = view.getUint32(4, true);
  const places = view.getUint32(8, true);
  const [countWidth, placeWidth] = [view.getUint8(20), view.getUint8(21)];
  let at = HEADER;
  const next = (width: number, count: number): Numbers => {
    const numbers = numbersAt(aligned, at, width, count);
    at += padded(width * count);
    return numbers;
  };
  return {
    rows: next(4, length) as Uint32Array,
    positions: placeWidth === 0 ? null : next(placeWidth, places),
    counts: next(countWidth, length),
    mostCount: view.getUint32(12, true),
    leastLength: view.getUint32(16, true),
  };
}

/** Whether bytes that begin with their checksum are as they were written. */
export function isIntact(bytes: Uint8Array): boolean {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return bytes.length >= HEADER && view.getUint32(0, true) === crc32(bytes.subarray(4));
}

/** Numbers in as few bytes as they need. */
export function narrowed(numbers: Uint32Array, most: number): Numbers {
  if (most < 2 ** 8) return Uint8Array.from(numbers);
  return most < 2 ** 16 ? Uint16Array.from(numbers) : numbers;
}

/** Numbers of a width in aligned bytes. */
export function numbersAt(
  { buffer, byteOffset }: Uint8Array,
  at: number,
  width: number,
  count: number,
): Numbers {
  if (width === 1) return new Uint8Array(buffer, byteOffset + at, count);
  if (width === 2) return new Uint16Array(buffer, byteOffset + at, count);
  return new Uint32Array(buffer, byteOffset + at, count);
}

/** The next multiple. */
export function padded(size: number, to = 4): number {
  return Math.ceil(size / to) * to;
}
