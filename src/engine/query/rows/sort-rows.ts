import type { RecordBatch } from 'apache-arrow';
import { concat } from '../../../arrow/select.ts';
import { hintCollection } from '../../format/memory/memory-budget.ts';
import { gather, BatchPlaces, rowsAtOnce } from '../scan/gather.ts';
import { KeptPositions } from '../scan/radix-order.ts';
import type { Meters } from '../scan/meters.ts';
import type { QueryPlan } from '../plan/plan.ts';
import { countOf, pick, stretch } from '../scan/rows.ts';
import type { Scanner } from '../scan/scan.ts';
import { readingOrder, selectedRows } from './selected-rows.ts';
import type { SortPlan } from '../plan/sort-plan.ts';
import { BestRows, keepsBest } from './best-rows.ts';
import { keysOf, orderOf } from './sort-keys.ts';
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
 * rows if the window has a small end; rows are read in that order.
 */
export async function* sortRows(
  plan: QueryPlan,
  sort: SortPlan,
  scanner: Scanner,
  meters: Meters,
): AsyncGenerator<RecordBatch> {
  const { offset, limit } = plan.window;
  const rows = await (keepsBest(plan, sort) ? best : sorted)(plan, sort, scanner, meters);
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

/** Keys are released here: reading the rows needs the memory. */
async function sorted(
  plan: QueryPlan,
  sort: SortPlan,
  scanner: Scanner,
  meters: Meters,
): Promise<Sorted> {
  const { budget } = plan.statement;
  const places = new BatchPlaces();
  const positions = new KeptPositions();
  const keys: RecordBatch[] = [];
  const { first, late } = readingOrder(plan, sort.need);
  for await (const { found, rows } of selectedRows(plan, scanner, first, meters)) {
    // Charges the order and the words of each row before they are allocated.
    budget.charge(countOf(rows) * ROW_BYTES);
    places.add(found.place);
    const key = keysOf(sort, await scanner.complete(found, late, rows));
    // Keys are held as read and joined.
    budget.charge(2 * key.data.byteLength);
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

/** Joins batches and empties the list, so that keys are not held twice. */
function joined(batches: RecordBatch[]): RecordBatch {
  const all = concat(batches);
  batches.length = 0;
  hintCollection(all.numRows * DROPPED_BYTES);
  return all;
}
