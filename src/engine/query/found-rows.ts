import { Float32, Int32, makeData, makeVector, type RecordBatch } from 'apache-arrow';
import { withColumn } from '../../arrow/select.ts';
import { DISTANCE, QUERY_INDEX } from './computed-columns.ts';
import { rowsWhere } from './formula.ts';
import type { Places } from './gather.ts';
import type { Meters } from './meters.ts';
import type { NearestPlan, QueryPlan } from './plan.ts';
import { countOf, listed, stretch, type Rows } from './rows.ts';
import type { Scanner } from './scan.ts';

/** A search that runs. */
export interface Search {
  readonly plan: QueryPlan;
  readonly nearest: NearestPlan;
  readonly scanner: Scanner;
  /** Where the batches lie that rows were found in. */
  readonly places: Places;
  readonly meters: Meters;
}

/** Those of some rows that pass the filter behind the search. */
export function rowsBehind({ nearest, meters }: Search, batch: RecordBatch): Rows {
  const { postfilter } = nearest;
  const { numRows } = batch;
  if (postfilter === null) return stretch(0, numRows);
  const rows = meters.timed('filter behind', () => listed(rowsWhere(postfilter, batch), numRows));
  meters.passed('filter behind', { rowsIn: numRows, rowsOut: countOf(rows), batches: 1 });
  return rows;
}

/** Rows that were found with the columns that the search gives them. */
export function withSearchColumns(
  batch: RecordBatch,
  found: Float32Array,
  index: number | null,
): RecordBatch {
  const distance = makeVector(makeData({ type: new Float32(), data: found }));
  const wider = withColumn(batch, DISTANCE, distance);
  if (index === null) return wider;
  const indices = new Int32Array(batch.numRows).fill(index);
  return withColumn(wider, QUERY_INDEX, makeVector(makeData({ type: new Int32(), data: indices })));
}
