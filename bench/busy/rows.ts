import type * as Arrow from 'apache-arrow';
import { arrow, randomNumbers } from '../data/rows.ts';

const BATCH_ROWS = 50_000;
const NAME_BYTES = 12;

/** Rows of (id int64, value float64, name utf8) in no order of their values. */
export function sortableRows(count: number): Arrow.Table {
  const next = randomNumbers(count);
  const batches: Arrow.RecordBatch[] = [];
  for (let start = 0; start < count; start += BATCH_ROWS) {
    batches.push(...batchFrom(start, Math.min(BATCH_ROWS, count - start), next).batches);
  }
  return new arrow.Table(batches);
}

function batchFrom(firstId: number, rows: number, next: () => number): Arrow.Table {
  const { makeData, makeVector } = arrow;
  const ids = BigInt64Array.from({ length: rows }, (_, row) => BigInt(firstId + row));
  const data = Buffer.alloc(rows * NAME_BYTES);
  for (let row = 0; row < rows; row++) {
    data.write(`row ${firstId + row}`.padEnd(NAME_BYTES), row * NAME_BYTES, 'latin1');
  }
  const valueOffsets = Int32Array.from({ length: rows + 1 }, (_, row) => row * NAME_BYTES);
  return new arrow.Table({
    id: makeVector(ids),
    value: makeVector(Float64Array.from({ length: rows }, next)),
    name: makeVector(makeData({ type: new arrow.Utf8(), length: rows, data, valueOffsets })),
  });
}
