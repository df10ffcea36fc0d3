import { Float32, Int32, makeData, makeVector, type Field, type RecordBatch } from 'apache-arrow';
import { withColumn, concat } from '../../../arrow/select.ts';
import { QUERY_INDEX, needOf } from '../../request/computed-columns.ts';
import { rowsWhere } from '../../request/formula.ts';
import type { Formula } from '../../base/statement.ts';
import { gather, rowsAtOnce, type BatchPlaces } from '../scan/gather.ts';
import type { Meters } from '../scan/meters.ts';
import type { QueryPlan } from '../plan/plan.ts';
import { countOf, listed, stretch, pick, rowAt, type Rows } from '../scan/rows.ts';
import type { Scanner } from '../scan/scan.ts';
import type { RowsByDistance } from '../../index/vectors/nearest-rows.ts';
import { keysOf, orderOf } from './sort-keys.ts';
import type { SortPlan } from '../plan/sort-plan.ts';

export interface RunningSearch {
  readonly plan: QueryPlan;
  /** Filters the found rows. */
  readonly postfilter: Formula | null;
  /** Column of the distance or score. */
  readonly column: Field;
  readonly scanner: Scanner;
  readonly places: BatchPlaces;
  readonly meters: Meters;
}

/** Rows that pass the postfilter. */
export function rowsBehind({ postfilter, meters }: RunningSearch, batch: RecordBatch): Rows {
  const { numRows } = batch;
  if (postfilter === null) return stretch(0, numRows);
  const rows = meters.timed('filter behind', () => listed(rowsWhere(postfilter, batch), numRows));
  meters.passed('filter behind', { rowsIn: numRows, rowsOut: countOf(rows), batches: 1 });
  return rows;
}

/** Adds the search columns to found rows. */
export function withSearchColumns(
  { column }: RunningSearch,
  batch: RecordBatch,
  found: Float32Array,
  index: number | null,
): RecordBatch {
  const values = makeVector(makeData({ type: new Float32(), data: found }));
  const wider = withColumn(batch, column, values);
  if (index === null) return wider;
  const indices = new Int32Array(batch.numRows).fill(index);
  return withColumn(wider, QUERY_INDEX, makeVector(makeData({ type: new Int32(), data: indices })));
}

/**
 * Yields found rows in the order of keys instead of distances; equal keys by distance. The window
 * applies to this order.
 */
export async function* fetchInOrder(
  search: RunningSearch,
  sort: SortPlan,
  found: RowsByDistance,
  queryIndex: number | null,
): AsyncGenerator<RecordBatch> {
  const { plan, scanner, places, meters } = search;
  const sorted = await inOrder(search, sort, found, queryIndex);
  const { offset, limit } = plan.window;
  const end = Math.min(sorted.length, offset + (limit ?? Infinity));
  const rowsOut = Math.max(0, end - offset);
  meters.passed('window', { rowsIn: sorted.length, rowsOut, batches: 1 });
  const step = rowsAtOnce(plan.snapshot);
  for (let start = offset; start < end; start += step) {
    const some = sorted.subarray(start, Math.min(start + step, end));
    const positions = Float64Array.from(some, (at) => found.positions[at]!);
    const distances = Float32Array.from(some, (at) => found.distances[at]!);
    const rows = await gather(scanner, places, positions, plan.need);
    yield withSearchColumns(search, rows, distances, queryIndex);
  }
}

/** Found rows that pass the postfilter, sorted by keys. */
async function inOrder(
  search: RunningSearch,
  sort: SortPlan,
  { positions, distances }: RowsByDistance,
  queryIndex: number | null,
): Promise<Uint32Array> {
  const { plan, postfilter, scanner, places, meters } = search;
  const judged = postfilter?.columns ?? [];
  const need = needOf(plan.snapshot.schema, [...sort.columns, ...judged]);
  const step = rowsAtOnce(plan.snapshot);
  const keys: RecordBatch[] = [];
  const retained: number[] = [];
  for (let start = 0; start < positions.length; start += step) {
    const some = positions.subarray(start, start + step);
    const rows = await gather(scanner, places, some, need);
    const batch = withSearchColumns(
      search,
      rows,
      distances.subarray(start, start + step),
      queryIndex,
    );
    const passing = rowsBehind(search, batch);
    const row = rowAt(passing);
    for (let at = 0; at < countOf(passing); at++) retained.push(start + row(at));
    keys.push(meters.timed('sort', () => keysOf(sort, pick(batch, passing))));
  }
  if (keys.length === 0) return new Uint32Array();
  const order = meters.timed('sort', () => orderOf(sort, concat(keys)));
  const { length } = retained;
  meters.passed('sort', { rowsIn: length, rowsOut: length, batches: keys.length });
  return order.map((at) => retained[at]!);
}
