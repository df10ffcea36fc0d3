import { DataType, Field, Schema, type RecordBatch, type Vector } from 'apache-arrow';
import { batchOf, concat } from '../../../arrow/select.ts';
import { hintCollection } from '../../format/memory/memory-budget.ts';
import { columnAt } from '../../request/column-path.ts';
import { gather, Places, rowsAtOnce } from '../scan/gather.ts';
import { KeptPositions } from '../scan/radix-order.ts';
import type { Meters } from '../scan/meters.ts';
import { comparisonOf, type Comparison } from '../plan/order-of-values.ts';
import { wordSource } from '../plan/order-words.ts';
import type { QueryPlan } from '../plan/plan.ts';
import { rowOrder, type OrderKey } from '../plan/row-order.ts';
import { countOf, pick, stretch } from '../scan/rows.ts';
import type { Scanner } from '../scan/scan.ts';
import { readingOrder, selectedRows } from './selected-rows.ts';
import type { SortKey, SortPlan } from '../plan/sort-plan.ts';

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

/** Sorted rows: their places, and their order among the kept ones. */
interface Sorted {
  readonly places: Places;
  readonly positions: KeptPositions;
  readonly order: Uint32Array;
}

/**
 * Yields rows of a query in the order of its keys. Only keys are held in memory; rows are read in
 * that order.
 */
export async function* sortRows(
  plan: QueryPlan,
  sort: SortPlan,
  scanner: Scanner,
  meters: Meters,
): AsyncGenerator<RecordBatch> {
  const { places, positions, order } = await sorted(plan, sort, scanner, meters);
  const { offset, limit } = plan.window;
  const { length } = order;
  if (length === 0) return;
  const end = Math.min(length, offset + (limit ?? Infinity));
  meters.passed('window', { rowsIn: length, rowsOut: Math.max(0, end - offset), batches: 1 });
  const step = rowsAtOnce(plan.snapshot, MOST_ROWS);
  for (let start = offset; start < end; start += step) {
    const some = positions.of(order.subarray(start, Math.min(start + step, end)));
    yield* inPieces(await gather(scanner, places, some, plan.need));
  }
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
  const places = new Places();
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
  const batches = keys.length;
  if (batches === 0) return { places, positions, order: new Uint32Array() };
  const order = meters.timed('sort', () =>
    orderOf(sort, joined(keys), (bytes) => budget.work(bytes)),
  );
  hintCollection(order.length * DROPPED_BYTES);
  meters.passed('sort', { rowsIn: order.length, rowsOut: order.length, batches });
  return { places, positions, order };
}

/** Joins batches and empties the list, so that keys are not held twice. */
function joined(batches: RecordBatch[]): RecordBatch {
  const all = concat(batches);
  batches.length = 0;
  hintCollection(all.numRows * DROPPED_BYTES);
  return all;
}

/** Keys of rows that have the columns of the keys. */
export function keysOf({ keys }: SortPlan, batch: RecordBatch): RecordBatch {
  const columns = keys.map(({ path }) => columnAt(batch, path));
  const fields = columns.map((column, index) => new Field(`key${index}`, column.type, true));
  return batchOf(new Schema(fields), columns, batch.numRows);
}

/** Sorts rows by keys. The sort is stable. */
export function orderOf(
  sort: SortPlan,
  keys: RecordBatch,
  work?: (bytes: number) => void,
): Uint32Array {
  return rowOrder(
    sort.keys.map((key, index) => orderKey(key, keys, index)),
    keys.numRows,
    work,
  );
}

function orderKey(key: SortKey, batch: RecordBatch, index: number): OrderKey {
  const column = batch.getChildAt(index);
  if (column === null) throw new Error(`the batch has no column ${index} to sort by`);
  const isValid = validity(column);
  const { ascending, nullsFirst } = key;
  const compare = comparisonOfKey(key, column, isValid);
  return { ascending, nullsFirst, isValid, words: wordSource(column), compare };
}

function comparisonOfKey(key: SortKey, column: Vector, isValid: Validity): Comparison {
  const compare = lazily(() => comparisonOf(column));
  const sign = key.ascending ? 1 : -1;
  const nulls = key.nullsFirst ? -1 : 1;
  if (isValid === null) return (left, right) => sign * compare(left, right);
  return (left, right) => {
    const [one, other] = [isValid(left), isValid(right)];
    if (one && other) return sign * compare(left, right);
    if (one === other) return 0;
    return one ? -nulls : nulls;
  };
}

/** Many sorts need no comparison, so it is prepared on first use. */
function lazily(make: () => Comparison): Comparison {
  let made: Comparison | undefined;
  return (left, right) => (made ??= make())(left, right);
}

type Validity = ((row: number) => boolean) | null;

/** Tests whether a row has a value; null if all have. Entries of a dictionary may be null. */
function validity(column: Vector): Validity {
  if (DataType.isDictionary(column.type)) return (row) => column.get(row) !== null;
  return column.nullCount === 0 ? null : (row) => column.isValid(row);
}
