import { createHash } from 'node:crypto';
import { rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { connect } from '@lancedb/lancedb';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { run } from '../cli/captured.ts';
import { waitUntil } from '../support/eventually.ts';
import { ADMIN_KEY, Service } from '../support/service.ts';

const RESTRICTIONS = `restrictions:
  - name: own-region
    tables: ['/sales']
    subjects: ['role:analyst']
    rows: region = 'eu'
    columns: { email: { mask: sha256 }, ssn: hidden }
`;

let service: Service;

beforeAll(async () => {
  service = await Service.start({
    policy:
      'p, role:admin, /**, *, allow\np, role:analyst, /**, read, allow\np, role:clerk, /**, *, allow\n',
  });
});

afterAll(async () => service.stop());

/** A policy file becomes another at once. */
async function place(text: string): Promise<void> {
  const path = join(service.policies, 'restrictions.yaml');
  await writeFile(`${path}.new`, text);
  await rename(`${path}.new`, path);
}

const client = (apiKey: string) =>
  connect('db://any', { apiKey, hostOverride: service.url, region: 'none' });

it('binds a client within a second of the file, and frees it again', async () => {
  const admin = await client(ADMIN_KEY);
  await admin.createTable('sales', [
    { id: 1, region: 'eu', email: 'ann@x.org', ssn: '1' },
    { id: 2, region: 'us', email: 'bob@x.org', ssn: '2' },
    { id: 3, region: 'eu', email: 'ann@x.org', ssn: '3' },
  ]);
  const analyst = await client(await service.key('user:ann', 'role:analyst'));
  const table = await analyst.openTable('sales');
  expect(await table.countRows()).toBe(3);
  await place(RESTRICTIONS);
  await waitUntil(async () => (await table.countRows()) === 2);
  const bound = await analyst.openTable('sales');
  expect((await bound.schema()).fields.map(({ name }) => name)).toEqual(['id', 'region', 'email']);
  const rows = await bound.query().toArray();
  expect(rows.map(({ id, region }) => [Number(id), region])).toEqual([
    [1, 'eu'],
    [3, 'eu'],
  ]);
  expect(rows[0].email).toMatch(/^[0-9a-f]{64}$/);
  expect(rows[0].email).toBe(rows[1].email);
  await expect(bound.query().where("ssn = '2'").toArray()).rejects.toThrow('ssn');
  expect(await (await admin.openTable('sales')).countRows()).toBe(3);
  await rm(join(service.policies, 'restrictions.yaml'));
  await waitUntil(async () => (await table.countRows()) === 3);
});

it('records what callers read, and which restrictions bind them', async () => {
  await place(RESTRICTIONS);
  const admin = await client(ADMIN_KEY);
  const analyst = await client(await service.key('user:eve', 'role:analyst'));
  const bound = await analyst.openTable('sales');
  await waitUntil(async () => (await bound.countRows()) === 2);
  const own = await admin.openTable('sales');
  await own.query().where("SSN  = '2'").select(['id']).toArray();
  await own.countRows('id > 1');
  await bound.query().where('id < 9').select(['email']).toArray();
  await bound.query().select(['id']).explainPlan();
  await expect(bound.delete('id = 1')).rejects.toThrow('403');
  const read = async (...flags: readonly string[]) => {
    const { out } = await service.command('audit', 'search', '--format', 'json', ...flags);
    const lines = out.split('\n').filter((line) => line !== '');
    return lines.map((line) => {
      const { operation, restrictions, read: told } = JSON.parse(line) as Record<string, unknown>;
      return { operation, restrictions, read: told };
    });
  };
  const digest = (text: string) => createHash('sha256').update(text).digest('hex');
  const version = 1;
  await waitUntil(async () => (await read('--subject', 'user:eve', '--status', '403')).length > 0);
  expect(await read('--column', 'ssn')).toEqual([
    {
      operation: 'QueryTable',
      read: { columns: ['id', 'ssn'], rows: 1, version, filter: digest("ssn = '2'") },
    },
  ]);
  expect(await read('--column', 'email', '--subject', 'user:eve')).toEqual([
    {
      operation: 'QueryTable',
      restrictions: ['own-region'],
      read: { columns: ['id', 'email'], rows: 2, version, filter: digest('id < 9') },
    },
  ]);
  expect(await read('--column', 'id')).toEqual(
    expect.arrayContaining([
      {
        operation: 'CountTableRows',
        read: { columns: ['id'], rows: 0, version, filter: digest('id > 1') },
      },
      {
        operation: 'ExplainTableQueryPlan',
        restrictions: ['own-region'],
        read: { columns: ['id'], rows: 0, version, filter: null },
      },
    ]),
  );
  const { notes } = await run('audit', 'search', '--column', 'emial', '--data', service.data);
  expect(notes).toEqual(['no request read emial: did you mean email?']);
  expect(await read('--subject', 'user:eve', '--status', '403')).toEqual([
    { operation: 'DeleteFromTable', restrictions: ['own-region'], read: undefined },
  ]);
  const [first] = (await service.audit()).filter(({ subject, operation }) => {
    return subject === 'user:eve' && operation === 'QueryTable';
  });
  const page = await service.command('audit', 'show', String(first!['decision_id']));
  expect(page.out).toContain('bound by     own-region\n');
  expect(page.out).toContain('read         id, email of version 1, 2 rows sent\n');
  expect(page.out).toContain(`filter       SHA-256 ${digest('id < 9')}\n`);
  const log = await admin.openTable('audit', ['system']);
  const rows = await log.query().where("operation = 'QueryTable' AND phase = 'outcome'").toArray();
  expect(rows.map((row) => [[...row.restrictions], Number(row.read?.rows)])).toContainEqual([
    ['own-region'],
    2,
  ]);
  await rm(join(service.policies, 'restrictions.yaml'));
});

it('lets a client change the rows that it sees, and no others', async () => {
  await place(RESTRICTIONS.replace('/sales', '/orders').replace('analyst', 'clerk'));
  const admin = await client(ADMIN_KEY);
  const orders = await admin.createTable('orders', [
    { id: 1, region: 'eu', email: 'ann@x.org', ssn: '1' },
    { id: 2, region: 'us', email: 'bob@x.org', ssn: '2' },
    { id: 3, region: 'eu', email: 'ann@x.org', ssn: '3' },
  ]);
  const clerk = await client(await service.key('user:cle', 'role:clerk'));
  const own = await clerk.openTable('orders');
  await waitUntil(async () => (await own.countRows()) === 2);
  await own.update({ values: { id: 9 }, where: 'id >= 1' });
  await own.add([{ id: 5, region: 'eu' }]);
  await own.delete('id = 5');
  await expect(own.add([{ id: 6, region: 'us' }])).rejects.toThrow('would hide one of the rows');
  await expect(own.update({ values: { email: 'x' } })).rejects.toThrow('masked or hidden');
  await expect(own.delete("ssn = '2'")).rejects.toThrow('ssn');
  await expect(
    own
      .mergeInsert('email')
      .whenMatchedUpdateAll()
      .execute([{ id: 9, email: 'ann@x.org' }]),
  ).rejects.toThrow('masked or hidden');
  await own
    .mergeInsert('id')
    .whenMatchedUpdateAll()
    .whenNotMatchedInsertAll()
    .execute([{ id: 10, region: 'eu' }]);
  const rows = await orders.query().toArray();
  expect(rows.map(({ id, ssn }) => [Number(id), ssn])).toEqual([
    [2, '2'],
    [9, '1'],
    [9, '3'],
    [10, null],
  ]);
});

it('lets a team see its own records of the audit log', async () => {
  await place(`restrictions:
  - name: own-records
    tables: ['/system/audit']
    subjects: ['role:clerk']
    rows: subject = principal.subject
    columns: { source_ip: { mask: 'null' }, user_agent: hidden }
`);
  const clerk = await client(await service.key('user:dan', 'role:clerk'));
  const log = await clerk.openTable('audit', ['system']);
  await waitUntil(async () => (await log.countRows("subject <> 'user:dan'")) === 0);
  const seen = await log.query().where("phase = 'attempt'").toArray();
  expect(seen.every(({ subject }) => subject === 'user:dan')).toBe(true);
  expect(seen.length).toBeGreaterThan(1);
  expect(seen.every((row) => row.source_ip === null && row.user_agent === undefined)).toBe(true);
  const schema = await (await clerk.openTable('audit', ['system'])).schema();
  expect(schema.fields.map(({ name }) => name)).not.toContain('user_agent');
  expect(await log.countRows()).toBeGreaterThan(2);
});

it('counts the rows and bytes that were sent until a client left', async () => {
  const admin = await client(ADMIN_KEY);
  const rows = Array.from({ length: 200 }, (_, id) => ({ id, text: 'x'.repeat(100_000) }));
  const table = await admin.createTable('large', rows.slice(0, 100));
  await table.add(rows.slice(100));
  const left = new AbortController();
  const answer = await fetch(`${service.url}/v1/table/large/query`, {
    method: 'POST',
    headers: { 'x-api-key': ADMIN_KEY, 'content-type': 'application/json' },
    body: '{"vector":[]}',
    signal: left.signal,
  });
  await answer.body!.getReader().read();
  left.abort();
  const outcome = async () => {
    const lines = await service.audit();
    return lines.find(({ object, operation, phase }) => {
      return object === '/large' && operation === 'QueryTable' && phase === 'outcome';
    });
  };
  await waitUntil(async () => (await outcome()) !== undefined);
  const { status, read, bytes_out } = (await outcome()) as {
    status: number;
    read: { rows: number };
    bytes_out: number;
  };
  expect(status).toBe(499);
  expect(bytes_out).toBeGreaterThan(0);
  expect(bytes_out).toBeLessThan(20_000_000);
  expect(read).toMatchObject({ columns: ['id', 'text'], version: 2, filter: null });
  expect(read.rows).toBeGreaterThan(0);
  expect(read.rows).toBeLessThan(200);
});
