import {
  Dictionary,
  Field,
  Float16,
  Int32,
  Int8,
  LargeUtf8,
  List,
  makeData,
  makeVector,
  Struct,
  Utf8,
  vectorFromArray,
  type DataType,
} from 'apache-arrow';
import { describe, expect, it } from 'vitest';
import { ask, batchOf, typeOf } from '../support.ts';

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

describe('a cast to the type that a stored form stands for', () => {
  const batch = batchOf({
    d: encoded(new Utf8(), ['x', null], [0, 1, -1, 0]),
    large: vectorFromArray(['x', null, 'y', 'z'], new LargeUtf8()),
    half: vectorFromArray([1.5, null, -2, 0], new Float16()),
  });

  it.each<[string, string, readonly unknown[]]>([
    ['d', 'Dictionary<Int8, Utf8>', ['x', null, null, 'x']],
    ['cast(d as string)', 'Utf8', ['x', null, null, 'x']],
    ['cast(large as string)', 'Utf8', ['x', null, 'y', 'z']],
    ['cast(half as float)', 'Float32', [1.5, null, -2, 0]],
  ])('gives %s the type %s', (text, type, values) => {
    expect(typeOf(text, batch)).toBe(type);
    expect(ask(text, batch)).toEqual(values);
  });
});
