import { Utf8 } from 'apache-arrow';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ask, batchOf, column, constant, refusal, select } from '../support.ts';

const values = ['abc', 'ABC', '', 'a_c', 'a%c', 'aébc', 'a😀c', 'abcabcabd', 'a\\c', null];
const batch = batchOf({
  s: column(new Utf8(), values),
  p: column(new Utf8(), ['a%', '%b%', '', 'a\\_c', '%\\%%', '_é__', 'a_c', '%abd', null, 'a']),
});

describe('LIKE', () => {
  it.each([
    ["s like 'abc'", [0]],
    ["s like 'a%'", [0, 3, 4, 5, 6, 7, 8]],
    ["s like '%c'", [0, 3, 4, 5, 6, 8]],
    ["s like '%b%'", [0, 5, 7]],
    ["s like '%'", [0, 1, 2, 3, 4, 5, 6, 7, 8]],
    ["s like '%%'", [0, 1, 2, 3, 4, 5, 6, 7, 8]],
    ["s like ''", [2]],
    ["s like '___'", [0, 1, 3, 4, 6, 8]],
    ["s like 'a_c'", [0, 3, 4, 6, 8]],
    ["s like 'a\\_c'", [3]],
    ["s like 'a\\%c'", [4]],
    ["s like 'a\\\\c'", [8]],
    ["s like 'a\\bc'", [0]],
    ["s like 'abc\\'", []],
    ["s like 'a#%c' escape '#'", [4]],
    ["s like 'a\\c' escape ''", [8]],
    ["s like '%é%'", [5]],
    ["s like 'abc%abd'", [7]],
    ["s like '%abc%abd'", [7]],
    ["s like '%a_c%a_d'", [7]],
    ["s like '%bca%bca%'", [7]],
    ["s like '%_b_%'", [0, 5, 7]],
    ["s like 'abcabcabd%abd'", []],
    ["s ilike 'aBc'", [0, 1]],
    ["s ilike '%É%'", [5]],
    ["s ilike 'A_C'", [0, 1, 3, 4, 6, 8]],
    ["s not like 'a%'", [1, 2]],
    ["s not ilike 'a%'", [2]],
    ['s like p', [0, 2, 3, 4, 5, 6, 7]],
    ["s || 'x' like p || 'x'", [0, 2, 3, 4, 5, 6, 7]],
    ['s like null', []],
  ])('%s', (text, rows) => {
    expect(select(text, batch)).toEqual(rows);
    expect(ask(text, batch)[9]).toBeNull();
  });

  it('takes only strings', () => {
    expect(refusal("1 like 'a'", batch)).toBe(
      'type: expected a string with LIKE, found int64, at position 1',
    );
    expect(refusal('s like 5', batch)).toBe(
      'type: expected a string with LIKE, found int64, at position 8',
    );
  });

  /** Tries every split; exponential, but plainly right. */
  function naive(text: readonly string[], pattern: readonly string[]): boolean {
    const [first, ...rest] = pattern;
    if (first === undefined) {
      return text.length === 0;
    }
    if (first === '%') {
      return text.some((_, at) => naive(text.slice(at), rest)) || naive([], rest);
    }
    return text.length > 0 && (first === '_' || first === text[0]) && naive(text.slice(1), rest);
  }

  it('agrees with a matcher that tries every split', () => {
    const texts = fc.array(fc.constantFrom('a', 'b', 'é', '😀'), { maxLength: 9 });
    const patterns = fc.array(fc.constantFrom('a', 'b', 'é', '😀', '%', '_', '%'), {
      maxLength: 7,
    });
    fc.assert(
      fc.property(texts, patterns, (text, pattern) => {
        const expected = naive(text, pattern);
        const [left, right] = [text.join(''), pattern.join('')];
        expect(constant(`'${left}' like '${right}'`)).toBe(expected);
        expect(constant(`'${left.toUpperCase()}' ilike '${right}'`)).toBe(expected);
      }),
      { numRuns: 1000 },
    );
  });

  it('needs time in proportion to the text, whatever the pattern', () => {
    const long = batchOf({ s: column(new Utf8(), ['a'.repeat(200_000)]) });
    expect(select(`s like '${'%a'.repeat(5000)}%b'`, long)).toEqual([]);
    expect(select(`s like '%${'a'.repeat(50_000)}b%'`, long)).toEqual([]);
    expect(select(`s like '%${'a'.repeat(1000)}_b%'`, long)).toEqual([]);
    expect(select(`s like '%${'_'.repeat(1024)}%'`, long)).toEqual([0]);
    expect(select(`s like '${'a%_'.repeat(3000)}b'`, long)).toEqual([]);
  });

  it('bounds a run of characters with _', () => {
    expect(refusal(`s like '%${'_'.repeat(1025)}%'`, batch)).toBe(
      'limit: expected at most 1024 characters between two % of a LIKE pattern with _, found 1025, at position 8',
    );
    const patterns = batchOf({
      s: column(new Utf8(), ['a']),
      p: column(new Utf8(), [`${'_'.repeat(2000)}%`]),
    });
    expect(refusal('s like p', patterns)).toBe(
      'limit: expected at most 1024 characters between two % of a LIKE pattern with _, found 2000, at position 8',
    );
  });
});
