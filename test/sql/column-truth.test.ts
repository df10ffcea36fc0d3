import { Float64, Int64, Utf8 } from 'apache-arrow';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { truthOverColumn } from '../../src/sql/column-truth.ts';
import { parseExpression } from '../../src/sql/parse.ts';
import { SqlError } from '../../src/sql/values/sql-error.ts';
import { casesOf } from '../support/cases.ts';
import { batchOf, column, select } from './support.ts';

/** Each literal below, and values beside and between them. */
const samples = {
  number: {
    literals: ['1', '2', '2.5', '-3'],
    columns: [
      column(new Int64(), [null, -5n, -4n, -3n, -2n, 0n, 1n, 2n, 3n, 9n]),
      column(new Float64(), [
        null,
        NaN,
        -Infinity,
        -4,
        -3,
        -2.5,
        0,
        1,
        1.5,
        2,
        2.25,
        2.5,
        2.75,
        9,
        Infinity,
      ]),
    ],
  },
  text: {
    literals: ["''", "'a'", "'ab'", "'b'", "'b%'"],
    columns: [
      column(new Utf8(), [null, '', '!', 'a', 'aa', 'ab', 'abc', 'b', 'b!', 'b%', 'ba', 'c']),
    ],
  },
};

/** Predicates over the column `v`. */
function predicates(literals: readonly string[]): fc.Arbitrary<string> {
  const literal = fc.constantFrom(...literals);
  const operator = fc.constantFrom('=', '<>', '<', '<=', '>', '>=', 'IS DISTINCT FROM');
  const not = fc.constantFrom('', 'NOT ');
  const leaf = fc.oneof(
    { weight: 4, arbitrary: fc.tuple(operator, literal).map(([is, one]) => `v ${is} ${one}`) },
    fc.tuple(not, literal, literal).map(([is, one, two]) => `v ${is}IN (${one}, ${two})`),
    fc.tuple(not, literal, literal).map(([is, one, two]) => `v ${is}BETWEEN ${one} AND ${two}`),
    not.map((is) => `v IS ${is}NULL`),
  );
  return fc.letrec<{ tree: string }>((tie) => ({
    tree: fc.oneof(
      { maxDepth: 3, withCrossShrink: true },
      leaf,
      fc.tuple(tie('tree'), tie('tree')).map(([one, two]) => `(${one} AND ${two})`),
      fc.tuple(tie('tree'), tie('tree')).map(([one, two]) => `(${one} OR ${two})`),
      tie('tree').map((inner) => `NOT (${inner})`),
    ),
  })).tree;
}

/** What the predicate is for the rows of all columns: one truth, or undefined if they differ. */
function truthOfRows(text: string, columns: (typeof samples)['text']['columns']) {
  const shares = columns.flatMap((values) => {
    try {
      return [select(text, batchOf({ v: values })).length / values.length];
    } catch (error) {
      if (error instanceof SqlError) return [];
      throw error;
    }
  });
  if (shares.every((share) => share === 0)) return false;
  return shares.every((share) => share === 1) ? true : undefined;
}

const truthOf = (text: string) => truthOverColumn(parseExpression(text), 'v', 0n);

describe.each(Object.entries(samples))('a predicate over a %s column', (_, sample) => {
  it('is the same for each row exactly where that is said', () => {
    let constant = 0;
    fc.assert(
      fc.property(predicates(sample.literals), (text) => {
        const found = truthOf(text);
        if (found !== undefined) constant++;
        expect({ text, found }).toEqual({ text, found: truthOfRows(text, sample.columns) });
      }),
      { numRuns: casesOf(300, 20_000) },
    );
    expect(constant).toBeGreaterThan(10);
  });
});

describe('a predicate over a column of several possible types', () => {
  it.each([
    // Two texts, but one date.
    ["v = '2020-01-01' AND v = '2020-1-1'", undefined],
    // Between whole numbers there are floats.
    ['v > 1 AND v < 2', undefined],
    ['v > 1 AND v < 1', false],
    // No row, whether it is compared as a date or as a text.
    ["v > '2030-01-01' AND v < '2020-01-01'", false],
    ['v AND NOT v', false],
    ["array_has(v, 'x') AND 1 = 1", undefined],
    ['1 / v = 1 AND v = 0', undefined],
    [`v IN (${Array.from({ length: 5000 }, (_, at) => at).join(', ')}) AND v = -1`, undefined],
  ])('%s', (text, truth) => {
    expect(truthOf(text)).toBe(truth);
  });
});
