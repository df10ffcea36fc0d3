import type { NearestRows } from './nearest-rows.ts';
import {
  BLOCK_ROWS,
  CALL_ROWS,
  SCRATCH,
  type CodeDirectory,
  type CodeLayout,
} from './code-file.ts';
import type { CodeMemory } from './code-kernels.ts';
import type { EncodedQuery } from './encoded-query.ts';

/** Rows of a file in memory. */
export interface LoadedPortion {
  /** Offset in the memory. */
  readonly place: number;
  /** The first of its rows. */
  readonly first: number;
  readonly layout: CodeLayout;
}

/** A file of codes in memory. */
export interface LoadedCodes {
  readonly directory: CodeDirectory;
  readonly memory: CodeMemory;
  readonly portions: readonly LoadedPortion[];
  readonly bytes: number;
}

/** Parameters of a search in one file. */
interface CodeSearch {
  readonly query: EncodedQuery;
  /** Tolerated deviation of 1-bit estimates, in standard errors. */
  readonly errors: number;
  /** Selects rows; null for all. */
  readonly may: ((row: number) => boolean) | null;
  /** Collects found rows, numbered from `first` on. */
  readonly nearest: NearestRows;
  readonly first: number;
}

/** The first call has no limit; these few rows establish one. */
const FIRST_ROWS = 1024;

/**
 * Offers rows that may be among the nearest, with distances estimated from 8-bit codes if there are
 * any. Yields after each group of rows.
 */
export function* searchCodes(codes: LoadedCodes, search: CodeSearch): Generator<void> {
  const views = viewsOf(codes);
  for (const portion of codes.portions) {
    const { rows } = portion.layout;
    // Other searches may have used the memory since the last portion.
    bringQuery(views, search.query);
    for (let at = 0; at < rows;) {
      const most = at === 0 && search.nearest.limit === Infinity ? FIRST_ROWS : CALL_ROWS;
      const count = Math.min(most, rows - at);
      offerStretch(codes, views, search, portion, at, count);
      at += count;
    }
    yield;
  }
}

interface Views {
  readonly tables: Uint8Array;
  readonly query: Int16Array;
  readonly rows: Uint32Array;
  readonly distances: Float32Array;
}

function viewsOf({ memory: { buffer } }: LoadedCodes): Views {
  return {
    tables: new Uint8Array(buffer, SCRATCH.tables, SCRATCH.query - SCRATCH.tables),
    query: new Int16Array(buffer, SCRATCH.query, (SCRATCH.rows - SCRATCH.query) / 2),
    rows: new Uint32Array(buffer, SCRATCH.rows, CALL_ROWS),
    distances: new Float32Array(buffer, SCRATCH.distances, CALL_ROWS),
  };
}

function bringQuery(views: Views, { tables, numbers }: EncodedQuery): void {
  views.tables.set(tables);
  views.tables.fill(0, tables.length, tables.length + 64);
  views.query.set(numbers);
  views.query.fill(0, numbers.length, numbers.length + 16);
}

function offerStretch(
  { memory: { kernels }, directory }: LoadedCodes,
  views: Views,
  { query, errors, may, nearest, first }: CodeSearch,
  { place, first: portionFirst, layout }: LoadedPortion,
  at: number,
  count: number,
): void {
  const found = kernels.near(
    place + at * layout.bitBytes,
    place + layout.first + 4 * at,
    place + layout.second + 4 * at,
    count / BLOCK_ROWS,
    layout.bitBytes,
    SCRATCH.tables,
    SCRATCH.rows,
    SCRATCH.distances,
    query.scale,
    query.base + errors * query.tolerance,
    nearest.limit - query.constant,
  );
  const offset = portionFirst + at;
  const left = may === null ? found : compact(views, found, (row) => may(offset + row));
  if (left === 0) return;
  if (!directory.shape.whole) {
    kernels.measure(
      place + layout.codes + at * layout.stride,
      place + layout.first + 4 * at,
      layout.stride,
      SCRATCH.query,
      SCRATCH.rows,
      left,
      SCRATCH.distances,
      query.step,
    );
  }
  const distances = views.distances.subarray(0, left);
  for (let one = 0; one < left; one++) distances[one]! += query.constant;
  nearest.offer(distances, views.rows.subarray(0, left), first + offset);
}

/** Removes rows that are not selected. Returns the number of remaining rows. */
function compact({ rows, distances }: Views, found: number, may: (row: number) => boolean): number {
  let left = 0;
  for (let at = 0; at < found; at++) {
    const row = rows[at]!;
    if (!may(row)) continue;
    rows[left] = row;
    distances[left++] = distances[at]!;
  }
  return left;
}
