import type { Connection, ConnectionOptions } from '@lancedb/lancedb';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ADMIN_KEY, Service } from '../support/service.ts';
import { connectTo, lancedb, rowsOf } from './lancedb.ts';

let service: Service;

beforeAll(async () => {
  service = await Service.start();
});

afterAll(() => service.stop());

function connectWith(options: Partial<ConnectionOptions>, uri = 'db://tests'): Promise<Connection> {
  return lancedb.connect(uri, { apiKey: ADMIN_KEY, hostOverride: service.url, ...options });
}

describe('a connection', () => {
  const ways: readonly (readonly [string, () => Promise<Connection>])[] = [
    ['with a delimiter of its own', () => connectWith({ clientConfig: { idDelimiter: '::' } })],
    ['with a dot as its delimiter', () => connectWith({ clientConfig: { idDelimiter: '.' } })],
    ['with a slash behind the address', () => connectWith({ hostOverride: `${service.url}/` })],
    ['with a prefix', () => connectWith({}, 'db://tests/some/prefix')],
    ['of another region', () => connectWith({ region: 'local' })],
    ['that reads nothing stale', () => connectWith({ readConsistencyInterval: 0 })],
    [
      'with a bearer token',
      () => {
        const extraHeaders = { authorization: `Bearer ${ADMIN_KEY}` };
        return connectWith({ clientConfig: { extraHeaders } });
      },
    ],
  ];

  it.each(ways)('%s works with nested tables', async (way, connect) => {
    const space = way.replaceAll(' ', '-');
    const db = await connect();
    await db.createNamespace([space]);
    await db.createNamespace([space, 'inner']);
    const table = await db.createTable('t', [{ id: 1 }], [space, 'inner']);
    await table.add([{ id: 2 }]);
    expect(await rowsOf(table.query().where('id = 2'))).toEqual([{ id: 2 }]);
    expect(await table.countRows()).toBe(2);
    expect(await db.tableNames([space, 'inner'])).toEqual(['t']);
    const plain = await (await connectTo(service)).openTable('t', [space, 'inner']);
    expect(await plain.countRows()).toBe(2);
    await db.dropNamespace([space], { behavior: 'cascade' });
  });

  it('sees what another one just did', async () => {
    const [one, other] = [await connectWith({}), await connectWith({ readConsistencyInterval: 0 })];
    const mine = await one.createTable('shared', [{ id: 0 }]);
    const theirs = await other.openTable('shared');
    for (let id = 1; id <= 5; id++) {
      await mine.add([{ id }]);
      expect(await theirs.countRows()).toBe(id + 1);
    }
  });

  it('keeps what was acknowledged when the program is killed', async () => {
    const table = await (await connectTo(service)).createTable('kept', [{ id: 1 }]);
    await table.add([{ id: 2 }]);
    await service.end('SIGKILL');
    await service.restart();
    const again = await (await connectTo(service)).openTable('kept');
    expect(await rowsOf(again)).toEqual([{ id: 1 }, { id: 2 }]);
    expect(await again.version()).toBe(2);
    await again.add([{ id: 3 }]);
    expect(await again.countRows()).toBe(3);
  });
});
