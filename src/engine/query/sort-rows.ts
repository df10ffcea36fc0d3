import { DataType, Field, Schema, type RecordBatch, type Vector } from 'apache-arrow';
import { batchOf, concat } from '../../arrow/select.ts';
import { columnAt } from './column-path.ts';
import { gather, Places, rowsAtOnce } from './gather.ts';
import type { Meters } from './meters.ts';
import { comparisonOf, type Comparison } from './order-of-values.ts';
import { wordSource } from './order-words.ts';
import type { QueryPlan } from './plan.ts';
import { rowOrder, type OrderKey } from './row-order.ts';
import { countOf, pick, rowAt, stretch } from './rows.ts';
import type { Scanner } from './scan.ts';
import { readingOrder, selectedRows } from './selected-rows.ts';
import type { SortKey, SortPlan } from './sort-plan.ts';

/**
 * So many rows are fetched at once at most: for rows in no order each portion
 * reads all batches, so few portions read less.
 */
const MOST_ROWS = 2 ** 20;
const PIECE_ROWS = 2 ** 16;

/** Keys of all rows, and where the rows lie. */
interface Keyed {
  readonly places: Places;
  readonly keys: readonly RecordBatch[];
  readonly positions: readonly Float64Array[];
}

/** The rows of a query in the order of its keys. Only the keys are held in memory; the rows are read in order. */
export async function* sortRows(
  plan: QueryPlan,
  sort: SortPlan,
  scanner: Scanner,
  meters: Meters,
): AsyncGenerator<RecordBatch> {
  const keyed = await collect(plan, sort, scanner, meters);
  if (keyed.keys.length === 0) return;
  const sorted = meters.timed('sort', () => inOrder(sort, keyed));
  const { offset, limit } = plan.window;
  const { length } = sorted;
  const end = Math.min(length, offset + (limit ?? Infinity));
  meters.passed('sort', { rowsIn: length, rowsOut: length, batches: keyed.keys.length });
  meters.passed('window', { rowsIn: length, rowsOut: Math.max(0, end - offset), batches: 1 });
  const step = rowsAtOnce(plan.snapshot, MOST_ROWS);
  for (let start = offset; start < end; start += step) {
    const positions = sorted.subarray(start, Math.min(start + step, end));
    yield* inPieces(await gather(scanner, keyed.places, positions, plan.need));
  }
}

/** Rows that are fetched together are answered in smaller batches. */
function* inPieces(batch: RecordBatch): Generator<RecordBatch> {
  for (let start = 0; start < batch.numRows; start += PIECE_ROWS) {
    yield pick(batch, stretch(start, Math.min(PIECE_ROWS, batch.numRows - start)));
  }
}

async function collect(
  plan: QueryPlan,
  sort: SortPlan,
  scanner: Scanner,
  meters: Meters,
): Promise<Keyed> {
  const places = new Places();
  const keys: RecordBatch[] = [];
  const positions: Float64Array[] = [];
  const { first, late } = readingOrder(plan, sort.need);
  for await (const { found, rows } of selectedRows(plan, scanner, first, meters)) {
    places.add(found.place);
    keys.push(keysOf(sort, await scanner.complete(found, late, rows)));
    const row = rowAt(rows);
    const length = countOf(rows);
    positions.push(Float64Array.from({ length }, (_, at) => found.place.offset + row(at)));
  }
  return { places, keys, positions };
}

/** The keys of some rows, which have the columns that the keys read. */
export function keysOf({ keys }: SortPlan, batch: RecordBatch): RecordBatch {
  const columns = keys.map(({ path }) => columnAt(batch, path));
  const fields = columns.map((column, index) => new Field(`key${index}`, column.type, true));
  return batchOf(new Schema(fields), columns, batch.numRows);
}

/** The positions of the rows, sorted. */
function inOrder(sort: SortPlan, { keys, positions }: Keyed): Float64Array {
  const order = orderOf(sort, keys);
  const places = joined(positions, order.length);
  return Float64Array.from(order, (row) => places[row]!);
}

/** The places of rows among their keys, sorted. The sort is stable, so equals keep their order. */
export function orderOf(sort: SortPlan, keys: readonly RecordBatch[]): Uint32Array {
  if (keys.length === 0) return new Uint32Array();
  const all = concat(keys);
  return rowOrder(
    sort.keys.map((key, index) => orderKey(key, all, index)),
    all.numRows,
  );
}

function orderKey(key: SortKey, batch: RecordBatch, index: number): OrderKey {
  const column = batch.getChildAt(index)!;
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

/** Many sorts get along without comparing: what that needs is made when it is needed first. */
function lazily(make: () => Comparison): Comparison {
  let made: Comparison | undefined;
  return (left, right) => (made ??= make())(left, right);
}

type Validity = ((row: number) => boolean) | null;

/** Which rows have a value; null when all have one. An entry of a dictionary may be null too. */
function validity(column: Vector): Validity {
  if (DataType.isDictionary(column.type)) return (row) => column.get(row) !== null;
  return column.nullCount === 0 ? null : (row) => column.isValid(row);
}

/** Numbers one piece behind the other. */
export function joined(pieces: readonly Float64Array[], length: number): Float64Array {
  const whole = new Float64Array(length);
  let at = 0;
  for (const piece of pieces) {
    whole.set(piece, at);
    at += piece.length;
  }
  return whole;
}
