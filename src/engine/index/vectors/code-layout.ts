/** Rows per block. */
export const BLOCK_ROWS = 16;
/** Approximate size of a portion of a file without partitions, in bytes. */
const PORTION_BYTES = 2 ** 21;
/** Most numbers of an indexed vector: the sums of the kernels hold no more. */
export const MOST_NUMBERS = 4096;

/** Shape of encoded vectors. */
export interface CodeShape {
  /** Number of values, or bits, of a vector. */
  readonly size: number;
  /** Whether vectors are bits themselves: then one bit per value is exact. */
  readonly whole: boolean;
}

/** Offsets of the parts of a portion, in bytes. */
export interface CodeLayout {
  /** Number of rows, padded to whole blocks. */
  readonly rows: number;
  /** Bytes of a row with one bit per value. */
  readonly bitBytes: number;
  /** Size of the bits, which are stored block by block from offset 0. */
  readonly first: number;
  readonly second: number;
  readonly codes: number;
  /** Bytes before a row's 8-bit codes: their factor, and in partitions their first term. */
  readonly head: number;
  /** Bytes of a row's 8-bit codes and what is before them; 0 without such codes. */
  readonly stride: number;
  /** Offset of the places of the rows in the fragment, in partitions only. */
  readonly ids: number;
  readonly bytes: number;
}

/**
 * The layout of a portion with a number of rows.
 * @param parted Whether its rows are those of a partition, not all rows of a stretch.
 */
export function codeLayout({ size, whole }: CodeShape, count: number, parted: boolean): CodeLayout {
  const rows = Math.ceil(count / BLOCK_ROWS) * BLOCK_ROWS;
  const bitBytes = 2 * Math.ceil(size / 16);
  const first = rows * bitBytes;
  const second = first + 4 * rows;
  const codes = second + 4 * rows;
  const head = parted ? 8 : 4;
  const stride = whole ? 0 : head + 16 * Math.ceil(size / 16);
  const ids = codes + stride * rows;
  const bytes = ids + (parted ? 4 * rows : 0);
  return { rows, bitBytes, first, second, codes, head, stride, ids, bytes };
}

/** Number of floats of a centre of a partition, padded for the kernels. */
export function centreFloats({ size }: CodeShape): number {
  return 4 * Math.ceil(size / 4);
}

/** Number of rows of a portion; the last one of a file may have fewer. */
export function portionRows(shape: CodeShape): number {
  return codesWithin(shape, PORTION_BYTES, false);
}

/** Number of rows whose codes have a number of bytes, in whole blocks; at least one block. */
export function codesWithin(shape: CodeShape, bytes: number, parted: boolean): number {
  const each = codeLayout(shape, BLOCK_ROWS, parted).bytes;
  return Math.max(1, Math.floor(bytes / each)) * BLOCK_ROWS;
}

/** Files of fewer rows have no partitions: all rows are searched. */
const LEAST_ROWS = 2048;
/** Partitions of a file, at most about this number: fewer than `CALL_ROWS`, which have room in the memory. */
const MOST_PARTITIONS = 4000;

/**
 * Number of partitions of a file: about the root of its rows, so that a search compares about as many
 * centres as rows of a partition. Bits have none: their codes are exact.
 */
export function partitionsFor({ whole }: CodeShape, rows: number): number {
  if (whole || rows < LEAST_ROWS) return 1;
  return Math.min(MOST_PARTITIONS, Math.round(Math.sqrt(rows)));
}

/** Memory reserved for queries before the first portion, in bytes. */
const TABLE_BYTES = 16 * (MOST_NUMBERS / 4);
const QUERY_BYTES = 2 * MOST_NUMBERS;
/** Rows per kernel call. */
export const CALL_ROWS = 4096;
/** Offsets in the memory of codes. To compare centres, a point and distances take the place of rows. */
export const SCRATCH = {
  tables: 0,
  query: TABLE_BYTES,
  rows: TABLE_BYTES + QUERY_BYTES,
  distances: TABLE_BYTES + QUERY_BYTES + 4 * CALL_ROWS,
  bytes: TABLE_BYTES + QUERY_BYTES + 8 * CALL_ROWS,
} as const;
