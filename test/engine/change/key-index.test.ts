import {
  Binary,
  Bool,
  Decimal,
  Dictionary,
  Field,
  Float64,
  Int16,
  Int64,
  Int8,
  LargeUtf8,
  List,
  Struct,
  TimestampMicrosecond,
  Utf8,
  Utf8View,
  vectorFromArray,
  type DataType,
  type Vector,
} from 'apache-arrow';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { sliceData } from '../../../src/arrow/data.ts';
import { KeyIndex, NONE } from '../../../src/engine/change/key-index.ts';
import { isKeyType, KeyWriter } from '../../../src/engine/change/key-writer.ts';

const long = 'a text that is longer than one that lies in a view '.repeat(3);
const dictionary = new Dictionary(new Utf8(), new Int8());

describe('the keys of rows', () => {
  const columns: readonly (readonly [string, DataType, readonly unknown[]])[] = [
    ['integers', new Int64(), [1n, 2n, -1n, 2n ** 62n, 0n]],
    ['small integers', new Int16(), [1, 2, -1, 256, 0]],
    ['floats', new Float64(), [0, -0, NaN, 1.5, Infinity]],
    ['texts', new Utf8(), ['', 'a', 'a\0', 'ü', long]],
    ['large texts', new LargeUtf8(), ['', 'a', 'a\0', 'ü', long]],
    ['views of texts', new Utf8View(), ['', 'a', 'a\0', 'ü', long]],
    ['binaries', new Binary(), [[], [0], [0, 0], [1], [0, 0, 0, 0]].map((b) => Uint8Array.from(b))],
    ['truth values', new Bool(), [true, false]],
    ['moments', new TimestampMicrosecond(), [0, 1, 1000]],
    ['dictionaries', dictionary, ['x', 'y', '', '-', long]],
  ];

  it.each(columns)('tell %s apart, and find them again', (_, type, values) => {
    const column = vectorFromArray([...values, null], type);
    const index = new KeyIndex();
    const writer = writerOf(column);
    for (let row = 0; row < values.length; row++) {
      expect(writer.write(row)).toBe(true);
      expect(index.add(writer)).toBe(row);
    }
    expect(writer.write(values.length)).toBe(false);
    const again = writerOf(vectorFromArray([null, ...values.toReversed()], type));
    expect(again.write(0)).toBe(false);
    for (let row = 1; row <= values.length; row++) {
      expect(again.write(row)).toBe(true);
      expect(index.find(again)).toBe(values.length - row);
    }
    expect(index.size).toBe(values.length);
  });

  it('of several columns are not mixed up', () => {
    const left = vectorFromArray(['a', 'ab', '', 'abc', null], new Utf8());
    const right = vectorFromArray(['bc', 'c', 'abc', '', 'x'], new Utf8());
    const writer = writerOf(left, right);
    const index = new KeyIndex();
    const numbers = [0, 1, 2, 3].map((row) => (writer.write(row) ? index.add(writer) : NONE));
    expect(numbers).toEqual([0, 1, 2, 3]);
    expect(writer.write(4)).toBe(false);
  });

  it('of a part of a column are those of its rows', () => {
    const column = vectorFromArray(['a', null, 'b', 'c'], new Utf8());
    const part = new KeyWriter([sliceData(column.data[0]!, 1, 3)]);
    const index = new KeyIndex();
    const whole = writerOf(column);
    for (const row of [0, 2, 3]) if (whole.write(row)) index.add(whole);
    expect(part.write(0)).toBe(false);
    expect([1, 2].map((row) => (part.write(row) ? index.find(part) : NONE))).toEqual([1, 2]);
  });

  it('are numbered as a map numbers them', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.string(), fc.bigInt(-9n, 9n))), (pairs) => {
        const writer = writerOf(
          vectorFromArray(
            pairs.map(([text]) => text),
            new Utf8(),
          ),
          vectorFromArray(
            pairs.map(([, number]) => number),
            new Int64(),
          ),
        );
        const index = new KeyIndex();
        const expected = new Map<string, number>();
        for (const [row, [text, number]] of pairs.entries()) {
          const key = JSON.stringify([text, String(number)]);
          if (!expected.has(key)) expected.set(key, expected.size);
          expect(writer.write(row) && index.add(writer)).toBe(expected.get(key));
        }
      }),
    );
  });

  it('stay found when there are many, and others are not found', () => {
    const count = 20_000;
    const column = vectorFromArray(
      Array.from({ length: 2 * count }, (_, row) => BigInt(row) * 1024n),
      new Int64(),
    );
    const writer = writerOf(column);
    const index = new KeyIndex();
    for (let row = 0; row < count; row++) if (writer.write(row)) index.add(writer);
    const found = Array.from({ length: 2 * count }, (_, row) =>
      writer.write(row) ? index.find(writer) : NONE,
    );
    expect(found.slice(0, count)).toEqual(Array.from({ length: count }, (_, row) => row));
    expect(new Set(found.slice(count))).toEqual(new Set([NONE]));
  });

  it('are of types with values that are equal or not', () => {
    const item = new Field('item', new Int64(), true);
    expect([new Decimal(2, 10, 128), dictionary, new Bool()].every(isKeyType)).toBe(true);
    const nested = [new List(item), new Struct([item]), new Dictionary(new List(item), new Int8())];
    expect(nested.some(isKeyType)).toBe(false);
  });
});

function writerOf(...columns: readonly Vector[]): KeyWriter {
  return new KeyWriter(columns.map((column) => column.data[0]!));
}
