import * as fc from 'fast-check';
import { Field, Int32, type RecordBatch, Vector } from 'apache-arrow';
import { beforeAll, describe, expect, it } from 'vitest';
import { dataOf } from '../../src/arrow/data.ts';
import { schemaOf } from '../../src/arrow/nested-type.ts';
import {
  batchOf,
  concat,
  projectColumns,
  slice,
  take,
  withColumn,
} from '../../src/arrow/select.ts';
import { fileBytes, fixture, openBytes, plainRows, readStream, refused } from './support.ts';

const names = ['scalars', 'nested', 'lancedb-create'];
const tables = new Map<string, RecordBatch>();

beforeAll(async () => {
  for (const name of names) {
    tables.set(name, concat((await readStream(fixture(name))).batches));
  }
});

/** What stands in a batch after it was written and read again: its memory is sound, too. */
async function reread(batch: RecordBatch): Promise<RecordBatch> {
  const { file } = await openBytes(fileBytes(batch.schema, [batch]));
  return await file.readBatch(0);
}

const int32s = (...values: number[]): Vector =>
  new Vector([
    dataOf(new Int32(), {
      length: values.length,
      nullCount: 0,
      values: Int32Array.from(values),
    }),
  ]);

describe('choosing rows', () => {
  it.each(names)('takes any rows of %s in any order', async (name) => {
    const batch = tables.get(name)!;
    const expected = plainRows([batch]);
    const rows = fc.array(fc.nat(batch.numRows - 1), { maxLength: 40 });
    await fc.assert(
      fc.asyncProperty(rows, async (picked) => {
        const taken = take(batch, Uint32Array.from(picked));
        const wanted = picked.map((row) => expected[row]);
        expect(plainRows([taken])).toEqual(wanted);
        expect(plainRows([await reread(taken)])).toEqual(wanted);
        expect(taken.schema).toBe(batch.schema);
      }),
      { numRuns: 60, seed: 1 },
    );
  });

  it.each(names)('slices %s, slices of slices and rows of slices', async (name) => {
    const batch = tables.get(name)!;
    const expected = plainRows([batch]);
    const part = fc.tuple(fc.nat(batch.numRows), fc.nat(batch.numRows), fc.nat(9), fc.nat(30));
    await fc.assert(
      fc.asyncProperty(part, async ([offset, length, second, more]) => {
        const sliced = slice(batch, offset, length);
        const wanted = expected.slice(offset, offset + length);
        expect(plainRows([sliced])).toEqual(wanted);
        expect(plainRows([await reread(sliced)])).toEqual(wanted);
        const again = slice(sliced, second, more);
        expect(plainRows([again])).toEqual(wanted.slice(second, second + more));
        expect(plainRows([await reread(again)])).toEqual(wanted.slice(second, second + more));
        const rows = Uint32Array.from(
          { length: again.numRows },
          (_, row) => again.numRows - 1 - row,
        );
        const reversed = wanted.slice(second, second + more).reverse();
        expect(plainRows([take(again, rows)])).toEqual(reversed);
      }),
      { numRuns: 60, seed: 2 },
    );
  });

  it.each(names)('puts pieces of %s together', async (name) => {
    const batch = tables.get(name)!;
    const expected = plainRows([batch]);
    const cut = fc.tuple(fc.nat(batch.numRows), fc.nat(12));
    await fc.assert(
      fc.asyncProperty(fc.array(cut, { minLength: 1, maxLength: 5 }), async (cuts) => {
        const joined = concat(cuts.map(([offset, length]) => slice(batch, offset, length)));
        const wanted = cuts.flatMap(([offset, length]) => expected.slice(offset, offset + length));
        expect(plainRows([joined])).toEqual(wanted);
        expect(plainRows([await reread(joined)])).toEqual(wanted);
      }),
      { numRuns: 60, seed: 3 },
    );
  });

  it('writes only the values of the rows that were taken', async () => {
    const batch = tables.get('nested')!;
    const all = fileBytes(batch.schema, [batch]).length;
    const none = fileBytes(batch.schema, [slice(batch, 0, 0)]).length;
    const one = fileBytes(batch.schema, [slice(batch, 25, 1)]).length;
    expect(one - none).toBeLessThan((all - none) / 2);
  });
});

describe('choosing columns', () => {
  it('projects in the order of the names', () => {
    const batch = tables.get('scalars')!;
    const some = projectColumns(
      batch,
      ['utf8', 'bool'].map((name) => (name === 'utf8' ? 'int8' : name)),
    );
    expect(some.schema.names).toEqual(['int8', 'bool']);
    expect(some.numRows).toBe(batch.numRows);
    expect(projectColumns(batch, []).numRows).toBe(batch.numRows);
    expect(refused(() => projectColumns(batch, ['nowhere']))).toBe(
      'mismatch: There is no column "nowhere".',
    );
  });

  it('adds and replaces columns', () => {
    const batch = batchOf(schemaOf([new Field('a', new Int32())]), [int32s(1, 2)], 2);
    const two = withColumn(batch, new Field('b', new Int32()), int32s(3, 4));
    expect(plainRows([two])).toEqual([
      ['1', '3'],
      ['2', '4'],
    ]);
    const replaced = withColumn(two, new Field('a', new Int32()), int32s(7, 8));
    expect(plainRows([replaced])).toEqual([
      ['7', '3'],
      ['8', '4'],
    ]);
    expect(plainRows([batch])).toEqual([['1'], ['2']]);
  });

  it('joins the pieces of a column', () => {
    const pieces = new Vector([...int32s(1, 2).data, ...int32s(3).data]);
    const batch = batchOf(schemaOf([new Field('a', new Int32())]), [pieces], 3);
    expect(plainRows([batch])).toEqual([['1'], ['2'], ['3']]);
  });

  it('keeps the rows of a batch without columns', () => {
    const batch = batchOf(schemaOf([]), [], 5);
    expect(batch.numRows).toBe(5);
    expect(take(batch, Uint32Array.of(1, 1, 1)).numRows).toBe(3);
    expect(slice(batch, 4, 9).numRows).toBe(1);
    expect(concat([batch, batch]).numRows).toBe(10);
  });

  it('refuses what does not fit together', () => {
    const schema = schemaOf([new Field('a', new Int32())]);
    const batch = batchOf(schema, [int32s(1)], 1);
    const other = tables.get('scalars')!;
    expect(refused(() => batchOf(schema, [], 0))).toBe(
      'mismatch: A batch would have 0 columns, the schema has 1.',
    );
    expect(refused(() => batchOf(schema, [int32s(1)], 2))).toBe(
      'mismatch: Column "a" has 1 rows, the batch has 2.',
    );
    expect(refused(() => batchOf(schema, [other.getChild('bool')!], other.numRows))).toBe(
      'mismatch: Column "a" has the type bool, not int32.',
    );
    expect(refused(() => concat([batch, projectColumns(other, ['bool'])]))).toBe(
      'mismatch: A batch to put together lacks the column "a".',
    );
    expect(refused(() => concat([]))).toBe('mismatch: There are no batches to put together.');
  });
});
