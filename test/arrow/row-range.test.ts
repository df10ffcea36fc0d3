import { assert, asyncProperty, nat, tuple } from 'fast-check';
import { Field, Int32, Int64, Utf8, vectorFromArray } from 'apache-arrow';
import { describe, expect, it } from 'vitest';
import { schemaOf } from '../../src/arrow/nested-type.ts';
import { batchOf, slice } from '../../src/arrow/select.ts';
import { vectorsOf, vectorType } from '../support/vector-column.ts';
import { fileBytes, fixture, openBytes, plainRows, readStream } from './support.ts';

const ROWS = 1000;

/** Columns of fixed rows with and without nulls, and one whose rows lie anywhere. */
function table() {
  const numbers = Array.from({ length: ROWS }, (_, row) => row);
  const schema = schemaOf([
    new Field('id', new Int64(), false),
    new Field('sparse', new Int32(), true),
    new Field('name', new Utf8(), true),
    new Field('vector', vectorType(16), true),
  ]);
  const columns = [
    vectorFromArray(numbers.map(BigInt), new Int64()),
    vectorFromArray(
      numbers.map((row) => (row % 3 === 0 ? null : row)),
      new Int32(),
    ),
    vectorFromArray(numbers.map(String), new Utf8()),
    vectorsOf(
      16,
      numbers.map((row) => (row % 7 === 0 ? null : Array.from({ length: 16 }, () => row))),
    ),
  ];
  return { schema, batch: batchOf(schema, columns, ROWS) };
}

describe('a range of rows', () => {
  it('is what a slice of the whole batch is', async () => {
    const { schema, batch } = table();
    const { file } = await openBytes(fileBytes(schema, [batch]));
    const ranges = tuple(nat(ROWS), nat(ROWS)).map(
      ([one, other]) => [Math.min(one, other), Math.max(one, other)] as const,
    );
    await assert(
      asyncProperty(ranges, async ([start, end]) => {
        const rows = { start, count: end - start };
        const part = await file.readBatch(0, undefined, { rows });
        expect(part.numRows).toBe(rows.count);
        expect(plainRows([part])).toEqual(plainRows([slice(batch, start, rows.count)]));
      }),
      { numRuns: 30 },
    );
  });

  it('reads no more of fixed rows than the range', async () => {
    const { schema, batch } = table();
    const { file, reads } = await openBytes(fileBytes(schema, [batch]));
    reads.length = 0;
    await file.readBatch(0, ['vector'], { rows: { start: 801, count: 2 } });
    const bytes = reads.reduce((sum, { length }) => sum + length, 0);
    expect(bytes).toBeLessThan(500);
  });

  it.each(['scalars', 'nested', 'dictionary-deltas'])(
    'of %s is exact for every type',
    async (name) => {
      const { schema, batches } = await readStream(fixture(name));
      const { file } = await openBytes(fileBytes(schema, batches));
      for (const [index, batch] of batches.entries()) {
        for (let start = 0; start < batch.numRows; start++) {
          const rows = { start, count: Math.min(2, batch.numRows - start) };
          const part = await file.readBatch(index, undefined, { rows });
          expect(plainRows([part])).toEqual(plainRows([slice(batch, start, rows.count)]));
        }
      }
    },
  );

  it('of a damaged file is refused', async () => {
    const schema = schemaOf([new Field('a', new Int32(), true)]);
    const bytes = fileBytes(schema, [
      batchOf(schema, [vectorFromArray([1, 2, 3], new Int32())], 3),
    ]);
    const { file } = await openBytes(bytes);
    const rows = { start: 0, count: 64 };
    await expect(file.readBatch(0, ['a'], { rows })).rejects.toThrow('too few for its rows');
  });
});
