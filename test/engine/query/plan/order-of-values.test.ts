import {
  Binary,
  Bool,
  DateDay,
  DateMillisecond,
  Decimal,
  Dictionary,
  Float16,
  Float32,
  Float64,
  Int32,
  Int64,
  Int8,
  List,
  Field,
  makeData,
  makeVector,
  TimestampNanosecond,
  Uint64,
  Utf8,
  vectorFromArray,
  type Vector,
} from 'apache-arrow';
import { describe, expect, it } from 'vitest';
import { comparisonOf, hasOrder } from '../../../../src/engine/query/plan/order-of-values.ts';

const nanoseconds = new TimestampNanosecond();

/** Columns whose values ascend. */
const ascending: readonly (readonly [string, Vector])[] = [
  ['small integers', vectorFromArray([-128, -1, 0, 127], new Int8())],
  ['integers beyond 2^53', vectorFromArray([2n ** 53n, 2n ** 53n + 1n], new Int64())],
  ['unsigned integers', vectorFromArray([0n, 2n ** 63n, 2n ** 64n - 1n], new Uint64())],
  ['floats, NaN last', vectorFromArray([-Infinity, -1.5, 0, 2, Infinity, NaN], new Float64())],
  ['narrow floats', vectorFromArray([-1, 0.25, 3], new Float32())],
  ['half floats', vectorFromArray([-2, -0.5, 0, 1.5], new Float16())],
  ['booleans', vectorFromArray([false, true], new Bool())],
  ['text by code points', vectorFromArray(['', 'B', 'a', 'aa', '\uffff', '😀'], new Utf8())],
  [
    'bytes',
    vectorFromArray(
      [[], [0], [1, 2], [1, 3], [255]].map((b) => Uint8Array.from(b)),
      new Binary(),
    ),
  ],
  ['days', vectorFromArray([new Date(-864e5), new Date(0), new Date(864e5)], new DateDay())],
  ['dates', vectorFromArray([new Date(-5), new Date(7)], new DateMillisecond())],
  [
    'times a nanosecond apart',
    makeVector(makeData({ type: nanoseconds, data: BigInt64Array.of(-1n, 0n, 1n) })),
  ],
  [
    'decimals',
    makeVector(
      makeData({
        type: new Decimal(2, 10, 128),
        data: Uint32Array.of(
          0xfffffffe,
          0xffffffff,
          0xffffffff,
          0xffffffff,
          1,
          0,
          0,
          0,
          0,
          1,
          0,
          0,
        ),
      }),
    ),
  ],
  ['a dictionary', vectorFromArray(['a', 'b', 'c'], new Dictionary(new Utf8(), new Int32()))],
];

describe('the order of values', () => {
  it.each(ascending)('%s', (_, column) => {
    const compare = comparisonOf(column);
    for (let left = 0; left < column.length; left++) {
      for (let right = 0; right < column.length; right++) {
        expect(Math.sign(compare(left, right))).toBe(Math.sign(left - right));
      }
    }
  });

  it('of a dictionary is that of its values, not of its indices', () => {
    const dictionary = vectorFromArray([2n ** 62n, -1n, 3n], new Int64());
    const type = new Dictionary(new Int64(), new Int32());
    const column = makeVector(
      makeData({ type, data: Int32Array.of(1, 2, 0), dictionary, length: 3 }),
    );
    const compare = comparisonOf(column);
    expect([compare(0, 1), compare(1, 2), compare(2, 0)].map(Math.sign)).toEqual([-1, -1, 1]);
  });

  it('is none for lists', () => {
    expect(hasOrder(new List(new Field('item', new Int32(), true)))).toBe(false);
    expect(hasOrder(new Int32())).toBe(true);
  });
});
