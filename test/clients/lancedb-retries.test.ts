import { connect, type Connection, type Table } from '@lancedb/lancedb';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { CuttingProxy } from '../support/cutting-proxy.ts';
import { ADMIN_KEY, Service } from '../support/service.ts';
import { valuesOf } from './lancedb.ts';

let service: Service;
let proxy: CuttingProxy;
let db: Connection;
let table: Table;

beforeAll(async () => {
  service = await Service.start();
  proxy = await CuttingProxy.before(service.url);
  db = await connect('db://retries', { apiKey: ADMIN_KEY, hostOverride: proxy.url });
});

afterAll(async () => {
  await proxy.close();
  await service.stop();
});

beforeEach(async () => {
  table = await db.createTable('t', [{ id: 1 }, { id: 2 }], { mode: 'overwrite' });
});

/** The versions that the work makes while its answer gets lost the given number of times. */
async function versionsMade(work: () => Promise<unknown>, losses: number): Promise<number> {
  const before = await table.version();
  const lost = proxy.lost;
  proxy.loseNext(losses);
  await work();
  expect(proxy.lost - lost).toBe(losses);
  return (await table.version()) - before;
}

describe('a client of LanceDB that repeats what it got no answer to', () => {
  it.each([1, 2])('changes a table once when %i answers get lost', async (losses) => {
    const update = () => table.update({ valuesSql: { id: 'id + 10' } });
    expect(await versionsMade(update, losses)).toBe(1);
    expect(new Set(await valuesOf(table, 'id'))).toEqual(new Set([11, 12]));
    expect(await versionsMade(() => table.delete('id = 11'), losses)).toBe(1);
    expect(await valuesOf(table, 'id')).toEqual([12]);
  });

  it('gets no refusal of what can be made only once', async () => {
    const columns = [{ name: 'double', valueSql: 'id * 2' }];
    expect(await versionsMade(() => table.addColumns(columns), 1)).toBe(1);
    const tags = await table.tags();
    expect(await versionsMade(() => tags.create('kept', 1), 1)).toBe(0);
    expect(await tags.getVersion('kept')).toBe(1);
    expect(await versionsMade(() => tags.delete('kept'), 1)).toBe(0);
    expect(await versionsMade(() => table.dropColumns(['double']), 1)).toBe(1);
  });

  it('leaves in the audit log that its second request changed nothing', async () => {
    await versionsMade(() => table.delete('id = 2'), 1);
    const deletes = (await service.audit()).filter(
      (line) => line['operation'] === 'DeleteFromTable' && line['phase'] === 'outcome',
    );
    const [first, second] = deletes.slice(-2);
    expect(first!['request_id']).toBe(second!['request_id']);
    expect(first!['commit']).toMatchObject({ kind: 'delete', rows_removed: 1 });
    expect(second!['commit']).toMatchObject({ kind: 'replay', version: null, rows_removed: 0 });
    expect(second!['status']).toBe(200);
  });
});
