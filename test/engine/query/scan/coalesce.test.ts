import { Field, Int32, Schema, makeVector, type RecordBatch } from 'apache-arrow';
import { describe, expect, it } from 'vitest';
import { batchOf } from '../../../../src/arrow/select.ts';
import { coalesce } from '../../../../src/engine/query/scan/rows.ts';

const schema = new Schema([new Field('n', new Int32(), false)]);

function batch(first: number, rows: number): RecordBatch {
  const values = Int32Array.from({ length: rows }, (_, at) => first + at);
  return batchOf(schema, [makeVector(values)], rows);
}

async function* each(batches: readonly RecordBatch[]): AsyncGenerator<RecordBatch> {
  yield* batches;
}

async function merged(batches: readonly RecordBatch[]): Promise<RecordBatch[]> {
  const found: RecordBatch[] = [];
  for await (const one of coalesce(each(batches))) found.push(one);
  return found;
}

describe('small batches', () => {
  it('are merged until they are worth sending, in their order', async () => {
    const small = Array.from({ length: 1000 }, (_, at) => batch(at * 10, 10));
    const found = await merged(small);
    expect(found.map(({ numRows }) => numRows)).toEqual([8200, 1800]);
    const values = found.flatMap((one) => [...one.getChildAt(0)!]);
    expect(values).toEqual(Array.from({ length: 10_000 }, (_, at) => at));
  });

  it('are not merged with one that is large by itself', async () => {
    const large = batch(5, 10_000);
    const found = await merged([batch(0, 5), large, batch(10_005, 1)]);
    expect(found.map(({ numRows }) => numRows)).toEqual([5, 10_000, 1]);
    expect(found[1]).toBe(large);
  });

  it('are none when there are none', async () => {
    expect(await merged([])).toEqual([]);
  });
});
