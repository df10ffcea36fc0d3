import { Dictionary, Int32, Utf8 } from 'apache-arrow';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ask, batchOf, column, constant, refusal, select, typeOf } from '../support.ts';
import { casesOf } from '../../support/cases.ts';

const texts = ['abc', 'ABC', '', 'foo bar-baz', 'é😀x', 'line\nbreak', 'a1_b22', null];
const batch = batchOf({
  s: column(new Utf8(), texts),
  p: column(new Utf8(), ['^a', '^a', '^$', '\\bbar', 'x$', 'e.b', '\\d{2}', 'a']),
  coded: column(new Dictionary(new Utf8(), new Int32()), ['a', 'B', 'a', 'B', 'a', 'B', 'a', null]),
  n: column(new Int32(), [1, 2, 3, 4, 5, 6, 7, null]),
});

describe('regexp_like', () => {
  it.each([
    ['b', [0, 3, 5, 6]],
    ['^b', []],
    ['c$', [0]],
    ['^abc$', [0]],
    ['^$', [2]],
    ['', [0, 1, 2, 3, 4, 5, 6]],
    ['a|x', [0, 3, 4, 5, 6]],
    ['|q', [0, 1, 2, 3, 4, 5, 6]],
    ['^.{3}$', [0, 1, 4]],
    ['[a-c]{3}', [0]],
    ['[^a-z]', [1, 3, 4, 5, 6]],
    ['[]a]', [0, 3, 5, 6]],
    ['[a\\]]', [0, 3, 5, 6]],
    ['r[ -]b', [3]],
    ['[z-]b', [3]],
    ['\\d', [6]],
    ['\\d\\d$', [6]],
    ['^\\D+$', [0, 1, 3, 4, 5]],
    ['^\\w+$', [0, 1, 6]],
    ['^\\w\\W\\w$', [4]],
    ['\\s', [3, 5]],
    ['[\\s\\d]', [3, 5, 6]],
    ['^\\S*$', [0, 1, 2, 4, 6]],
    ['\\bba', [3]],
    ['\\Bar', [3]],
    ['\\b', [0, 1, 3, 4, 5, 6]],
    ['e.b', []],
    ['(?s)e.b', [5]],
    ['^break', []],
    ['(?m)^break$', [5]],
    ['(?m)^line$', [5]],
    ['\\Aline\\z', []],
    ['(?i)aBc', [0, 1]],
    ['(?i:a)bc', [0]],
    ['(?i)a(?-i)B', [1]],
    ['(?i)É', [4]],
    ['(?i)[x-z]$', [3, 4]],
    ['(?i)[^A]bc', []],
    ['a(b)?(c)', [0]],
    ['(?:ab|AB)(?<tail>c|C)$', [0, 1]],
    ['(?P<head>a)b', [0]],
    ['^(a|b|c)*$', [0, 2]],
    ['^(a|b|c)+?$', [0]],
    ['(foo|bar) ?b', [3]],
    ['a{2}', []],
    ['b2{1,}', [6]],
    ['b2{3,}', []],
    ['b2{0,1}$', []],
    ['^b**', [0, 1, 2, 3, 4, 5, 6]],
    ['^(a*)*$', [2]],
    ['^(|a)+bc$', [0]],
    ['\\x61\\x{62}', [0]],
    ['\\n', [5]],
    ['\\.', []],
    ['\\-b', [3]],
    ['😀', [4]],
    ['[😀-😂]x', [4]],
    ['ax{0}bc', [0]],
    ['()', [0, 1, 2, 3, 4, 5, 6]],
  ])('%s', (pattern, rows) => {
    const text = `regexp_like(s, '${pattern}')`;
    expect(select(text, batch)).toEqual(rows);
    expect(ask(text, batch)[7]).toBeNull();
    expect(select(`regexp_match(s, '${pattern}')`, batch)).toEqual(rows);
  });

  it.each([
    ["regexp_like(s, 'ABC', 'i')", [0, 1]],
    ["regexp_like(s, '^BREAK', 'im')", [5]],
    ["regexp_like(s, 'e.b', 's')", [5]],
    ["regexp_like(s, 'b', '')", [0, 3, 5, 6]],
    ["regexp_like(s, 'b', null)", [0, 3, 5, 6]],
    ['regexp_like(s, null)', []],
    ['regexp_like(s, p)', [0, 2, 3, 4, 6]],
    ["regexp_like(s, 'b') and n > 4", [5, 6]],
    ["regexp_like(coded, 'B')", [1, 3, 5]],
    ["not regexp_like(coded, 'B')", [0, 2, 4, 6]],
    ["not regexp_match(coded, 'B')", [0, 2, 4, 6, 7]],
    ["not regexp_like(s, 'b')", [1, 2, 4]],
    ["not regexp_match(s, 'b')", [1, 2, 4, 7]],
    ["regexp_match(s, 'b') is not null", [0, 3, 5, 6]],
    ["regexp_match(s, 'B', 'i') or false", [0, 1, 3, 5, 6]],
  ])('%s', (text, rows) => {
    expect(select(text, batch)).toEqual(rows);
    expect(typeOf(text, batch)).toBe('Bool');
  });

  it('knows letters and cases of all scripts', () => {
    expect(constant("regexp_like('жизнь', '^\\w+$')")).toBe(true);
    expect(constant("regexp_like('٣', '^\\d$')")).toBe(true);
    expect(constant("regexp_like('a\u00a0b', 'a\\sb')")).toBe(true);
    expect(constant("regexp_like('ΣΊΣΥΦΟΣ', '(?i)σίσυφος')")).toBe(true);
    expect(constant("regexp_like('K', '(?i)[j-l]')")).toBe(true);
  });

  it.each([
    ['a(b', ') after a group', 4, 'its end'],
    ['a)b', 'a group that ) closes', 2, "')b'"],
    ['*a', 'something to repeat before a quantifier', 1, "'*a'"],
    ['a|+', 'something to repeat before a quantifier', 3, "'+'"],
    ['a{', 'a count such as {2} or {2,5}', 2, "'{'"],
    ['a{,2}', 'a count such as {2} or {2,5}', 2, "'{,2}'"],
    ['a{3,2}', 'a count from a lower to a higher number', 2, "'{3,2}'"],
    ['[a', '] after the characters of a class', 3, 'its end'],
    ['[z-a]', 'a range from a lower to a higher character', 2, "'z-a]'"],
    ['[[:alpha:]]', 'a character of a class', 2, "'[:alpha:]]'"],
    ['[a&&b]', 'a character of a class', 3, "'&&b]'"],
    ['a(?=b)', 'a group that does not look around', 3, "'?=b)'"],
    ['(?<!a)b', 'a group that does not look around', 2, "'?<!a)b'"],
    ['(?x)a', 'a group such as (?:, (?<name> or (?i)', 3, "'x)a'"],
    ['(?<1>a)', 'the name of a group', 2, "'?<1>a)'"],
    ['(a)\\1', 'an escape such as \\d, \\w, \\s, \\b, \\n or \\.', 4, "'\\1'"],
    ['\\p{L}', 'an escape such as \\d, \\w, \\s, \\b, \\n or \\.', 1, "'\\p{L}'"],
    ['a\\', 'an escape such as \\d, \\w, \\s, \\b, \\n or \\.', 2, "'\\'"],
    ['\\xzz', 'the hexadecimal digits of a character', 1, "'\\xzz'"],
    ['\\x{110000}', 'the hexadecimal digits of a character', 1, "'\\x{110000}'"],
  ])('refuses %s', (pattern, expected, at, found) => {
    expect(refusal(`regexp_like(s, '${pattern}')`, batch)).toBe(
      `value: expected ${expected} at character ${at} of the regular expression, found ${found}, at position 16`,
    );
  });

  it.each([
    [
      "regexp_like(n, 'a')",
      "type: expected a string as argument 1 of regexp_like(text, pattern[, 'flags']), found int32, at position 13",
    ],
    [
      'regexp_match(s, 5)',
      "type: expected a string as argument 2 of regexp_match(text, pattern[, 'flags']), found int64, at position 17",
    ],
    [
      'regexp_like(s)',
      "type: expected regexp_like(text, pattern[, 'flags']), found 1 argument, at position 1",
    ],
    [
      "regexp_like(s, 'a', 'g')",
      "value: expected the letters i, m and s as the flags of regexp_like, found 'g', at position 21",
    ],
    [
      "regexp_like(s, 'a', s)",
      'value: expected the letters i, m and s as the flags of regexp_like, found no literal, at position 21',
    ],
    [
      "regexp_like(s, s || '(')",
      'value: expected ) after a group at character 5 of the regular expression, found its end, at position 18',
    ],
  ])('%s', (text, message) => {
    expect(refusal(text, batch)).toBe(message);
  });
});

describe('a regular expression', () => {
  it.each([
    ['a{1001}', 'at most 1000 repetitions in a regular expression, found 1001'],
    ['(a{100}){100}', 'a regular expression of at most 200 steps, found more'],
    ['(((){1000}){1000}){1000}', 'a regular expression of at most 200 steps, found more'],
    ['((a{0,30}){0,30}){0,30}', 'a regular expression of at most 200 steps, found more'],
    ['('.repeat(51), 'at most 50 nested groups in a regular expression, found more'],
    ['a'.repeat(4097), 'a regular expression of at most 4096 characters, found 4097'],
    ['a'.repeat(500), 'a regular expression of at most 200 steps, found more'],
  ])('%s is too large', (pattern, message) => {
    expect(refusal(`regexp_like(s, '${pattern}')`, batch)).toBe(
      `limit: expected ${message}, at position 16`,
    );
  });

  const long = batchOf({ s: column(new Utf8(), ['a'.repeat(200_000), 'ab'.repeat(100_000)]) });

  it.each([
    ['(a*)*$c', []],
    ['(a*)*b', [1]],
    ['(a|aa)+$', [0]],
    ['(a|a?)+c', []],
    ['^(([ab])*)*c', []],
    ['(.*)(.*)(.*)(.*)(.*)c', []],
    ['(a?){60}a{60}c', []],
    ['a.{150}c', []],
    ['[ab]*a[ab]{30}c', []],
    ['(x+x+)+y', []],
    ['(\\w+\\s*)+:', []],
  ])('%s needs time in proportion to the text', (pattern, rows) => {
    expect(select(`regexp_like(s, '${pattern}')`, long)).toEqual(rows);
  });

  it('remembers no more than it may on texts that lead to ever new states', () => {
    let seed = 1;
    const letters = Array.from({ length: 100_000 }, () => {
      seed = (seed * 48_271) % 2_147_483_647;
      return seed % 2 === 0 ? 'a' : 'b';
    }).join('');
    const random = batchOf({ s: column(new Utf8(), [letters, `${letters}a${'b'.repeat(40)}c`]) });
    expect(select("regexp_like(s, 'a[ab]{40}c')", random)).toEqual([1]);
    expect(select("regexp_like(s, 'a[ab]{41}c')", random).length).toBeLessThanOrEqual(1);
  });

  const atom = fc.constantFrom(
    'a',
    'b',
    '.',
    '[ab]',
    '[^a]',
    '\\w',
    '\\W',
    '\\b',
    '\\B',
    '^',
    '$',
    'é',
    '😀',
    '-',
  );
  const patterns = fc.letrec<{ node: string }>((tie) => ({
    node: fc.oneof(
      { maxDepth: 4, withCrossShrink: true },
      atom,
      fc.tuple(tie('node'), tie('node')).map(([left, right]) => left + right),
      fc.tuple(tie('node'), tie('node')).map(([left, right]) => `(${left}|${right})`),
      fc
        .tuple(tie('node'), fc.constantFrom('*', '+', '?', '{2}', '{1,2}', '{0,}', '*?', '??'))
        .map(([body, quantifier]) => `(?:${body})${quantifier}`),
    ),
  })).node;
  const subjects = fc
    .array(fc.constantFrom('a', 'b', 'A', '-', '\n', '€'), { maxLength: 8 })
    .map((characters) => characters.join(''));

  it('finds what a backtracking matcher finds', () => {
    fc.assert(
      fc.property(patterns, subjects, (pattern, text) => {
        const expected = new RegExp(pattern, 'u').test(text);
        expect(constant(`regexp_like('${text}', '${pattern}')`)).toBe(expected);
        const folded = new RegExp(pattern, 'iu').test(text);
        expect(constant(`regexp_like('${text}', '${pattern}', 'i')`)).toBe(folded);
      }),
      { numRuns: casesOf(500, 2000) },
    );
  });
});
