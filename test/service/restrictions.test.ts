import { rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { connect } from '@lancedb/lancedb';
import { afterAll, beforeAll, expect, it } from 'vitest';
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
    policy: 'p, role:admin, /**, *, allow\np, role:analyst, /**, read, allow\n',
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
