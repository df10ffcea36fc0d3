import type { CodeDirectory } from './code-file.ts';
import type { CodeMemory } from './code-kernels.ts';
import { BLOCK_ROWS, CALL_ROWS, SCRATCH, type CodeLayout } from './code-layout.ts';
import { placedQuery, type CodedPlace, type EncodedQuery } from './encoded-query.ts';
import type { NearestRows } from './nearest-rows.ts';

/** Rows of a file that lie together in the memory. */
export interface LoadedPortion {
  /** Its number in the directory. */
  readonly number: number;
  /** Offset in the memory. */
  readonly place: number;
  /** The first of its rows; unused in partitions, whose rows have numbers. */
  readonly first: number;
  readonly layout: CodeLayout;
}

/** Rows that are searched together: those around a centre, or a stretch of a file without partitions. */
export interface LoadedPartition extends CodedPlace {
  /** A distance to the centre that few rows are below. */
  readonly inner: number;
  /** Squared length of the centre. */
  readonly squared: number;
  readonly portions: readonly LoadedPortion[];
}

/** A file of codes in memory. */
export interface LoadedCodes {
  readonly directory: CodeDirectory;
  readonly memory: CodeMemory;
  readonly partitions: readonly LoadedPartition[];
  /** Offset in the memory of the centres of all partitions; null without partitions. */
  readonly centres: number | null;
  /** 1 for each portion that is in the memory. */
  readonly loaded: Uint8Array;
}

/** Whether the portions of a partition are in the memory. */
export function isLoaded({ loaded }: LoadedCodes, { portions }: LoadedPartition): boolean {
  for (const { number } of portions) if (loaded[number] !== 1) return false;
  return true;
}

/** Parameters of a search in one file. */
export interface CodeSearch {
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
 * Offers rows of a partition that may be among the nearest, with distances estimated from 8-bit
 * codes if there are any. Returns an error that few of these exceed; 0 if no row was offered.
 */
export function searchPartition(
  codes: LoadedCodes,
  partition: LoadedPartition,
  search: CodeSearch,
): number {
  const views = viewsOf(codes);
  // Other searches may have used the memory since the last partition.
  if (codes.memory.brought !== search.query) bringQuery(views, search.query);
  codes.memory.brought = search.query;
  const { constant, tolerance, error } = placedQuery(search.query, partition);
  let offered = 0;
  for (const portion of partition.portions) {
    const { rows } = portion.layout;
    for (let at = 0; at < rows;) {
      const most = at === 0 && search.nearest.limit === Infinity ? FIRST_ROWS : CALL_ROWS;
      const count = Math.min(most, rows - at);
      const stretch = { portion, at, count, constant, tolerance };
      offered += offerStretch(codes, views, search, stretch);
      at += count;
    }
  }
  return offered === 0 ? 0 : error;
}

interface Views {
  readonly tables: Uint8Array;
  readonly query: Int16Array;
  readonly rows: Uint32Array;
  readonly distances: Float32Array;
}

/** The views of each memory. */
const known = new WeakMap<CodeMemory, Views>();

function viewsOf({ memory }: LoadedCodes): Views {
  const views = known.get(memory) ?? newViews(memory);
  known.set(memory, views);
  return views;
}

function newViews({ buffer }: CodeMemory): Views {
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

/** Some rows of a portion, and what their distances have in common. */
interface Stretch {
  readonly portion: LoadedPortion;
  readonly at: number;
  readonly count: number;
  readonly constant: number;
  readonly tolerance: number;
}

/** Returns the number of offered rows. */
function offerStretch(
  { memory: { buffer, kernels }, directory }: LoadedCodes,
  views: Views,
  { query, errors, may, nearest, first }: CodeSearch,
  { portion, at, count, constant, tolerance }: Stretch,
): number {
  const { place, first: portionFirst, layout } = portion;
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
    query.base + errors * tolerance,
    // A row as far as the farthest kept one may come before it in the table.
    (nearest.limit - constant) * (1 + Math.sign(nearest.limit - constant) * 2 ** -22),
  );
  if (found === 0) return 0;
  const { partitions: parted } = directory;
  const ids = parted && new Uint32Array(buffer, place + layout.ids + 4 * at, count);
  const offset = portionFirst + at;
  const rowOf = (row: number): number => (ids === undefined ? offset + row : ids[row]!);
  const left = may === null ? found : compact(views, found, (row) => may(rowOf(row)));
  if (left === 0) return 0;
  if (!directory.shape.whole) {
    const codes = place + layout.codes + at * layout.stride;
    kernels.measure(
      codes,
      parted === undefined ? place + layout.first + 4 * at : codes + 4,
      parted === undefined ? 4 : layout.stride,
      layout.head,
      layout.stride,
      SCRATCH.query,
      SCRATCH.rows,
      left,
      SCRATCH.distances,
      query.step,
    );
  }
  for (let one = 0; one < left; one++) {
    views.distances[one]! += constant;
    views.rows[one] = rowOf(views.rows[one]!);
  }
  nearest.offer(views.distances.subarray(0, left), views.rows.subarray(0, left), first);
  return left;
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
