import { describe, expect, it } from 'vitest';
import { columnsNamed, namesClock, normalText } from '../../src/sql/normal-text.ts';

describe('the normal form of an expression', () => {
  it.each([
    ["Region =  'EU'\n AND id<3", "region = 'EU' and id < 3"],
    ['"Region" = `x"y`', '"Region" = "x""y"'],
    ["a = 'it''s'", "a = 'it''s'"],
    ["b = X'AB'", "b = x'ab'"],
    ['f( a ,b )', 'f ( a , b )'],
    // No expression of this dialect.
    ["a -- b\n = 'x", "a -- b = 'x"],
  ])('of %s', (text, normal) => {
    expect(normalText(text)).toBe(normal);
  });
});

describe('the columns that an expression names', () => {
  const columns = ['id', 'Name', 'lower', 'b', 'a b'];
  it.each([
    ["id > 3 AND NAME = 'b'", ['id', 'Name']],
    ['lower(name) = \'x\' OR "a b" IS NULL', ['Name', 'a b']],
    ['s.id = 1 AND s."b" = 2', []],
    ['lower > 1', ['lower']],
    // Unknown: it may read all.
    ["id = 'x", columns],
  ])('of %s', (text, named) => {
    expect(columnsNamed(text, columns)).toEqual(named);
  });
});

describe('whether an expression may read the clock', () => {
  it.each([
    ['created < now()', true],
    ['day = CURRENT_DATE', true],
    ['"today" = 1', true],
    ["text = 'now'", true],
    ["region = 'eu' AND id < 3", false],
    // Unknown: it may.
    ["id = 'x", true],
  ])('of %s: %s', (text, may) => {
    expect(namesClock(text)).toBe(may);
  });
});
