import type { Connection, Table } from '@lancedb/lancedb';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Child } from '../support/child.ts';
import { eventually } from '../support/eventually.ts';
import { ADMIN_KEY, Service } from '../support/service.ts';
import { connectTo, lancedb, refusalOf, valuesOf } from './lancedb.ts';

/** What the owners' rules forbid gets in by no writer: through the service, or by the client's own hand. */

const RULES = `rules:
  - { name: sane, tables: [/sane], require: { check: 'id > 0', unique: [id] } }
  - { name: growing, tables: [/log], require: { append_only: true, schema: additive, no_drop: true } }
  - { name: few, tables: [/log], mode: warn, require: { max_rows: 1 } }
  - { name: read, tables: [/strict1], require: { check: 'id > 1' } }
  - { name: steps, tables: [/steps], require: { max_rows: 3, append_only: true } }
  - { name: share, tables: [/share], require: { max_removed_share: 0.5 } }
`;

const WRITER = new URL('./managed-writer.ts', import.meta.url);

let service: Service;
let client: Connection;

beforeAll(async () => {
  service = await Service.start({ commits: RULES });
  client = await lancedb.connectNamespace('rest', {
    uri: service.url,
    headers: { 'x-api-key': ADMIN_KEY },
  });
});

afterAll(() => service.stop());

/** The outcomes of commits to a table, with what judged or refused them. */
async function commitsOf(object: string) {
  const records = await service.audit();
  return records.filter(
    (record) =>
      record['phase'] === 'outcome' &&
      record['operation'] === 'CreateTableVersion' &&
      record['object'] === object,
  );
}

/** Lets a program write until the service has refused it; the client would try for minutes. */
async function refused(
  name: string,
  kind: string,
  object = `/${name}`,
): Promise<readonly unknown[]> {
  const before = (await commitsOf(object)).length;
  const child = new Child(WRITER, [service.url, ADMIN_KEY, name, kind, '1', '1']);
  try {
    const told: unknown[] = [];
    await eventually(async () => {
      const [first] = (await commitsOf(object)).slice(before);
      expect(first).toBeDefined();
      told.push(first!['status'], first!['code'], first!['rule']);
    });
    return told;
  } finally {
    await child.kill();
  }
}

const idsOf = async (table: Table) => {
  await table.checkoutLatest();
  return (await valuesOf(table.query(), 'id')).map(Number).toSorted((a, b) => a - b);
};

describe('a table that the service writes', () => {
  it('takes from LanceDB only rows that pass', async () => {
    const db = await connectTo(service);
    const table = await db.createTable('sane', [{ id: 1 }, { id: 2 }]);
    await table.add([{ id: 3 }]);
    const negative = 'the check "id > 0" is not true of a row with id = -4';
    const says = (fault: string) => `the commit rule sane refuses this of /sane: ${fault}`;
    expect(await refusalOf(table.add([{ id: -4 }]))).toMatchObject({
      status: 400,
      code: 20,
      error: says(negative),
    });
    const twice = says('several rows would have id = 2, and no two may');
    expect(await refusalOf(table.add([{ id: 2 }]))).toMatchObject({ code: 20, error: twice });
    const update = table.update({ where: 'id = 1', values: { id: 2 } });
    expect(await refusalOf(update)).toMatchObject({ code: 20, error: twice });
    expect(await idsOf(table)).toEqual([1, 2, 3]);
  });
});

describe('a table that LanceDB writes itself', () => {
  it('only grows: it takes appends, indices and compaction', async () => {
    const table = await client.createTable('log', [{ id: 1 }, { id: 2 }, { id: 3 }]);
    await table.add([{ id: 4 }]);
    await table.createIndex('id');
    await table.optimize();
    await table.addColumns([{ name: 'double', valueSql: 'id * 2' }]);
    const versions = await table.version();
    expect(await refused('log', 'remove')).toEqual([400, 20, 'commits.yaml:3']);
    expect(await refused('log', 'overwrite')).toEqual([400, 20, 'commits.yaml:3']);
    await table.checkoutLatest();
    expect(await table.version()).toBe(versions);
    expect(await idsOf(table)).toEqual([1, 2, 3, 4]);
    const judged = (await commitsOf('/log')).map(
      ({ commit }) => (commit as { rules?: readonly string[] } | null)?.rules,
    );
    expect(judged.slice(0, 2)).toEqual([
      ['growing', 'few (warned)'],
      ['growing', 'few'],
    ]);
    await expect(client.dropTable('log')).rejects.toThrow('the table may not be dropped');
  });

  it('gets no rows that break a rule about them, and loses no more than it may', async () => {
    expect(await refused('strict', 'create', '/strict1')).toEqual([400, 20, 'commits.yaml:5']);
    await client.createTable('share', [{ id: 1 }, { id: 2 }, { id: 3 }]);
    expect(await refused('share', 'overwrite')).toEqual([400, 20, 'commits.yaml:7']);
    const table = await client.openTable('share');
    await table.delete('id = 1');
    expect(await idsOf(table)).toEqual([2, 3]);
  });
});

describe('a branch that LanceDB writes itself', () => {
  it('is compared with what it came from, be that a branch', async () => {
    const table = await client.createTable('steps', [{ id: 1 }, { id: 2 }]);
    await table.add([{ id: 3 }, { id: 4 }]);
    await (await table.branches()).create('dev');
    const dev = await client.openTable('steps', undefined, { branch: 'dev' });
    await dev.add([{ id: 5 }, { id: 6 }, { id: 7 }]);
    await dev.add([{ id: 8 }]);
    await (await dev.branches()).create('child', 'dev');
    const child = await client.openTable('steps', undefined, { branch: 'child' });
    await child.add([{ id: 9 }]);
    await (await table.branches()).create('old', undefined, 1);
    expect(await idsOf(child)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9]);
    const judged = (await commitsOf('/steps')).map(({ status }) => status);
    expect(judged).toEqual(Array.from({ length: 8 }, () => 200));
  });
});

describe('proposed rules', () => {
  it('say which commits of the past they would have refused', async () => {
    const printed = await service.command('commits', 'check', '/share', '--json');
    expect([printed.code, JSON.parse(printed.out)]).toMatchObject([
      0,
      { tables: 1, commits: 2, refused: [], unjudged: [] },
    ]);
  });
});
