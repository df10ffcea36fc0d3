import { describe, expect, it } from 'vitest';
import {
  liesWithin,
  namedPath,
  namedText,
  rootedPath,
  rootOf,
} from '../../src/protocol/database.ts';

const databases = new Map([
  ['prod', ['prod']],
  ['deep', ['a.b', 'c d']],
]);

describe('the root of a request', () => {
  it.each([
    [{}, []],
    [{ 'x-lancedb-database': 'prod' }, ['prod']],
    [
      { 'x-lancedb-database': 'prod', 'x-lancedb-database-prefix': 'x/y%20z/' },
      ['prod', 'x', 'y z'],
    ],
    [{ 'x-lancedb-database': 'deep', 'x-lancedb-database-prefix': '' }, ['a.b', 'c d']],
    [{ 'x-lancedb-database': 'Prod' }, { unknown: 'Prod' }],
  ])('of %j is %j', (headers, root) => {
    expect(rootOf(headers, databases)).toEqual(root);
    expect(rootOf(headers, new Map())).toEqual([]);
    expect(rootOf(headers, undefined)).toEqual([]);
  });

  it.each(['..', 'a//b', 'a/./b', '%zz', 'a%00'])('is refused with the prefix %s', (prefix) => {
    const headers = { 'x-lancedb-database': 'prod', 'x-lancedb-database-prefix': prefix };
    expect(() => rootOf(headers, databases)).toThrow(
      expect.objectContaining({ name: 'CatalogError' }),
    );
  });
});

describe('a name below a root', () => {
  it('stands for an object, and the object for the name', () => {
    const rooted = { root: ['prod'] };
    for (const path of [[], ['t'], ['prod'], ['prod', 't'], ['a', 'b']]) {
      expect(rootedPath(rooted, path)).toEqual(['prod', ...path]);
      expect(namedPath(rooted, ['prod', ...path])).toEqual(path);
    }
    expect(rootedPath(rooted, ['system', 'audit'])).toEqual(['system', 'audit']);
    expect(namedPath(rooted, ['system', 'audit'])).toEqual(['system', 'audit']);
    expect(rootedPath({}, ['t'])).toEqual(['t']);
  });

  it('is too long with its root, where both together are', () => {
    expect(() => rootedPath({ root: ['prod'] }, ['x'.repeat(1020)])).toThrow('at most 1024 bytes');
  });

  it('is within it by whole names', () => {
    expect(liesWithin(['prod', 't'], ['prod'])).toBe(true);
    expect(liesWithin(['prod'], ['prod'])).toBe(true);
    expect(liesWithin(['production'], ['prod'])).toBe(false);
    expect(liesWithin([], ['prod'])).toBe(false);
  });
});

describe('a sentence for a database', () => {
  it.each([
    ['table /prod/t does not exist', 'table /t does not exist'],
    ['namespace /prod is not empty', 'namespace / is not empty'],
    ['/prod/a and /prod/b.', '/a and /b.'],
    ['"/prod/t" and prod$t, or "prod$a$b"', '"/t" and t, or "a$b"'],
    ['at the end /prod.', 'at the end /.'],
    ['/production/t, /x/prod/t, /prod.old/t, /prod%20/t, /prod-2', undefined],
    ['production$t, other$prod$t', undefined],
    ['/prod/prod/t', '/prod/t'],
  ])('%s', (text, named = text) => {
    expect(namedText({ root: ['prod'] }, text)).toBe(named);
    expect(namedText({}, text)).toBe(text);
  });

  it('knows names that are encoded', () => {
    const root = ['a.b', 'c d'];
    expect(namedText({ root }, 'table /a.b/c%20d/t is there')).toBe('table /t is there');
    expect(namedText({ root }, 'table /aXb/c%20d/t')).toBe('table /aXb/c%20d/t');
  });
});
