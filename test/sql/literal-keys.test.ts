import { describe, expect, it } from 'vitest';
import { literalKeys, LiteralSearch, MAX_LITERAL_KEYS } from '../../src/sql/literal-keys.ts';

const keysOf = (text: string) =>
  literalKeys(text).map((key) => key.map(({ column, value }) => `${column}=${value}`).join('&'));

/** Whether expressions name a key of a canary. */
function names(canary: string, ...texts: readonly string[]): boolean {
  const keys = literalKeys(canary);
  const search = new LiteralSearch(keys);
  for (const text of texts) search.add(text);
  return keys.some((key) => search.has(key));
}

describe('the keys of an expression', () => {
  it.each([
    ['id = 7', ['id=7e0']],
    ["'a' = Name", ['name=a']],
    ['id IN (7, 8) OR id = -90', ['id=7e0', 'id=8e0', 'id=-9e1']],
    ["id = 7 AND region IN ('eu', 'us')", ['id=7e0&region=eu', 'id=7e0&region=us']],
    ["id = 7 AND created > DATE '2020-01-01'", ['id=7e0']],
    ['place.city = true', ['place.city=true']],
    ['id > 7 OR NOT id = 8 OR id NOT IN (9) OR id = NULL OR a = b', []],
  ])('%s', (text, keys) => {
    expect(keysOf(text)).toEqual(keys);
  });

  it('are not without end', () => {
    const list = (column: string) =>
      `${column} IN (${Array.from({ length: 40 }, (_, i) => i).join()})`;
    expect(keysOf(`${list('a')} OR ${list('b')}`)).toHaveLength(80);
    expect(() => keysOf(`${list('a')} AND ${list('b')}`)).toThrow(RangeError);
    const many = Array.from({ length: MAX_LITERAL_KEYS + 1 }, (_, i) => i);
    expect(() => keysOf(`a IN (${many.join()})`)).toThrow(RangeError);
  });
});

describe('an expression names a key', () => {
  it.each([
    'id = 999999',
    '999999 = ID',
    'id = 999999.0',
    'id = 9.99999e5',
    `id = ${'0'.repeat(50)}999999`,
    'id IN (1, 2, 999999)',
    'id BETWEEN 999999 AND 999999',
    "CAST(id AS string) = '999999'",
    'region = 1 OR NOT (a > 2 AND id <= 999999)',
    'CASE WHEN id = 999999 THEN 1 / 0 ELSE 1 END = 1',
    'id - 999999 = 0',
    'coalesce("id", 0) = 999999',
  ])('%s', (text) => {
    expect(names('id = 999999', text)).toBe(true);
  });

  it.each([
    'id = 99999',
    'id = 9999990',
    'id = -999999',
    'price = 999999 AND id = 1',
    'id = price',
    'id =',
    "name = 'id = 999999'",
  ])('not %s', (text) => {
    expect(names('id = 999999', text)).toBe(false);
  });

  it('with all of its values, in one expression or several', () => {
    const canary = "id = 7 AND region = 'eu'";
    expect(names(canary, "region = 'eu'")).toBe(false);
    expect(names(canary, "id = 7 AND region = 'us'")).toBe(false);
    expect(names(canary, "region = 'eu' AND id < 7")).toBe(true);
    expect(names(canary, "region = 'eu'", 'id = 7')).toBe(true);
  });

  it('with a text that is searched for', () => {
    const search = new LiteralSearch(literalKeys("email = 'trap@x.org'"));
    search.addSearched('trap@x.org');
    expect(search.has([{ column: 'email', value: 'trap@x.org' }])).toBe(true);
  });
});
