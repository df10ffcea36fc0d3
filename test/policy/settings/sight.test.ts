import { describe, expect, it } from 'vitest';
import { parseRestrictions } from '../../../src/policy/settings/restrictions.ts';
import { directionOf, sightChanges } from '../../../src/policy/settings/sight.ts';

/** The restrictions of some entries, each without name and tables. */
const bound = (...entries: readonly string[]) =>
  entries.length === 0
    ? []
    : parseRestrictions(
        `restrictions:\n${entries.map((entry, at) => `  - { name: r${at}, tables: ['/t'], ${entry} }\n`).join('')}`,
      );

const told = (before: readonly string[], after: readonly string[]) =>
  sightChanges(bound(...before), bound(...after)).map(
    ({ direction, column, was, now, rule }) => [direction, column, was, now, rule] as const,
  );

describe('what a change of restrictions does to what a caller sees', () => {
  it('is nothing for the same filters and masks, however they are written', () => {
    expect(told([], [])).toEqual([]);
    expect(told(['rows: "Region  = \'eu\'"'], ['rows: "region = \'eu\'"'])).toEqual([]);
    expect(
      told(['rows: a > 1', 'columns: { b: hidden }'], ['rows: a > 1, columns: { b: hidden }']),
    ).toEqual([]);
  });

  it.each([
    [[], ['rows: a > 1'], ['fewer', null, 'all', 'a > 1', 'restrictions.yaml:2']],
    [['rows: a > 1'], [], ['more', null, 'a > 1', 'all', null]],
    [
      ['rows: a > 1'],
      ['rows: a > 1', 'rows: b > 1'],
      ['fewer', null, 'a > 1', 'a > 1 AND b > 1', 'restrictions.yaml:3'],
    ],
    [['rows: a > 1'], ['rows: a > 2'], ['other', null, 'a > 1', 'a > 2', 'restrictions.yaml:2']],
    [[], ['canary: id = 9'], ['fewer', null, 'all', 'NOT (id = 9)', 'restrictions.yaml:2']],
    [
      [],
      ['columns: { a: { mask: sha256 } }'],
      ['fewer', 'a', 'shown', 'sha256', 'restrictions.yaml:2'],
    ],
    [
      ['columns: { a: { mask: sha256 } }'],
      ['columns: { a: hidden }'],
      ['fewer', 'a', 'sha256', 'hidden', 'restrictions.yaml:2'],
    ],
    [['columns: { a: hidden }'], [], ['more', 'a', 'hidden', 'shown', null]],
    [
      ['columns: { a: { mask: first, n: 1 } }'],
      ['columns: { a: { mask: first, n: 2 } }'],
      ['other', 'a', 'first (1)', 'first (2)', 'restrictions.yaml:2'],
    ],
  ])('from %j to %j is %j', (before, after, change) => {
    expect(told(before, after)).toEqual([change]);
  });

  it('is told for the rows first, then for each column, and as one direction', () => {
    const changes = sightChanges(
      bound('columns: { b: hidden }'),
      bound("rows: a > 1, columns: { a: hidden, b: { mask: 'null' } }"),
    );
    expect(changes.map(({ direction, column }) => [direction, column])).toEqual([
      ['fewer', null],
      ['fewer', 'a'],
      ['more', 'b'],
    ]);
    expect(directionOf(changes)).toBe('other');
    expect(directionOf(changes.slice(0, 2))).toBe('fewer');
    expect(directionOf([])).toBeUndefined();
  });
});
