import { afterAll, beforeAll, expect, it } from 'vitest';
import { Service } from '../support/service.ts';
import { connectTo, errorOf } from './lancedb.ts';

let service: Service;

beforeAll(async () => {
  service = await Service.start();
});

afterAll(() => service.stop());

it('reads the audit log as a table, and can do nothing else with it', async () => {
  const db = await connectTo(service);
  await db.createNamespace(['prod']);
  await db.createTable('orders', [{ id: 1 }, { id: 2 }], ['prod']);
  expect(await db.tableNames(['system'])).toEqual(['audit']);
  const log = await db.openTable('audit', ['system']);
  const { names } = await log.schema();
  expect(names.slice(0, 4)).toEqual(['instance', 'sequence', 'phase', 'time']);
  const where = "operation = 'CreateTable' AND phase = 'outcome'";
  const rows = await log.query().where(where).select(['subject', 'object', 'decision']).toArray();
  expect(rows.map((row) => ({ ...row }))).toEqual([
    { subject: 'user:admin', object: '/prod/orders', decision: 'allow' },
  ]);
  const [whole] = await log.query().where(where).toArray();
  expect([...whole.principal.roles]).toEqual(['role:admin']);
  expect(whole.commit.rows_added).toBe(2n);
  expect(await log.countRows("operation = 'CreateNamespace'")).toBe(2);
  for (const act of [() => log.delete('true'), () => db.dropTable('audit', ['system'])]) {
    expect(String(await errorOf(act()))).toContain('is a table of the service itself');
  }
});
