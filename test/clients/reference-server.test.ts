import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Service } from '../support/service.ts';
import { send } from './http.ts';
import { connectTo, rowsOf } from './lancedb.ts';
import {
  checksOf,
  hasPython,
  ReferenceServer,
  runsAll,
  type PythonTarget,
} from './python-client.ts';

const POLICY = `p, role:admin, /**, *, allow
p, role:trust, /**, read, allow
p, role:trust, /west/hr/**, *, deny
`;

let reference: ReferenceServer;
let gateway: Service;

beforeAll(async () => {
  if (!hasPython) return;
  reference = await ReferenceServer.start();
  gateway = await Service.start({
    policy: POLICY,
    config: `backends:\n  - { name: reference, type: http, url: "${reference.url}", namespaces: ["/**"], dialect: namespace, trust: ["*"] }\n`,
  });
  for (const id of ['west', 'west$hr', 'west$sales', 'python']) {
    expect((await send(gateway, `/v1/namespace/${id}/create`, { body: {} })).status).toBe(200);
  }
});

afterAll(async () => {
  await gateway?.stop();
  await reference?.stop();
});

const target = (): PythonTarget => ({
  url: gateway.url,
  namespace: ['python'],
  reference: true,
  queriesLance: true,
});

describe.runIf(hasPython)('The reference server behind the gateway', () => {
  it('lists what the caller may see', async () => {
    const key = await gateway.key('user:ann', 'role:trust');
    const list = async (path: string, headers = {}) =>
      (await send(gateway, `/v1/namespace/${path}`, { method: 'GET', key, headers })).body;
    expect(await list('west/list')).toEqual({ namespaces: ['sales'] });
    expect(await list('$/list')).toEqual({ namespaces: ['python', 'west'] });
    expect(await list('west$hr/list')).toEqual({ namespaces: [] });
  });

  it('is opened, filled and queried by the LanceDB client of Node', async () => {
    const db = await connectTo(gateway);
    const rows = Array.from({ length: 50 }, (_, id) => ({ id, vector: [id, 0], note: `n${id}` }));
    const table = await db.createTable('goods', rows, ['west', 'sales']);
    expect(await table.countRows()).toBe(50);
    const fields = (await table.schema()).fields.map(({ name, type }) => [name, String(type)]);
    expect(fields).toEqual([
      ['id', 'Float64'],
      ['vector', 'FixedSizeList[2]<Float32>'],
      ['note', 'Utf8'],
    ]);
    const near = await table.search([7.2, 0]).limit(1).select(['id']).toArray();
    expect(near.map(({ id }) => id)).toEqual([7]);
    expect(await rowsOf(table.query().where('id >= 48').select(['note']))).toEqual([
      { note: 'n48' },
      { note: 'n49' },
    ]);
    expect(await db.tableNames(['west', 'sales'])).toEqual(['goods']);
    expect(await db.tableNames()).toEqual([]);
    await expect(db.openTable('none', ['west', 'sales'])).rejects.toThrow(/not found/i);
  });

  it.each([
    'lancedb_remote.py',
    'generated_client.py',
    ...(runsAll ? ['lancedb_namespace.py', 'pylance.py'] : []),
  ])('answers %s', async (script) => {
    const { names, faults } = await checksOf(script, target());
    expect(faults).toEqual([]);
    expect(names.length).toBeGreaterThan(2);
  });
});
