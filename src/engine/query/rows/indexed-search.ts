import { placeIn } from '../../index/keys/row-set.ts';
import type { Meters } from '../scan/meters.ts';
import { NearestRows, type RowsByDistance } from '../../index/vectors/nearest-rows.ts';
import type { NearestPlan, QueryPlan } from '../plan/plan.ts';
import { rowAt, countOf } from '../scan/rows.ts';
import type { ScanFile, Scanner } from '../scan/scan.ts';
import { greatestError, LostCodes, searchFiles, type CoveredFile } from './code-visits.ts';
import { selectedRows } from './selected-rows.ts';
import { indexFileOf } from '../../index/keys/index-upkeep.ts';
import type { Fragment } from '../../format/snapshot.ts';
import { encodeQuery } from '../../index/vectors/encoded-query.ts';
import { isCovered, type IndexUse } from '../../index/vectors/index-use.ts';
import type { VectorSource } from '../../index/vectors/code-store.ts';
import { setBit, getBit } from '../../../arrow/bitmap.ts';

/** A search that may use an index. */
interface IndexedSearch {
  readonly plan: QueryPlan;
  readonly nearest: NearestPlan;
  readonly scanner: Scanner;
  readonly meters: Meters;
}

/** Files whose vectors remain to be compared. */
interface ChosenFiles {
  readonly files: readonly ScanFile[];
  /** Whether covered files have rows that are not among the chosen. */
  readonly some: boolean;
}

/** Up to this number of filtered rows, all vectors are compared. */
const FEW_ROWS = 256;
/** Growth of the number of candidates when codes cannot separate the nearest. */
const MORE = 8;
const MOST_CHOSEN = 4096;

/**
 * Chooses rows whose vectors are compared: candidates of the index and all uncovered rows. Null if
 * the index is of no use.
 */
export async function chosenFiles(
  search: IndexedSearch,
  use: IndexUse,
): Promise<ChosenFiles | null> {
  const { plan, nearest, scanner, meters } = search;
  const { vectors } = scanner;
  if (vectors === undefined) return null;
  const tail = use.fast ? [] : plan.files.filter(({ fragment }) => !isCovered(fragment, use.index));
  const own = plan.files.filter(({ fragment }) => isCovered(fragment, use.index));
  const passing = plan.requestedFilter === null ? null : await rowsThatPass(search, own);
  const count = passing === null ? Infinity : total([...passing.values()]);
  const few = Math.max(FEW_ROWS, 2 * use.least);
  if (passing !== null && count <= few) {
    const chosen = [...passing].map(([scanned, rows]) => ({ ...scanned, chosen: rows }));
    return { files: inOrder([...chosen, ...tail]), some: false };
  }
  const once = passing === null ? own : [...passing.keys()];
  const { covered, left, found } = await searched(search, use, vectors, once, passing);
  const chosen = rowsByFile(covered, found.rows);
  const rowsOut = total(chosen.map(({ chosen: rows = new Uint32Array() }) => rows));
  meters.passed('index', { rowsIn: found.compared, rowsOut, batches: covered.length });
  const rest = left.map((scanned) => asPassing(scanned, passing));
  return {
    files: inOrder([...chosen, ...rest, ...tail]),
    some: found.some || nearest.bounds.lower !== null,
  };
}

function inOrder(files: readonly ScanFile[]): readonly ScanFile[] {
  return files.toSorted((one, other) => one.offset - other.offset);
}

function total(lists: readonly Uint32Array[]): number {
  return lists.reduce((sum, { length }) => sum + length, 0);
}

function asPassing(scanned: ScanFile, passing: Passing | null): ScanFile {
  const rows = passing?.get(scanned);
  return rows === undefined ? scanned : { ...scanned, chosen: rows };
}

/** Filtered rows of whole files, ascending. */
type Passing = ReadonlyMap<ScanFile, Uint32Array>;

/** Merges rows of files that were scanned in several pieces. */
async function rowsThatPass(
  { plan, scanner, meters }: IndexedSearch,
  files: readonly ScanFile[],
): Promise<Passing> {
  const wholes = new Map<Fragment, { readonly file: ScanFile; readonly lists: Uint32Array[] }>();
  for (const { fragment, offset } of files) {
    wholes.set(fragment, { file: { fragment, offset, certain: true }, lists: [] });
  }
  const part = { ...plan, files };
  for await (const { found, rows } of selectedRows(part, scanner, plan.filterNeed, meters)) {
    const { fragment, start, live } = found.place;
    const row = rowAt(rows);
    const list = new Uint32Array(countOf(rows));
    for (let at = 0; at < list.length; at++) {
      const place = row(at);
      list[at] = start + (live === null ? place : live[place]!);
    }
    wholes.get(fragment)?.lists.push(list);
    found.release?.();
  }
  return new Map([...wholes.values()].map(({ file, lists }) => [file, joined(lists)]));
}

function joined(parts: readonly Uint32Array[]): Uint32Array {
  const all = new Uint32Array(total(parts));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}

interface Searched extends Coverage {
  readonly found: FoundByCodes;
}

/** Searches the files with usable codes; without those whose damage is found meanwhile. */
async function searched(
  search: IndexedSearch,
  use: IndexUse,
  vectors: VectorSource,
  files: readonly ScanFile[],
  passing: Passing | null,
): Promise<Searched> {
  const damaged = new Set<Fragment>();
  for (;;) {
    const coverage = await coveredFiles(search, use, vectors, files, passing, damaged);
    try {
      return { ...coverage, found: await searchAll(search, use, vectors, coverage.covered) };
    } catch (error) {
      if (!(error instanceof LostCodes)) throw error;
      damaged.add(error.fragment);
    }
  }
}

interface Coverage {
  readonly covered: readonly CoveredFile[];
  /** Files without usable codes. */
  readonly left: readonly ScanFile[];
}

async function coveredFiles(
  { plan, nearest }: IndexedSearch,
  { index }: IndexUse,
  vectors: VectorSource,
  files: readonly ScanFile[],
  passing: Passing | null,
  damaged: ReadonlySet<Fragment>,
): Promise<Coverage> {
  const covered: CoveredFile[] = [];
  const left: ScanFile[] = [];
  let first = 0;
  for (const scanned of files) {
    const { fragment } = scanned;
    const file = indexFileOf(fragment, index);
    const isRead = file !== undefined && !damaged.has(fragment);
    const codes = isRead ? await vectors.codes(plan.snapshot.folder, file) : null;
    if (file === undefined || codes === null || codes.directory.odd > 0) {
      left.push(scanned);
      continue;
    }
    const queries = nearest.vectors.map((vector) => encodeQuery(vector, codes.directory));
    const rows = passing?.get(scanned);
    const may =
      rows === undefined
        ? notIn(await vectors.deletions(plan.snapshot, fragment))
        : isIn(rows, fragment.physicalRows);
    covered.push({ scanned, file, codes, first, queries, may });
    first += fragment.physicalRows;
  }
  return { covered, left };
}

function notIn(deleted: Uint32Array): ((row: number) => boolean) | null {
  return deleted.length === 0 ? null : (row) => deleted[placeIn(deleted, row)] !== row;
}

function isIn(rows: Uint32Array, of: number): ((row: number) => boolean) | null {
  if (rows.length === of) return null;
  const bits = new Uint8Array(Math.ceil(of / 8));
  for (const row of rows) setBit(bits, row);
  return (row) => getBit(bits, row);
}

interface FoundByCodes {
  readonly rows: readonly Float64Array[];
  /** Number of codes that were compared. */
  readonly compared: number;
  readonly some: boolean;
}

/** Candidates of each query, numbered over all covered files. */
async function searchAll(
  search: IndexedSearch,
  use: IndexUse,
  vectors: VectorSource,
  covered: readonly CoveredFile[],
): Promise<FoundByCodes> {
  const rows: Float64Array[] = [];
  let [some, compared] = [false, 0];
  for (const at of search.nearest.vectors.keys()) {
    const { keep, bounds } = search.nearest;
    // Rows just below the bound may be above it by their vectors.
    const margin = bounds.lower === null ? 0 : greatestError(covered, at);
    const lower = bounds.lower === null ? null : bounds.lower - margin;
    for (let capacity = use.least + Math.max(3, use.least >> 3); ; capacity *= MORE) {
      const heap = new NearestRows(capacity, { lower, upper: null });
      const visited = await searchFiles({ ...search, use, vectors, covered, at, nearest: heap });
      const { error } = visited;
      const full = heap.size === capacity;
      const found = heap.found();
      const near = nearOf(found, keep ?? 0, use.least, error);
      if (full && near === capacity && error > 0 && capacity < MOST_CHOSEN) continue;
      rows.push(found.positions.subarray(0, near));
      compared += visited.rows;
      some ||= full;
      break;
    }
  }
  return { rows, compared, some };
}

/** Number of found rows that may be among the nearest, given the error of estimates. */
function nearOf({ distances }: RowsByDistance, keep: number, least: number, error: number): number {
  const limit = (distances[keep - 1] ?? Infinity) + error;
  let count = Math.min(least, distances.length);
  while (count < distances.length && distances[count]! <= limit) count++;
  return count;
}

/** Found rows by file, ascending and without repetition. */
function rowsByFile(
  covered: readonly CoveredFile[],
  found: readonly Float64Array[],
): readonly ScanFile[] {
  const all = joinedPositions(found);
  let at = 0;
  return covered.flatMap(({ scanned, first }) => {
    const { fragment, offset } = scanned;
    const end = placeIn(all, first + fragment.physicalRows);
    const chosen = Uint32Array.from(all.subarray(at, end), (position) => position - first);
    at = end;
    return chosen.length === 0 ? [] : [{ fragment, offset, certain: true, chosen }];
  });
}

function joinedPositions(found: readonly Float64Array[]): Float64Array {
  const all = new Float64Array(found.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const positions of found) {
    all.set(positions, at);
    at += positions.length;
  }
  all.sort();
  return all.filter((position, place) => place === 0 || position !== all[place - 1]);
}
