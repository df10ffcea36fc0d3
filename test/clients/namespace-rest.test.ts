import { readdir } from 'node:fs/promises';
import type { Connection } from '@lancedb/lancedb';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { ADMIN_KEY, Service } from '../support/service.ts';
import { arrow, connectTo, errorOf, lancedb, rowsOf } from './lancedb.ts';

/** The namespace client, which reads and writes tables itself wherever the catalog lets it. */

const ROWS = [{ id: 1 }, { id: 2 }];
let service: Service;
let client: Connection;
let db: Connection;

beforeAll(async () => {
  service = await Service.start({
    policy: `p, role:admin, /**, *, allow\np, user:reader, /seen/**, read, allow\n`,
  });
  client = await connectAs(ADMIN_KEY);
  db = await connectTo(service);
});

afterAll(() => service.stop());

function connectAs(key: string): Promise<Connection> {
  return lancedb.connectNamespace('rest', { uri: service.url, headers: { 'x-api-key': key } });
}

/** A call, and words of its refusal. */
type Refused = readonly [() => Promise<unknown>, string];

/** What the client says of a refusal. */
async function messageOf(call: Promise<unknown>): Promise<string> {
  return (await errorOf(call)).message;
}

describe('namespaces', () => {
  it('are made, described, listed and dropped', async () => {
    const properties = { owner: 'ann', note: 'ü $ /' };
    expect(await client.createNamespace(['made'], { properties })).toEqual({ properties });
    await client.createNamespace(['made', 'in ner+']);
    await client.createNamespace(['made', 'ö']);
    expect(await client.describeNamespace(['made'])).toEqual({ properties });
    expect(await client.listNamespaces()).toEqual({ namespaces: ['made'] });
    expect(await client.listNamespaces(['made'])).toEqual({ namespaces: ['in ner+', 'ö'] });
    const page = await client.listNamespaces(['made'], { limit: 1 });
    expect(page).toEqual({ namespaces: ['in ner+'], pageToken: 'in ner+' });
    await client.dropNamespace(['made', 'in ner+']);
    expect(await client.listNamespaces(['made'])).toEqual({ namespaces: ['ö'] });
    expect(await client.dropNamespace(['made'], { behavior: 'cascade' })).toEqual({ properties });
    expect(await client.listNamespaces()).toEqual({ namespaces: [] });
  });

  it('take the modes of the client', async () => {
    await client.createNamespace(['modes'], { properties: { a: '1' } });
    const again = await client.createNamespace(['modes'], { mode: 'exist_ok' });
    expect(again).toEqual({ properties: { a: '1' } });
    const over = await client.createNamespace(['modes'], { mode: 'overwrite' });
    expect(over).toEqual({ properties: {} });
    await client.dropNamespace(['modes']);
    expect(await client.dropNamespace(['modes'], { mode: 'skip' })).toEqual({});
  });

  it('are refused with the words of the service', async () => {
    await client.createNamespace(['full']);
    await client.createNamespace(['full', 'inner']);
    const cases: Refused[] = [
      [
        () => client.createNamespace(['full']),
        'Namespace already exists: namespace /full already exists',
      ],
      [
        () => client.describeNamespace(['none']),
        'Namespace not found: namespace /none does not exist',
      ],
      [() => client.dropNamespace(['none']), 'Namespace not found: namespace /none does not exist'],
      [() => client.tableNames(['none']), 'Namespace not found: namespace /none does not exist'],
      [() => client.dropNamespace(['full']), 'Namespace not empty: namespace /full is not empty'],
      [() => client.dropNamespace([]), 'Invalid input: the root namespace cannot be dropped'],
    ];
    for (const [call, words] of cases) expect(await messageOf(call())).toContain(words);
    await client.dropNamespace(['full'], { behavior: 'cascade' });
  });
});

describe('tables', () => {
  it('are listed in pages', async () => {
    await client.createNamespace(['pages']);
    for (const name of ['c', 'a', 'b']) await db.createTable(name, ROWS, ['pages']);
    expect(await client.tableNames(['pages'])).toEqual(['a', 'b', 'c']);
    expect(await client.tableNames(['pages'], { limit: 2 })).toEqual(['a', 'b']);
    expect(await client.tableNames(['pages'], { limit: 2, startAfter: 'b' })).toEqual(['c']);
    expect(await client.tableNames()).toEqual([]);
  });

  it('are dropped', async () => {
    await client.createNamespace(['drops']);
    await db.createTable('t', ROWS, ['drops']);
    await client.dropTable('t', ['drops']);
    expect(await db.tableNames(['drops'])).toEqual([]);
    const missing = 'Table not found: table /drops/t does not exist';
    expect(await messageOf(client.dropTable('t', ['drops']))).toContain(missing);
  });
});

/** Every file of the catalog, save the audit log, which each request makes longer. */
async function files(): Promise<readonly string[]> {
  const names = await readdir(service.data, { recursive: true });
  // A file of that ending is being replaced: the sign of life of the process is, each second.
  return names.filter((name) => !name.startsWith('private') && !name.endsWith('.new')).sort();
}

/** What a writer behind the engine's back would change. */
async function state(): Promise<unknown> {
  const tables = await db.tableNames(['own']);
  const table = await db.openTable('t', ['own']);
  const versions = await table.listVersions();
  return { tables, versions, rows: await rowsOf(table), files: await files() };
}

describe('a table of the engine', () => {
  let before: unknown;

  beforeAll(async () => {
    await db.createNamespace(['own']);
    await db.createTable('t', ROWS, ['own']);
  });

  beforeEach(async () => {
    before = await state();
  });

  it('is described without a place to write to', async () => {
    const response = await fetch(`${service.url}/v1/table/own%24t/describe?delimiter=%24`, {
      method: 'POST',
      headers: { 'x-api-key': ADMIN_KEY },
      body: JSON.stringify({ id: ['own', 't'] }),
    });
    const described: unknown = await response.json();
    expect(described).toMatchObject({ version: 1, managed_versioning: true });
    expect(described).toHaveProperty('schema');
    expect(described).not.toHaveProperty('location');
    expect(await state()).toEqual(before);
  });

  it('is not opened', async () => {
    const words = 'Table location not found in namespace response';
    expect(await messageOf(client.openTable('t', ['own']))).toContain(words);
    expect(await state()).toEqual(before);
  });

  it('is not made again', async () => {
    const create = client.createTable('t', ROWS, ['own']);
    expect(await messageOf(create)).toBe("Table 't' already exists");
    const empty = client.createEmptyTable('t', new arrow.Schema([]), ['own']);
    expect(await messageOf(empty)).toBe("Table 't' already exists");
    expect(await state()).toEqual(before);
  });

  it('is not overwritten', async () => {
    const overwrite = client.createTable('t', [{ other: 1 }], ['own'], { mode: 'overwrite' });
    expect(await messageOf(overwrite)).toContain('Table location is missing');
    expect(await state()).toEqual(before);
  });

  it('is not opened for want of a creation', async () => {
    const ensure = client.createTable('t', ROWS, ['own'], { existOk: true });
    expect(await messageOf(ensure)).toContain('Table location not found');
    expect(await state()).toEqual(before);
  });

  it('is renamed, and back', async () => {
    await client.renameTable('t', 'u', { namespacePath: ['own'] });
    expect(await client.tableNames(['own'])).toEqual(['u']);
    await client.renameTable('u', 't', { namespacePath: ['own'] });
    expect(await state()).toEqual(before);
  });

  it('that does not exist is not opened either', async () => {
    expect(await messageOf(client.openTable('absent', ['own']))).toContain(
      "Table 'absent' was not found",
    );
  });
});

describe('a reader', () => {
  it('sees what it may, and is refused the rest', async () => {
    for (const name of ['seen', 'hidden']) {
      await db.createNamespace([name]);
      await db.createTable('t', ROWS, [name]);
    }
    const reader = await connectAs(await service.key('reader'));
    expect(await reader.listNamespaces()).toEqual({ namespaces: ['seen'] });
    expect(await reader.tableNames(['seen'])).toEqual(['t']);
    expect(await reader.tableNames(['hidden'])).toEqual([]);
    const may = 'Permission denied: user:reader may not';
    const refused: Refused[] = [
      [() => reader.openTable('t', ['hidden']), `${may} DescribeTable on /hidden/t`],
      [() => reader.openTable('u', ['hidden']), `${may} DescribeTable on /hidden/u`],
      [() => reader.dropTable('t', ['seen']), `${may} DropTable on /seen/t`],
      [() => reader.createNamespace(['mine']), `${may} CreateNamespace on /mine`],
      [() => reader.createTable('u', ROWS, ['seen']), `${may} DeclareTable on /seen/u`],
    ];
    for (const [call, words] of refused) expect(await messageOf(call())).toContain(words);
  });

  it('without a key is nobody', async () => {
    const nobody = await lancedb.connectNamespace('rest', { uri: service.url });
    expect(await messageOf(nobody.tableNames())).toContain('Unauthenticated: a key is needed');
  });
});
