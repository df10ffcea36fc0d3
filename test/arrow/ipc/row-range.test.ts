import { assert, asyncProperty, nat, tuple } from 'fast-check';
import { Field, Int32, Int64, LargeUtf8, Utf8, vectorFromArray } from 'apache-arrow';
import { describe, expect, it } from 'vitest';
import { batchOfData } from '../../../src/arrow/data.ts';
import { schemaOf } from '../../../src/arrow/nested-type.ts';
import type { RandomAccess } from '../../../src/arrow/ipc/random-access.ts';
import { batchOf, slice } from '../../../src/arrow/select.ts';
import { vectorsOf, vectorType } from '../../support/vector-column.ts';
import { fileBytes, fixture, openBytes, plainRows, readStream } from '../support.ts';

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

/** Access to bytes that are in memory; at once to so many. */
function promptly(bytes: Uint8Array, most = Infinity): RandomAccess {
  const readNow = (offset: number, length: number) =>
    length > most ? undefined : bytes.slice(offset, offset + length);
  return { size: bytes.length, read: () => Promise.reject(new Error('waited')), readNow };
}

describe('columns that are read at once', () => {
  it('are not told where bytes have to be waited for, or a dictionary has to be read', async () => {
    const { schema, batch } = table();
    const bytes = fileBytes(schema, [batch]);
    const { file } = await openBytes(bytes);
    const rows = { start: 3, count: 1 };
    expect(file.columnsNow(0, [0], { rows, access: promptly(bytes, 0) })).toBeUndefined();
    expect(file.columnsNow(0, [0], { rows })).toBeUndefined();
    expect(file.columnsNow(0, [0], { rows, access: promptly(bytes) })).toHaveLength(1);
    const words = await readStream(fixture('dictionary-deltas'));
    const coded = fileBytes(words.schema, words.batches);
    const opened = await openBytes(coded);
    expect(opened.file.columnsNow(0, [0], { access: promptly(coded) })).toBeUndefined();
  });

  it('are refused of a batch that is not there', async () => {
    const { schema, batch } = table();
    const { file } = await openBytes(fileBytes(schema, [batch]));
    expect(() => file.columnsNow(1, [0])).toThrow('The file has no batch 1.');
  });
});

describe('a range of rows', () => {
  it('is what a slice of the whole batch is', async () => {
    const { schema, batch } = table();
    const bytes = fileBytes(schema, [batch]);
    const { file } = await openBytes(bytes);
    const ranges = tuple(nat(ROWS), nat(ROWS)).map(
      ([one, other]) => [Math.min(one, other), Math.max(one, other)] as const,
    );
    await assert(
      asyncProperty(ranges, async ([start, end]) => {
        const rows = { start, count: end - start };
        const part = await file.readBatch(0, undefined, { rows });
        expect(part.numRows).toBe(rows.count);
        expect(plainRows([part])).toEqual(plainRows([slice(batch, start, rows.count)]));
        const now = file.columnsNow(0, [3, 0, 2, 1], { rows, access: promptly(bytes) })!;
        const [vectors, ids, names, sparse] = now;
        const found = batchOfData(schema, [ids!, sparse!, names!, vectors!], rows.count);
        expect(plainRows([found])).toEqual(plainRows([part]));
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

  it('reads of texts the offsets of the range, and their bytes', async () => {
    const schema = schemaOf([
      new Field('text', new Utf8(), true),
      new Field('large', new LargeUtf8(), true),
    ]);
    const texts = Array.from({ length: ROWS }, (_, row) => (row % 5 ? `${row}`.repeat(99) : null));
    const columns = [vectorFromArray(texts, new Utf8()), vectorFromArray(texts, new LargeUtf8())];
    const { file, reads } = await openBytes(fileBytes(schema, [batchOf(schema, columns, ROWS)]));
    reads.length = 0;
    const part = await file.readBatch(0, ['text', 'large'], { rows: { start: 801, count: 3 } });
    expect(part.getChild('text')!.toArray()).toEqual(texts.slice(801, 804));
    expect(part.getChild('large')!.toArray()).toEqual(texts.slice(801, 804));
    const bytes = reads.reduce((sum, { length }) => sum + length, 0);
    expect(bytes).toBeLessThan(40_000);
  });

  it('of texts with damaged offsets is refused', async () => {
    const schema = schemaOf([new Field('text', new Utf8(), false)]);
    const bytes = fileBytes(schema, [
      batchOf(
        schema,
        [
          vectorFromArray(
            Array.from({ length: 64 }, (_, row) => `${row}`),
            new Utf8(),
          ),
        ],
        64,
      ),
    ]);
    const offset = Buffer.from(Int32Array.of(10, 12, 14, 16, 18).buffer);
    const at = Buffer.from(bytes).indexOf(offset);
    for (const damage of [-1, 5, 100_000]) {
      const broken = bytes.slice();
      new DataView(broken.buffer).setInt32(at + 16, damage, true);
      const { file } = await openBytes(broken);
      const read = file.readBatch(0, ['text'], { rows: { start: 10, count: 4 } });
      await expect(read).rejects.toMatchObject({ kind: 'corrupt' });
    }
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
