import { Bool, Int32 } from 'apache-arrow';
import { describe, expect, it } from 'vitest';
import { ask, batchOf, column, select } from '../support.ts';

const three = [true, false, null];
const pairs = three.flatMap((left) => three.map((right) => ({ left, right })));
const batch = batchOf({
  a: column(
    new Bool(),
    pairs.map(({ left }) => left),
  ),
  b: column(
    new Bool(),
    pairs.map(({ right }) => right),
  ),
});

/** Kleene's logic over true, false and null, as SQL defines it. */
const not = (value: boolean | null): boolean | null => (value === null ? null : !value);
function and(left: boolean | null, right: boolean | null): boolean | null {
  return left === false || right === false ? false : left === null || right === null ? null : true;
}
function or(left: boolean | null, right: boolean | null): boolean | null {
  return not(and(not(left), not(right)));
}

describe('truth tables', () => {
  it.each<[string, (left: boolean | null, right: boolean | null) => boolean | null]>([
    ['a and b', and],
    ['a or b', or],
    ['not a', (left) => not(left)],
    ['not (a and b)', (left, right) => not(and(left, right))],
    ['a and not b', (left, right) => and(left, not(right))],
    ['a and b and null', (left, right) => and(and(left, right), null)],
    ['a or b or null', (left, right) => or(or(left, right), null)],
    ['a and true', (left) => left],
    ['a or false', (left) => left],
    ['a = b', (left, right) => (left === null || right === null ? null : left === right)],
    ['a < b', (left, right) => (left === null || right === null ? null : !left && right)],
    ['a is distinct from b', (left, right) => left !== right],
    ['a is not distinct from b', (left, right) => left === right],
    ['a is null', (left) => left === null],
    ['a is not null', (left) => left !== null],
    ['a is true', (left) => left === true],
    ['a is not true', (left) => left !== true],
    ['a is false', (left) => left === false],
    ['a is not false', (left) => left !== false],
    ['a is unknown', (left) => left === null],
    ['a is not unknown', (left) => left !== null],
    ['(a and b) is unknown', (left, right) => and(left, right) === null],
    ['a in (true)', (left) => left],
    ['a in (true, null)', (left) => or(left, null)],
    ['a not in (true, null)', (left) => and(not(left), null)],
    ['null', () => null],
  ])('%s', (text, expected) => {
    const states = pairs.map(({ left, right }) => expected(left, right));
    expect(ask(text, batch)).toEqual(states);
    expect(select(text, batch)).toEqual(
      states.flatMap((state, row) => (state === true ? [row] : [])),
    );
  });
});

describe('rows that are decided', () => {
  const numbers = batchOf({ x: column(new Int32(), [0, 1, 2, null, 5]) });

  it.each([
    ['x <> 0 and 10 / x > 4', [1, 2]],
    ['x = 0 or 10 / x > 4', [0, 1, 2]],
    ['x is not null and x <> 0 and 10 % x = 0', [1, 2, 4]],
    ['case when x = 0 then false else 10 / x > 4 end', [1, 2]],
    ['coalesce(nullif(x = 0, false), 10 / x > 4)', [0, 1, 2]],
  ])('%s never divides where it need not', (text, rows) => {
    expect(select(text, numbers)).toEqual(rows);
  });

  it('combines many operands over rows of every state', () => {
    const length = 1000;
    const values = Array.from({ length }, (_, row) => (row % 11 === 0 ? null : row));
    const many = batchOf({ x: column(new Int32(), values) });
    const expected = values.flatMap((x, row) =>
      x !== null && x >= 900 && x % 2 === 0 && x !== 910 ? [row] : [],
    );
    expect(select('x >= 900 and x % 2 = 0 and x <> 910 and x is not null', many)).toEqual(expected);
    const others = values.flatMap((x, row) =>
      x === null || x < 5 || x === 10 || x > 990 ? [row] : [],
    );
    expect(select('x < 5 or x = 10 or x > 990 or x is null', many)).toEqual(others);
  });
});
