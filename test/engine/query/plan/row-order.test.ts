import {
  Binary,
  Bool,
  DateDay,
  Decimal,
  Dictionary,
  Float32,
  Float64,
  Int16,
  Int32,
  Int64,
  TimestampMicrosecond,
  Uint32,
  Uint64,
  Utf8,
  vectorFromArray,
  type DataType,
} from 'apache-arrow';
import { describe, expect, it } from 'vitest';
import { comparisonOf } from '../../../../src/engine/query/plan/order-of-values.ts';
import { wordSource } from '../../../../src/engine/query/plan/order-words.ts';
import { sortedRows, type OrderKey } from '../../../../src/engine/query/plan/row-order.ts';
import { randomOf } from '../../../service/random.ts';

const ROWS = 3000;
type Random = ReturnType<typeof randomOf>;
type Make = (next: Random) => unknown;

const texts: Make = (next) =>
  ['', '\0', 'a', 'a\0', 'same beginning ', 'same beginning of all ', 'é', '😀'][next(8)]! +
  'xyz'.slice(next(4)) +
  (next(3) === 0 ? '\0' : '');

const kinds: readonly (readonly [string, DataType, Make])[] = [
  ['int64', new Int64(), (next) => BigInt(next(2 ** 31)) * BigInt(next(2 ** 31)) - 2n ** 60n],
  ['few int64', new Int64(), (next) => BigInt(next(5) - 2)],
  ['uint64', new Uint64(), (next) => BigInt(next(2 ** 31)) * 2n ** 33n],
  ['int32', new Int32(), (next) => next(2 ** 32) - 2 ** 31],
  ['int16', new Int16(), (next) => next(100) - 50],
  ['uint32', new Uint32(), (next) => next(2 ** 32)],
  [
    'float64',
    new Float64(),
    (next) => [next(1000) / 7 - 70, 0, -0, Number.NaN, Infinity, -Infinity][next(6)],
  ],
  ['float32', new Float32(), (next) => [next(1000) / 8 - 60, -0, Number.NaN][next(3)]],
  ['utf8', new Utf8(), texts],
  ['binary', new Binary(), (next) => Buffer.from(String(texts(next)))],
  ['bool', new Bool(), (next) => next(2) === 1],
  ['date', new DateDay(), (next) => new Date(86_400_000 * (next(2000) - 1000))],
  ['timestamp', new TimestampMicrosecond(), (next) => next(10_000) - 5000],
  ['decimal', new Decimal(2, 20), (next) => Uint32Array.of(next(1000), 0, 0, 0)],
  ['dictionary', new Dictionary(new Utf8(), new Int32()), texts],
];

function keyOf(type: DataType, make: Make, next: Random, nulls: boolean): OrderKey {
  const values = Array.from({ length: ROWS }, () => (nulls && next(4) === 0 ? null : make(next)));
  const column = vectorFromArray(values, type);
  const compare = comparisonOf(column);
  const [ascending, nullsFirst] = [next(2) === 0, next(2) === 0];
  const isNull = (row: number) => values[row] === null;
  return {
    ascending,
    nullsFirst,
    isValid: nulls ? (row) => !isNull(row) : null,
    words: wordSource(column),
    compare: (left, right) => {
      if (isNull(left) || isNull(right)) {
        return (Number(isNull(right)) - Number(isNull(left))) * (nullsFirst ? 1 : -1);
      }
      return compare(left, right) * (ascending ? 1 : -1);
    },
  };
}

/** The same order by comparing alone. */
function compared(keys: readonly OrderKey[]): number[] {
  return Array.from({ length: ROWS }, (_, row) => row).sort((left, right) => {
    for (const { compare } of keys) if (compare(left, right) !== 0) return compare(left, right);
    return left - right;
  });
}

describe('the order of rows', () => {
  it.each(kinds)('by %s is that of comparing them', (_, type, make) => {
    const next = randomOf(7);
    for (let time = 0; time < 6; time++) {
      const keys = [keyOf(type, make, next, time % 2 === 1)];
      expect([...sortedRows(keys, ROWS)]).toEqual(compared(keys));
    }
  });

  it('by several keys is that of comparing them', () => {
    const next = randomOf(11);
    for (let time = 0; time < 40; time++) {
      const keys = Array.from({ length: 2 + next(2) }, () => {
        const [, type, make] = kinds[next(kinds.length)]!;
        return keyOf(type, make, next, next(2) === 0);
      });
      expect([...sortedRows(keys, ROWS)]).toEqual(compared(keys));
    }
  });

  it('of none and of one is known', () => {
    expect([...sortedRows([], 3)]).toEqual([0, 1, 2]);
    const [, type, make] = kinds[0]!;
    expect([...sortedRows([keyOf(type, make, randomOf(1), true)], 1)]).toEqual([0]);
    expect([...sortedRows([keyOf(type, make, randomOf(1), true)], 0)]).toEqual([]);
  });
});
