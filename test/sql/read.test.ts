import type { DataType } from 'apache-arrow';
import { Dictionary, Field, Int8, List, makeData, makeVector, Struct, Utf8 } from 'apache-arrow';
import { Int32, vectorFromArray } from 'apache-arrow';
import { describe, expect, it } from 'vitest';
import { ask, batchOf } from './support.ts';

/** A column of the values that `indices` point to, -1 for no value. */
function encoded(type: DataType, values: readonly unknown[], indices: readonly number[]) {
  const bits = indices.reduce((mask, index, row) => mask | (index < 0 ? 0 : 1 << row), 0);
  return makeVector(
    makeData({
      type: new Dictionary(type, new Int8()),
      length: indices.length,
      data: Int8Array.from(indices, (index) => Math.max(index, 0)),
      nullBitmap: Uint8Array.of(bits),
      dictionary: vectorFromArray(values, type),
    }),
  );
}

const list = new List(new Field('item', new Int32(), true));
const struct = new Struct([new Field('a', new Int32(), true)]);

describe('values of a dictionary', () => {
  it.each<[string, DataType, readonly unknown[]]>([
    ['texts', new Utf8(), ['x', null]],
    ['lists', list, [[1, 2], null]],
    ['structs', struct, [{ a: 1 }, null]],
  ])('are null where the index or the %s are', (_, type, values) => {
    const batch = batchOf({ c: encoded(type, values, [0, 1, -1, 0]) });
    expect(ask('c is null', batch)).toEqual([false, true, true, false]);
    expect(ask('c is not null', batch)).toEqual([true, false, false, true]);
  });
});
