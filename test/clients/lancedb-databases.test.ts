import type { Connection } from '@lancedb/lancedb';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ADMIN_KEY, Service } from '../support/service.ts';
import { connectTo, errorOf, lancedb, rowsOf } from './lancedb.ts';

let service: Service;
let root: Connection;

beforeAll(async () => {
  service = await Service.start({
    config: 'databases: { prod: /prod, tests: / }\n',
    policy: `p, role:admin, /**, *, allow
p, role:reader, /prod/**, read, allow
p, role:reader, /prod/**, list, allow
p, role:reader, /prod/hr/**, *, deny
`,
  });
  root = await connectTo(service);
  for (const path of [['prod'], ['prod', 'hr'], ['prod', 'hr', 'pay']]) {
    await root.createNamespace(path);
  }
});

afterAll(() => service.stop());

const connect = (uri: string, apiKey = ADMIN_KEY): Promise<Connection> =>
  lancedb.connect({ uri, apiKey, hostOverride: service.url });

describe('a database of the LanceDB client', () => {
  it('has tables of its own, which the root knows by their whole names', async () => {
    const prod = await connect('db://prod');
    await prod.createTable('events', [{ id: 1 }, { id: 2 }]);
    const table = await prod.openTable('events');
    expect(await table.countRows()).toBe(2);
    expect(await rowsOf(table.query().where('id = 2'))).toEqual([{ id: 2 }]);
    await table.add([{ id: 3 }]);
    expect(await prod.tableNames()).toEqual(['events']);
    expect(await prod.listNamespaces([])).toEqual({ namespaces: ['hr'] });
    expect(await root.tableNames()).toEqual([]);
    expect(await (await root.openTable('events', ['prod'])).countRows()).toBe(3);
  });

  it('has a prefix that is a namespace below it', async () => {
    const hr = await connect('db://prod/hr');
    await hr.createTable('staff', [{ name: 'ann' }]);
    expect(await hr.tableNames()).toEqual(['staff']);
    expect(await (await root.openTable('staff', ['prod', 'hr'])).countRows()).toBe(1);
    const pay = await connect('db://prod/hr/pay');
    await pay.createTable('cards', [{ n: 1 }]);
    expect(await pay.tableNames()).toEqual(['cards']);
    expect(await (await root.openTable('cards', ['prod', 'hr', 'pay'])).countRows()).toBe(1);
  });

  it('is judged by the policy under its whole names, and says the short ones', async () => {
    const key = await service.key('ann', 'reader');
    const prod = await connect('db://prod', key);
    expect(await prod.tableNames()).toEqual(['events']);
    expect(await (await prod.openTable('events')).countRows()).toBe(3);
    const refused = await errorOf(prod.dropTable('events'));
    expect(refused.message).toContain('user:ann may not DropTable on /events');
    expect(refused.message).not.toContain('prod');
    const hr = await connect('db://prod/hr', key);
    const hidden = await errorOf(hr.openTable('staff').then((table) => table.countRows()));
    expect(hidden.message).toContain('on /staff');
  });

  it('says of a missing table what the client called it', async () => {
    const prod = await connect('db://prod');
    const missing = await errorOf(prod.openTable('nothing').then((table) => table.countRows()));
    expect(missing.message).not.toContain('/prod');
  });

  it('that there is not is refused', async () => {
    const other = await connect('db://other');
    const refused = await errorOf(other.tableNames());
    expect(refused.message).toContain('403');
    expect(refused.message).toContain('there is no database');
  });
});
