import { Float32, Int32, makeData, makeVector, type Field, type RecordBatch } from 'apache-arrow';
import { withColumn } from '../../arrow/select.ts';
import { QUERY_INDEX } from './computed-columns.ts';
import { rowsWhere, type Formula } from './formula.ts';
import type { Places } from './gather.ts';
import type { Meters } from './meters.ts';
import type { QueryPlan } from './plan.ts';
import { countOf, listed, stretch, type Rows } from './rows.ts';
import type { Scanner } from './scan.ts';

/** A search that runs. */
export interface Search {
  readonly plan: QueryPlan;
  /** Judges the rows that were found. */
  readonly postfilter: Formula | null;
  /** The column that tells how well a row was found. */
  readonly column: Field;
  readonly scanner: Scanner;
  /** Where the batches lie that rows were found in. */
  readonly places: Places;
  readonly meters: Meters;
}

/** Those of some rows that pass the filter behind the search. */
export function rowsBehind({ postfilter, meters }: Search, batch: RecordBatch): Rows {
  const { numRows } = batch;
  if (postfilter === null) return stretch(0, numRows);
  const rows = meters.timed('filter behind', () => listed(rowsWhere(postfilter, batch), numRows));
  meters.passed('filter behind', { rowsIn: numRows, rowsOut: countOf(rows), batches: 1 });
  return rows;
}

/** Rows that were found with the columns that the search gives them. */
export function withSearchColumns(
  { column }: Search,
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
