import { crc32 } from '@node-rs/crc32';

/** Integers of the smallest width that holds the greatest of them. */
export type Numbers = Uint8Array | Uint16Array | Uint32Array;

/** Number of rows of a block; the last block of postings may have fewer. */
export const POSTINGS_OF_BLOCK = 128;

/** Extremes of each block, which bound the scores of its rows. */
interface PostingBlocks {
  /** Most occurrences in one row. */
  readonly mostCounts: Numbers;
  /** Number of tokens of the shortest row with that many occurrences. */
  readonly mostLengths: Numbers;
  /** The same of the rows with fewer occurrences; as `mostLengths` without one. */
  readonly otherLengths: Numbers;
}

/** The rows of a part of a fragment that have a token. */
export interface Postings {
  /** Positions of the rows in the fragment's files, ascending. */
  readonly rows: Uint32Array;
  /** Occurrences of the token in each row. */
  readonly counts: Numbers;
  /** Positions of the token in each row, row after row; null if positions are not indexed. */
  readonly positions: Numbers | null;
  /** Most occurrences in one row. */
  readonly mostCount: number;
  /** Number of tokens of the shortest row. */
  readonly leastLength: number;
  /** Null for postings of one block, and in files of earlier versions. */
  readonly blocks: PostingBlocks | null;
}

/** Header in bytes: checksum, rows, positions, most occurrences, shortest row, and three widths. */
export const HEADER = 24;

/** Decodes what a `PostingsEncoder` wrote; numbers are views of the bytes where these are aligned. */
export function decodePostings(bytes: Uint8Array): Postings {
  const aligned = bytes.byteOffset % 4 === 0 ? bytes : bytes.slice();
  const view = new DataView(aligned.buffer, aligned.byteOffset, aligned.byteLength);
  const length = view.getUint32(4, true);
  const places = view.getUint32(8, true);
  const [countWidth, placeWidth] = [view.getUint8(20), view.getUint8(21)];
  const lengthWidth = view.getUint8(22);
  const blocks = Math.ceil(length / POSTINGS_OF_BLOCK);
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
    blocks:
      lengthWidth === 0
        ? null
        : {
            mostCounts: next(countWidth, blocks),
            mostLengths: next(lengthWidth, blocks),
            otherLengths: next(lengthWidth, blocks),
          },
  };
}

/** Verifies the checksum at the start of some bytes. */
export function isIntact(bytes: Uint8Array): boolean {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return bytes.length >= HEADER && view.getUint32(0, true) === crc32(bytes.subarray(4));
}

/** Converts numbers to the smallest width. @param most The greatest number. */
export function narrowed(numbers: Uint32Array, most: number): Numbers {
  if (most < 2 ** 8) return new Uint8Array(numbers);
  return most < 2 ** 16 ? new Uint16Array(numbers) : numbers;
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
