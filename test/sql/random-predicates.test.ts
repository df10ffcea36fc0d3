import { Bool, Dictionary, Float64, Int32, Int64, Utf8 } from 'apache-arrow';
import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { ask, batchOf, column, select } from './support.ts';
import { casesOf } from '../support/cases.ts';

/** One row as plain values. `g` is `s` again, encoded with a dictionary. */
interface Row {
  readonly i: bigint | null;
  readonly n: number | null;
  readonly f: number | null;
  readonly s: string | null;
  readonly b: boolean | null;
}

type Truth = boolean | null;

/** A predicate as text, and what it is for one row, spelled out without any of the engine. */
interface Predicate {
  readonly text: string;
  readonly test: (row: Row) => Truth;
}

/** A value as text, and what it is for one row. */
interface Value<Type> {
  readonly text: string;
  readonly of: (row: Row) => Type | null;
}

const orNull = <Type>(value: fc.Arbitrary<Type>): fc.Arbitrary<Type | null> =>
  fc.option(value, { nil: null, freq: 4 });
const longs = fc.constantFrom(
  0n,
  1n,
  -1n,
  2n ** 53n,
  2n ** 53n + 1n,
  -(2n ** 63n),
  2n ** 63n - 1n,
  42n,
);
const ints = fc.constantFrom(0, 1, -1, 7, 2_147_483_647, -2_147_483_648);
const floats = fc.constantFrom(0, 0.5, -1.25, 7, NaN, Infinity, -Infinity, 2 ** 53);
const words = fc.constantFrom('', 'a', 'ab', 'abc', 'ABC', 'b%', 'é', '😀z');

const rows: fc.Arbitrary<Row> = fc.record({
  i: orNull(longs),
  n: orNull(ints),
  f: orNull(floats),
  s: orNull(words),
  b: orNull(fc.boolean()),
});

const quoted = (text: string): string => `'${text.replaceAll("'", "''")}'`;
const floatText = (value: number): string =>
  Number.isFinite(value)
    ? value.toExponential()
    : `cast('${String(value).toLowerCase()}' as double)`;

/** -1, 0 or 1. Numbers compare by value at any size; NaN is greatest and equal to itself. */
function order(left: bigint | number | string, right: bigint | number | string): number {
  if (typeof left === 'string' || typeof right === 'string') {
    return Buffer.compare(Buffer.from(String(left)), Buffer.from(String(right)));
  }
  const [a, b] = [Number.isNaN(left), Number.isNaN(right)];
  return a || b ? Number(a) - Number(b) : left < right ? -1 : left > right ? 1 : 0;
}

const comparisons: Readonly<Record<string, (order: number) => boolean>> = {
  '=': (found) => found === 0,
  '!=': (found) => found !== 0,
  '<': (found) => found < 0,
  '<=': (found) => found <= 0,
  '>': (found) => found > 0,
  '>=': (found) => found >= 0,
};

const not = (value: Truth): Truth => (value === null ? null : !value);
function all(values: readonly Truth[]): Truth {
  return values.includes(false) ? false : values.includes(null) ? null : true;
}

const numbers: fc.Arbitrary<Value<number | bigint>> = fc.oneof(
  fc.constantFrom<Value<number | bigint>>(
    { text: 'i', of: (row) => row.i },
    { text: 'n', of: (row) => row.n },
    { text: 'f', of: (row) => row.f },
    { text: 'length(s)', of: (row) => (row.s === null ? null : Array.from(row.s).length) },
    { text: 'abs(f)', of: (row) => (row.f === null ? null : Math.abs(row.f)) },
    { text: 'coalesce(n, 3)', of: (row) => row.n ?? 3 },
    {
      text: '(n / 2 - n % 2)',
      of: (row) => (row.n === null ? null : Math.trunc(row.n / 2) - (row.n % 2)),
    },
    { text: '(f * 2.0)', of: (row) => (row.f === null ? null : row.f * 2) },
    { text: 'case when b then n else -5 end', of: (row) => (row.b === true ? row.n : -5) },
  ),
  longs.map((value) => ({ text: String(value), of: () => value })),
  floats.map((value) => ({ text: floatText(value), of: () => value })),
  fc.constant({ text: 'null', of: () => null }),
);

const texts: fc.Arbitrary<Value<string>> = fc.oneof(
  fc.constantFrom<Value<string>>(
    { text: 's', of: (row) => row.s },
    { text: 'g', of: (row) => row.s },
    { text: "(s || 'c')", of: (row) => (row.s === null ? null : `${row.s}c`) },
    { text: 'lower(g)', of: (row) => row.s?.toLowerCase() ?? null },
    { text: "coalesce(g, 'none')", of: (row) => row.s ?? 'none' },
    {
      text: "case when n > 0 then g else 'x' end",
      of: (row) => (row.n !== null && row.n > 0 ? row.s : 'x'),
    },
  ),
  words.map((value) => ({ text: quoted(value), of: () => value })),
);

function comparison<Type extends bigint | number | string>(
  values: fc.Arbitrary<Value<Type>>,
): fc.Arbitrary<Predicate> {
  return fc
    .tuple(values, fc.constantFrom(...Object.keys(comparisons)), values)
    .map(([left, operator, right]) => ({
      text: `${left.text} ${operator} ${right.text}`,
      test: (row: Row): Truth => {
        const [a, b] = [left.of(row), right.of(row)];
        return a === null || b === null ? null : comparisons[operator]!(order(a, b));
      },
    }));
}

function membership<Type extends bigint | number | string>(
  values: fc.Arbitrary<Value<Type>>,
): fc.Arbitrary<Predicate> {
  return fc
    .tuple(values, fc.array(values, { minLength: 1, maxLength: 4 }), fc.boolean())
    .map(([value, items, negated]) => ({
      text: `${value.text} ${negated ? 'not ' : ''}in (${items.map(({ text }) => text).join(', ')})`,
      test: (row: Row): Truth => {
        const found = value.of(row);
        const others = items.map((item) => {
          const other = item.of(row);
          return found === null || other === null ? null : order(found, other) !== 0;
        });
        return negated ? all(others) : not(all(others));
      },
    }));
}

function between<Type extends bigint | number | string>(
  values: fc.Arbitrary<Value<Type>>,
): fc.Arbitrary<Predicate> {
  return fc.tuple(values, values, values).map(([value, low, high]) => ({
    text: `${value.text} between ${low.text} and ${high.text}`,
    test: (row: Row): Truth => {
      const [found, from, to] = [value.of(row), low.of(row), high.of(row)];
      const above = found === null || from === null ? null : order(found, from) >= 0;
      return all([above, found === null || to === null ? null : order(found, to) <= 0]);
    },
  }));
}

const likes: fc.Arbitrary<Predicate> = fc
  .tuple(texts, words, fc.boolean())
  .map(([value, part, start]) => ({
    text: `${value.text} like ${quoted(start ? `${part.replaceAll('%', '\\%')}%` : `%${part.replaceAll('%', '\\%')}%`)}`,
    test: (row: Row): Truth => {
      const found = value.of(row);
      return found === null ? null : start ? found.startsWith(part) : found.includes(part);
    },
  }));

const leaves = fc.oneof(
  comparison(numbers),
  comparison(texts),
  membership(numbers),
  membership(texts),
  between(numbers),
  between(texts),
  likes,
  fc.constant<Predicate>({ text: 'b', test: (row: Row): Truth => row.b }),
  fc.constant<Predicate>({
    text: 'n <> 0 and 100 / n > 5',
    test: (row: Row): Truth => (row.n === null ? null : row.n !== 0 && Math.trunc(100 / row.n) > 5),
  }),
  fc.tuple(fc.oneof(numbers, texts), fc.boolean()).map(([value, negated]) => ({
    text: `${value.text} is ${negated ? 'not ' : ''}null`,
    test: (row: Row) => (value.of(row) === null) !== negated,
  })),
);

const predicates: fc.Arbitrary<Predicate> = fc.letrec<{ node: Predicate }>((tie) => ({
  node: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    leaves,
    tie('node').map(({ text, test }) => ({
      text: `not (${text})`,
      test: (row: Row): Truth => not(test(row)),
    })),
    fc.array(tie('node'), { minLength: 2, maxLength: 4 }).map((parts) => ({
      text: parts.map(({ text }) => `(${text})`).join(' and '),
      test: (row: Row): Truth => all(parts.map(({ test }) => test(row))),
    })),
    fc.array(tie('node'), { minLength: 2, maxLength: 4 }).map((parts) => ({
      text: parts.map(({ text }) => `(${text})`).join(' or '),
      test: (row: Row): Truth => not(all(parts.map(({ test }) => not(test(row))))),
    })),
    fc
      .tuple(tie('node'), fc.constantFrom<Truth>(true, false, null), fc.boolean())
      .map(([inner, state, negated]) => ({
        text: `(${inner.text}) is ${negated ? 'not ' : ''}${state === null ? 'unknown' : state}`,
        test: (row: Row): Truth => (inner.test(row) === state) !== negated,
      })),
    fc.tuple(tie('node'), tie('node'), tie('node')).map(([when, then, otherwise]) => ({
      text: `case when ${when.text} then ${then.text} else ${otherwise.text} end`,
      test: (row: Row): Truth => (when.test(row) === true ? then.test(row) : otherwise.test(row)),
    })),
  ),
})).node;

it('a predicate is for every row what it is for that row alone', () => {
  fc.assert(
    fc.property(
      fc.array(rows, { minLength: 1, maxLength: 25 }),
      predicates,
      (values, { text, test }) => {
        const strings = values.map(({ s }) => s);
        const batch = batchOf({
          i: column(
            new Int64(),
            values.map(({ i }) => i),
          ),
          n: column(
            new Int32(),
            values.map(({ n }) => n),
          ),
          f: column(
            new Float64(),
            values.map(({ f }) => f),
          ),
          s: column(new Utf8(), strings),
          g: column(new Dictionary(new Utf8(), new Int32()), strings),
          b: column(
            new Bool(),
            values.map(({ b }) => b),
          ),
        });
        const expected = values.map(test);
        expect(ask(text, batch)).toEqual(expected);
        expect(select(text, batch)).toEqual(
          expected.flatMap((state, row) => (state === true ? [row] : [])),
        );
      },
    ),
    { numRuns: casesOf(300, 1000) },
  );
});
