/** Rows stand in blocks of so many. */
export const BLOCK_ROWS = 16;
/** Portions of a file have about so many bytes. */
const PORTION_BYTES = 2 ** 21;
/** The longest vectors that are indexed: sums of the kernels hold no more. */
export const MOST_NUMBERS = 4096;

/** Of what codes are made. */
export interface CodeShape {
  /** How many numbers, or bits, a vector has. */
  readonly size: number;
  /** Whether vectors are their own bits: then one bit says all. */
  readonly whole: boolean;
}

/** Where the parts of a portion of codes lie, in bytes from its start. */
export interface CodeLayout {
  /** Rows with those that fill the last block. */
  readonly rows: number;
  /** Bytes of one bit a number of one row. */
  readonly bitBytes: number;
  /** The bits, block by block; they begin at 0. */
  readonly first: number;
  readonly second: number;
  readonly codes: number;
  /** Bytes of a row's codes of eight bits, with its factor before them; 0 when there are none. */
  readonly stride: number;
  readonly bytes: number;
}

/** The layout of a portion of so many rows. */
export function layoutOf({ size, whole }: CodeShape, count: number): CodeLayout {
  const rows = Math.ceil(count / BLOCK_ROWS) * BLOCK_ROWS;
  const bitBytes = 2 * Math.ceil(size / 16);
  const first = rows * bitBytes;
  const second = first + 4 * rows;
  const codes = second + 4 * rows;
  const stride = whole ? 0 : 4 + 16 * Math.ceil(size / 16);
  return { rows, bitBytes, first, second, codes, stride, bytes: codes + stride * rows };
}

/** How many rows a portion has, but for the last of a file. */
export function portionRows(shape: CodeShape): number {
  const each = layoutOf(shape, BLOCK_ROWS).bytes / BLOCK_ROWS;
  return Math.max(1, Math.floor(PORTION_BYTES / each / BLOCK_ROWS)) * BLOCK_ROWS;
}

/** How much of the memory of codes the queries use, before the first portion. */
export const TABLE_BYTES = 16 * (MOST_NUMBERS / 4);
export const QUERY_BYTES = 2 * MOST_NUMBERS;
/** Rows that are looked at in one call. */
export const CALL_ROWS = 4096;
export const SCRATCH = {
  tables: 0,
  query: TABLE_BYTES,
  rows: TABLE_BYTES + QUERY_BYTES,
  distances: TABLE_BYTES + QUERY_BYTES + 4 * CALL_ROWS,
  bytes: TABLE_BYTES + QUERY_BYTES + 8 * CALL_ROWS,
} as const;
