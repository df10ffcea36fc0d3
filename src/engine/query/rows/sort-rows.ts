import type { RecordBatch } from 'apache-arrow';
import { concat, projectColumns } from '../../../arrow/select.ts';
import { needBeyond, type ColumnNeed } from '../../request/computed-columns.ts';
import { hintCollection } from '../../format/memory/memory-budget.ts';
import { gather, BatchPlaces, rowsAtOnce } from '../scan/gather.ts';
import { KeptPositions } from '../scan/radix-order.ts';
import type { Meters } from '../scan/meters.ts';
import type { QueryPlan } from '../plan/plan.ts';
import { countOf, pick, stretch, WindowCutter } from '../scan/rows.ts';
import type { Scanner } from '../scan/scan.ts';
import { readingOrder, selectedRows } from './selected-rows.ts';
import type { SortPlan } from '../plan/sort-plan.ts';
import { BestRows, keepsBest } from './best-rows.ts';
import { keysOf, orderOf } from './sort-keys.ts';
import { MEMORY_SHARE, SortedRuns } from './sorted-runs.ts';
import { filesByBest } from './best-files.ts';

/**
 * Greatest number of rows fetched at once: each portion of unordered rows reads all batches, so
 * large portions read less.
 */
const MOST_ROWS = 2 ** 20;
const PIECE_ROWS = 2 ** 16;
/**
 * Approximate memory per row that a sort drops after joining and after sorting its keys, in bytes.
 */
const DROPPED_BYTES = 24;

/** Memory per row of a sort beside its keys in bytes: position, order and two words. */
const ROW_BYTES = 24;

interface Sorted {
  readonly places: BatchPlaces;
  readonly length: number;
  /** Positions of some of the rows, in their order. */
  positions(start: number, end: number): Float64Array;
}

/**
 * Yields rows of a query in the order of its keys. Only keys are held in memory, those of the best
 * rows if the window has a small end; rows are read in that order. If the keys do not fit into the memory
 * of the request, whole rows are sorted in a file.
 */
export async function* sortRows(
  plan: QueryPlan,
  sort: SortPlan,
  scanner: Scanner,
  meters: Meters,
): AsyncGenerator<RecordBatch> {
  const { offset, limit } = plan.window;
  const rows = await (keepsBest(plan, sort) ? best : sorted)(plan, sort, scanner, meters);
  if (rows === undefined) {
    yield* inWindow(plan, spilled(plan, sort, scanner, meters), meters);
    return;
  }
  const { places, length } = rows;
  if (length === 0) return;
  const end = Math.min(length, offset + (limit ?? Infinity));
  meters.passed('window', { rowsIn: length, rowsOut: Math.max(0, end - offset), batches: 1 });
  const step = rowsAtOnce(plan.snapshot, MOST_ROWS);
  for (let start = offset; start < end; start += step) {
    const some = rows.positions(start, Math.min(start + step, end));
    yield* inPieces(await gather(scanner, places, some, plan.need));
  }
}

/** Files that cannot hold one of the best rows are left out. */
async function best(
  plan: QueryPlan,
  sort: SortPlan,
  scanner: Scanner,
  meters: Meters,
): Promise<Sorted> {
  const { offset, limit } = plan.window;
  const best = new BestRows(sort, offset + (limit ?? 0), plan.statement.budget);
  const { first, late } = readingOrder(plan, sort.need);
  const files = filesByBest(plan, sort, () => best.worst);
  for await (const { found, rows } of selectedRows(plan, scanner, first, meters, files)) {
    const keys = keysOf(sort, await scanner.complete(found, late, rows));
    meters.timed('sort', () => best.add(found.place, rows, keys));
    meters.passed('sort', { rowsIn: countOf(rows), batches: 1 });
    // Kept keys are copies. Rows of a list were copied before.
    if (rows.kind === 'stretch') found.release?.();
  }
  const { places, positions } = meters.timed('sort', () => best.sorted());
  meters.passed('sort', { rowsOut: positions.length });
  return {
    places,
    length: positions.length,
    positions: (start, end) => positions.subarray(start, end),
  };
}

/** Splits fetched rows into smaller batches. */
function* inPieces(batch: RecordBatch): Generator<RecordBatch> {
  for (let start = 0; start < batch.numRows; start += PIECE_ROWS) {
    yield pick(batch, stretch(start, Math.min(PIECE_ROWS, batch.numRows - start)));
  }
}

/**
 * Sorts keys in memory; undefined if they do not fit. Keys are released here: reading the rows needs the
 * memory.
 */
async function sorted(
  plan: QueryPlan,
  sort: SortPlan,
  scanner: Scanner,
  meters: Meters,
): Promise<Sorted | undefined> {
  const { budget } = plan.statement;
  const places = new BatchPlaces();
  const positions = new KeptPositions();
  const keys: RecordBatch[] = [];
  let cost = 0;
  let read = 0;
  // A filter needs memory too.
  const room = (plan.filter === null ? 1 : MEMORY_SHARE) * (budget.limits.memory - budget.held);
  const { first, late } = readingOrder(plan, sort.need);
  for await (const { found, rows } of selectedRows(plan, scanner, first, meters)) {
    places.add(found.place);
    const key = keysOf(sort, await scanner.complete(found, late, rows));
    read += countOf(rows);
    // The order and the words of each row; keys are held as read and joined.
    const bytes = countOf(rows) * ROW_BYTES + 2 * key.data.byteLength;
    const all = plan.filter === null ? ((cost + bytes) * rowsOf(plan)) / read : cost + bytes;
    if (maySpill(plan) && all > room) {
      budget.release(cost);
      return undefined;
    }
    budget.charge(bytes);
    cost += bytes;
    keys.push(key);
    positions.add(found.place.offset, rows);
  }
  const sortedBy = (order: Uint32Array): Sorted => ({
    places,
    length: order.length,
    positions: (start, end) => positions.of(order.subarray(start, end)),
  });
  const batches = keys.length;
  if (batches === 0) return sortedBy(new Uint32Array());
  const order = meters.timed('sort', () =>
    orderOf(sort, joined(keys), (bytes) => budget.work(bytes)),
  );
  hintCollection(order.length * DROPPED_BYTES);
  meters.passed('sort', { rowsIn: order.length, rowsOut: order.length, batches });
  return sortedBy(order);
}

/** Rows of the files of a plan, including those that indices leave out. */
function rowsOf({ files }: QueryPlan): number {
  return files.reduce((sum, file) => sum + (file.rows ?? file.fragment.physicalRows), 0);
}

/** Whether the table has a folder for files: a virtual one has none. */
function maySpill({ snapshot }: QueryPlan): boolean {
  return snapshot.fragments.some(({ files }) => files.length > 0);
}

/** Sorts whole rows in a file. */
async function* spilled(
  plan: QueryPlan,
  sort: SortPlan,
  scanner: Scanner,
  meters: Meters,
): AsyncGenerator<RecordBatch> {
  const { snapshot, statement, need } = plan;
  const beyond = needBeyond(sort.need, need);
  const both = {
    stored: [...need.stored, ...beyond.stored],
    placed: [...need.placed, ...beyond.placed],
  };
  const names = namesOf(both);
  const runs = new SortedRuns({ sort, table: snapshot, budget: statement.budget, meters });
  try {
    const { first, late } = readingOrder(plan, both);
    for await (const { found, rows } of selectedRows(plan, scanner, first, meters)) {
      const batch = await scanner.complete(found, late, rows);
      await runs.add(projectColumns(batch, names));
      meters.passed('sort', { rowsIn: countOf(rows), rowsOut: countOf(rows), batches: 1 });
    }
    for await (const batch of runs.merged()) yield projectColumns(batch, namesOf(need));
  } finally {
    await runs.close();
  }
}

function namesOf({ stored, placed }: ColumnNeed): readonly string[] {
  return [...stored, ...placed.map(({ name }) => name)];
}

/** Cuts the window of a query out of sorted rows. */
async function* inWindow(
  { window }: QueryPlan,
  batches: AsyncGenerator<RecordBatch>,
  meters: Meters,
): AsyncGenerator<RecordBatch> {
  const cutter = new WindowCutter(window);
  for await (const batch of batches) {
    const rows = cutter.cut(stretch(0, batch.numRows));
    meters.passed('window', { rowsIn: batch.numRows, rowsOut: countOf(rows), batches: 1 });
    if (countOf(rows) > 0) yield* inPieces(pick(batch, rows));
    if (cutter.done) return;
  }
}

/** Joins batches and empties the list, so that keys are not held twice. */
function joined(batches: RecordBatch[]): RecordBatch {
  const all = concat(batches);
  batches.length = 0;
  hintCollection(all.numRows * DROPPED_BYTES);
  return all;
}
