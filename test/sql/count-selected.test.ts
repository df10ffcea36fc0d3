import { Float32, Float64, Int64, type DataType } from 'apache-arrow';
import { describe, expect, it } from 'vitest';
import { batchOf, column, select } from './support.ts';

const values = [0, -0, 0.5, -1.5, Number.NaN, Infinity, -Infinity, 7, 7.25];

/** What NaN is to others: equal to itself and greater than all. */
function order(left: number, right: number): number {
  const [one, other] = [left, right].map((value) => (Number.isNaN(value) ? 1 : 0));
  if (one !== other) return one! - other!;
  return left < right ? -1 : Number(left > right);
}

const operators: Readonly<Record<string, (difference: number) => boolean>> = {
  '=': (difference) => difference === 0,
  '<>': (difference) => difference !== 0,
  '<': (difference) => difference < 0,
  '<=': (difference) => difference <= 0,
  '>': (difference) => difference > 0,
  '>=': (difference) => difference >= 0,
};

/* `select` counts the rows that it selects in the other way, too. */
describe.each<[string, DataType]>([
  ['float64', new Float64()],
  ['float32', new Float32()],
])('%s against a literal', (_, type) => {
  it.each(Object.entries(operators))('%s', (operator, holds) => {
    const batch = batchOf({ f: column(type, values) });
    for (const [text, literal] of [
      ['0', 0],
      ['7.0', 7],
      ['-1.5', -1.5],
      ["cast('nan' as double)", Number.NaN],
    ] as const) {
      const expected = values.flatMap((value, row) => (holds(order(value, literal)) ? [row] : []));
      expect(select(`f ${operator} ${text}`, batch)).toEqual(expected);
      expect(select(`NOT (f ${operator} ${text})`, batch)).toHaveLength(
        values.length - expected.length,
      );
    }
  });
});

it('leaves nulls out, and rows that are compared with null', () => {
  const batch = batchOf({
    f: column(new Float64(), [1, null, 3]),
    i: column(new Int64(), [1n, null, 3n]),
  });
  expect(select('f >= 1.0', batch)).toEqual([0, 2]);
  expect(select('f <> 1.0', batch)).toEqual([2]);
  expect(select('i < 2', batch)).toEqual([0]);
  expect(select('f = NULL', batch)).toEqual([]);
  expect(select('f IS DISTINCT FROM 1.0', batch)).toEqual([1, 2]);
});
