import { createHash } from 'node:crypto';
import { rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { connect } from '@lancedb/lancedb';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { waitUntil } from '../support/eventually.ts';
import { ADMIN_KEY, Service } from '../support/service.ts';

/** Two gateways on one data folder restrict a Lance table that both serve. */

const RESTRICTIONS = `restrictions:
  - name: own-region
    tables: ['/orders']
    subjects: ['role:clerk']
    rows: region = 'eu'
    columns: { email: { mask: sha256 }, ssn: hidden }
`;

const options = {
  policy: 'p, role:admin, /**, *, allow\np, role:clerk, /**, *, allow\n',
  config: 'tables: { format: lance }\n',
};

let gateways: readonly Service[] = [];
let key: string;

beforeAll(async () => {
  const a = await Service.start(options);
  gateways = [a];
  const b = await Service.start({
    ...options,
    flags: ['--data', a.data, '--policies', a.policies],
  });
  gateways = [b, a];
  key = await a.key('user:cle', 'role:clerk');
  const admin = await client(a, ADMIN_KEY);
  const orders = await admin.createTable('orders', [
    { id: 1, region: 'eu', email: 'ann@x.org', ssn: '1' },
    { id: 2, region: 'us', email: 'bob@x.org', ssn: '2' },
    { id: 3, region: 'eu', email: 'ann@x.org', ssn: '3' },
  ]);
  await orders.add([{ id: 4, region: 'us', email: 'eve@x.org', ssn: '4' }]);
  const path = join(a.policies, 'restrictions.yaml');
  await writeFile(`${path}.new`, RESTRICTIONS);
  await rename(`${path}.new`, path);
  for (const gateway of gateways) {
    const own = await (await client(gateway, key)).openTable('orders');
    await waitUntil(async () => (await own.countRows()) === 2);
  }
});

afterAll(async () => {
  for (const gateway of gateways) await gateway.stop();
});

const client = (gateway: Service, apiKey: string) =>
  connect('db://any', { apiKey, hostOverride: gateway.url, region: 'none' });

const ordersOf = async (gateway: Service, apiKey = key) =>
  (await client(gateway, apiKey)).openTable('orders');

it('shows a client the same rows through both', async () => {
  const hashes = new Set<string>();
  for (const gateway of gateways) {
    const own = await ordersOf(gateway);
    expect((await own.schema()).fields.map(({ name }) => name)).toEqual(['id', 'region', 'email']);
    const rows = await own.query().toArray();
    expect(rows.map(({ id, region }) => [Number(id), region])).toEqual([
      [1, 'eu'],
      [3, 'eu'],
    ]);
    for (const { email } of rows) hashes.add(email);
    await expect(own.query().where("ssn = '2'").toArray()).rejects.toThrow('ssn');
  }
  expect([...hashes]).toEqual([expect.stringMatching(/^[0-9a-f]{64}$/)]);
});

it('records what was read of a Lance table, and which restrictions bind the caller', async () => {
  const [gateway, first] = gateways as [Service, Service];
  const own = await ordersOf(gateway);
  await own.query().where('id   < 9').select(['email']).toArray();
  await own.countRows('id > 1');
  const { out } = await first.command(
    'audit',
    'search',
    '--subject',
    'user:cle',
    '--column',
    'id',
    '--format',
    'json',
  );
  const lines = out.split('\n').filter((line) => line !== '');
  const records = lines.map((line) => {
    const { operation, restrictions, read } = JSON.parse(line) as Record<string, unknown>;
    return { operation, restrictions, read };
  });
  const digest = (text: string) => createHash('sha256').update(text).digest('hex');
  const restrictions = ['own-region'];
  const version = 2;
  expect(records).toContainEqual({
    operation: 'QueryTable',
    restrictions,
    read: { columns: ['id', 'email'], rows: 2, version, filter: digest('id < 9') },
  });
  expect(records).toContainEqual({
    operation: 'CountTableRows',
    restrictions,
    read: { columns: ['id'], rows: 0, version, filter: digest('id > 1') },
  });
});

it('lets both change visible rows at the same time, and no others', async () => {
  const [one, other] = await Promise.all(gateways.map((gateway) => ordersOf(gateway)));
  await Promise.all([
    one!.add([{ id: 5, region: 'eu' }]),
    other!.update({ values: { id: 9 }, where: 'id = 1' }),
    one!.delete('id = 3 OR id = 2'),
    other!.add([{ id: 6, region: 'eu' }]),
  ]);
  await expect(one!.add([{ id: 7, region: 'us' }])).rejects.toThrow('would hide one of the rows');
  await expect(other!.update({ values: { email: 'x' } })).rejects.toThrow('masked or hidden');
  await expect(other!.delete("ssn = '2'")).rejects.toThrow('ssn');
  for (const gateway of gateways) {
    const rows = await (await ordersOf(gateway, ADMIN_KEY)).query().toArray();
    const told = rows.map(({ id, region, ssn }) => [Number(id), region, ssn]);
    expect(told.toSorted(([left], [right]) => Number(left) - Number(right))).toEqual([
      [2, 'us', '2'],
      [4, 'us', '4'],
      [5, 'eu', null],
      [6, 'eu', null],
      [9, 'eu', '1'],
    ]);
  }
});
