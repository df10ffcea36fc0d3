import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Connection } from '@lancedb/lancedb';
import { Service } from '../support/service.ts';
import { connectTo } from './lancedb.ts';

let service: Service;
let db: Connection;

/** Bytewise order, which is how pages continue. */
const NAMES = ['10', '9', 'B', 'a', 'a b', 'a.b', 'aa', 'z', 'é', '表', '𝒳'];

beforeAll(async () => {
  service = await Service.start();
  db = await connectTo(service);
  await db.createNamespace(['sub']);
  for (const name of NAMES.toReversed()) {
    await db.createTable(name, [{ id: 1 }]);
    await db.createTable(name, [{ id: 1 }], ['sub']);
    await db.createNamespace(['sub', `n${name}`]);
  }
});

afterAll(() => service.stop());

describe.each([
  ['the root', []],
  ['a namespace', ['sub']],
])('tableNames of %s', (_, namespace) => {
  it('lists the tables in the order of their bytes', async () => {
    expect(await db.tableNames(namespace)).toEqual(NAMES);
  });

  it.each([1, 3, 4, NAMES.length, 1000])('gives every name once in pages of %i', async (limit) => {
    const seen: string[] = [];
    for (;;) {
      const startAfter = seen.at(-1);
      const page = await db.tableNames(namespace, {
        limit,
        ...(startAfter === undefined ? {} : { startAfter }),
      });
      expect(page.length).toBeLessThanOrEqual(limit);
      if (page.length === 0) break;
      seen.push(...page);
    }
    expect(seen).toEqual(NAMES);
  });

  it('goes on behind a name that no table has', async () => {
    expect(await db.tableNames(namespace, { startAfter: 'aaa', limit: 2 })).toEqual(['z', 'é']);
    expect(await db.tableNames(namespace, { startAfter: '\u{10ffff}' })).toEqual([]);
  });

  it('lists nothing for a limit of zero, as an embedded database does', async () => {
    expect(await db.tableNames(namespace, { limit: 0 })).toEqual([]);
  });
});

describe('listNamespaces', () => {
  it('lists what lies directly in a namespace', async () => {
    expect(await db.listNamespaces()).toEqual({ namespaces: ['sub'] });
    expect(await db.listNamespaces(['sub'])).toEqual({
      namespaces: NAMES.map((name) => `n${name}`),
    });
  });

  it('gives every name once in pages, with a token while there are more', async () => {
    const seen: string[] = [];
    let pageToken: string | undefined;
    do {
      const options = { limit: 4, ...(pageToken === undefined ? {} : { pageToken }) };
      const page = await db.listNamespaces(['sub'], options);
      seen.push(...page.namespaces);
      pageToken = page.pageToken;
      expect(pageToken).toBe(seen.length < NAMES.length ? seen.at(-1) : undefined);
    } while (pageToken !== undefined);
    expect(seen).toEqual(NAMES.map((name) => `n${name}`));
  });
});
