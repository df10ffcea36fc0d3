import {
  Dictionary,
  Field,
  FixedSizeList,
  Float64,
  Int32,
  Int8,
  makeData,
  makeVector,
  Schema,
  Struct,
  Uint8,
  Utf8,
  vectorFromArray,
  type DataType,
  type RecordBatch,
  type Vector,
} from 'apache-arrow';
import { describe, expect, it } from 'vitest';
import { batchOf } from '../../../src/arrow/select.ts';
import type { JsonValue } from '../../../src/protocol/json.ts';
import { answerOf, rowsOf } from '../../support/query-answer.ts';
import { storeTable } from '../../support/stored-table.ts';
import { vectorsOf, vectorType } from '../../support/vector-column.ts';

/** Answers a query over files of one batch each. */
async function answer(
  schema: Schema,
  files: readonly RecordBatch[],
  body: Record<string, JsonValue>,
): Promise<Record<string, unknown>[]> {
  const stored = await storeTable(
    schema,
    files.map((batch) => [batch]),
  );
  try {
    return rowsOf(await answerOf(stored, body));
  } finally {
    await stored.remove();
  }
}

describe('a dictionary column', () => {
  const type = new Dictionary(new Utf8(), new Int32());
  const schema = new Schema([
    new Field('word', type, true),
    new Field('n', new Int32(), false),
    new Field('vec', vectorType(1), false),
  ]);
  const file = (words: readonly (string | null)[], first: number) => {
    const numbers = words.map((_, at) => first + at);
    const columns = [
      vectorFromArray(words, type),
      vectorFromArray(numbers, new Int32()),
      vectorsOf(
        1,
        numbers.map((n) => [n]),
      ),
    ];
    return batchOf(schema, columns, words.length);
  };
  const files = [file(['b', 'a', null], 0), file(['c', 'a', 'b'], 3), file(['a', null, 'd'], 6)];
  const words = ['b', 'a', null, 'c', 'a', 'b', 'a', null, 'd'];

  it('keeps its values when each file has another dictionary', async () => {
    const rows = await answer(schema, files, { columns: ['word'] });
    expect(rows.map(({ word }) => word)).toEqual(words);
  });

  it('is filtered, found and sorted by its values', async () => {
    const filtered = await answer(schema, files, { filter: "word = 'a'", columns: ['n'] });
    expect(filtered.map(({ n }) => n)).toEqual([1, 4, 6]);
    const found = await answer(schema, files, { vector: [4.4], k: 3, columns: ['word'] });
    expect(found.map(({ word }) => word)).toEqual(['a', 'b', 'c']);
    const order = [{ column_name: 'word', ascending: false, nulls_first: false }];
    const sorted = await answer(schema, files, { order_by: order, columns: ['word', 'n'] });
    expect(sorted.map(({ word }) => word)).toEqual(['d', 'c', 'b', 'b', 'a', 'a', 'a', null, null]);
    expect(sorted.map(({ n }) => n)).toEqual([8, 3, 0, 5, 1, 4, 6, 2, 7]);
  });
});

describe('a field inside a struct', () => {
  const inner = new Struct([
    new Field('x', new Int32(), false),
    new Field('v', vectorType(2), true),
  ]);
  const schema = new Schema([new Field('s', inner, true)]);
  const x = vectorFromArray([1, 2, 3, 4], new Int32());
  const v = vectorsOf(2, [[0, 0], [1, 1], null, [3, 3]]); // prettier-ignore
  const struct = makeData({
    type: inner,
    length: 4,
    nullCount: 1,
    nullBitmap: Uint8Array.of(0b1101),
    children: [x.data[0]!, v.data[0]!],
  });
  const batch = batchOf(schema, [makeVector(struct)], 4);

  it('is null where the struct is', async () => {
    const rows = await answer(schema, [batch], { columns: ['s.x'] });
    expect(rows.map((row) => row['s.x'])).toEqual([1, null, 3, 4]);
  });

  it('is null where the struct is, also in the middle of a batch', async () => {
    const rows = await answer(schema, [batch], { columns: ['s.x'], offset: 1, k: 2 });
    expect(rows.map((row) => row['s.x'])).toEqual([null, 3]);
  });

  it('can be searched', async () => {
    const body = { vector: [1, 1], vector_column: 's.v', with_row_id: true, columns: [] };
    expect(await answer(schema, [batch], body)).toEqual([
      { _distance: 2, _rowid: 0n },
      { _distance: 8, _rowid: 3n },
    ]);
  });

  it('can be sorted by', async () => {
    const order = [{ column_name: 's.x', ascending: false }];
    const rows = await answer(schema, [batch], { order_by: order, columns: ['s.x'] });
    expect(rows.map((row) => row['s.x'])).toEqual([null, 4, 3, 1]);
  });
});

describe('vectors of other numbers', () => {
  const kinds: readonly (readonly [string, DataType, Vector])[] = [
    ['64-bit floats', new Float64(), makeVector(Float64Array.of(0, 0, 3, 4, 1, 0))],
    ['signed bytes', new Int8(), makeVector(Int8Array.of(0, 0, 3, 4, 1, 0))],
    ['unsigned bytes', new Uint8(), makeVector(Uint8Array.of(0, 0, 3, 4, 1, 0))],
  ];
  it.each(kinds)('may be %s', async (_, item, values) => {
    const type = new FixedSizeList(2, new Field('item', item, true));
    const schema = new Schema([new Field('vec', type, false)]);
    const child = values.data[0]!;
    const column = makeVector(makeData({ type, length: 3, nullCount: 0, child }));
    const body = { vector: [0, 0], distance_type: 'l2', columns: [], with_row_id: true };
    expect(await answer(schema, [batchOf(schema, [column], 3)], body)).toEqual([
      { _distance: 0, _rowid: 0n },
      { _distance: 1, _rowid: 2n },
      { _distance: 25, _rowid: 1n },
    ]);
  });

  it('are compared by their bits when they are unsigned bytes and nothing else is asked for', async () => {
    const type = new FixedSizeList(2, new Field('item', new Uint8(), true));
    const schema = new Schema([new Field('vec', type, true)]);
    const child = makeVector(Uint8Array.of(0, 0, 255, 3, 9, 9, 255, 0)).data[0]!;
    const nullBitmap = Uint8Array.of(0b1011);
    const column = makeVector(makeData({ type, length: 4, nullCount: 1, nullBitmap, child }));
    const body = { vector: [255, 1], columns: [], with_row_id: true };
    const byBits = [
      { _distance: 1, _rowid: 1n },
      { _distance: 1, _rowid: 3n },
      { _distance: 9, _rowid: 0n },
    ];
    const files = [batchOf(schema, [column], 4)];
    expect(await answer(schema, files, body)).toEqual(byBits);
    expect(await answer(schema, files, { ...body, distance_type: 'Hamming' })).toEqual(byBits);
    const some = { ...body, filter: '_rowid <> 1', upper_bound: 9 };
    expect(await answer(schema, files, some)).toEqual([byBits[1]]);
    const halves = answer(schema, files, { ...body, vector: [0.5, 1] });
    await expect(halves).rejects.toThrow(
      'a vector compared by hamming must have whole numbers from 0 to 255, not 0.5',
    );
  });
});
