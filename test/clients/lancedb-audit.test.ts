import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ADMIN_KEY, Service, type AuditLine } from '../support/service.ts';
import { send, type Reply } from './http.ts';
import { connectTo, errorOf, lancedb } from './lancedb.ts';

/** What a day's work with the client leaves in the audit log. */

const POLICY = `p, role:admin, /**, *, allow
g, user:loader, role:loader
p, role:loader, /prod/orders, append, allow
p, role:loader, /prod/orders, create, allow
p, role:loader, /prod/secret, *, deny
`;

const ID = /^[0-9a-f-]{36}$/;
const ROWS = [{ id: 1 }, { id: 2 }];
const MERGED = [{ id: 4 }, { id: 5 }];
let service: Service;
let loaderKey: string;
let lines: readonly AuditLine[];
let denied: Reply;
let stranger: Reply;

beforeAll(async () => {
  service = await Service.start({ policy: POLICY });
  loaderKey = await service.key('loader');
  await work();
  await service.end();
  lines = await service.audit();
});

afterAll(() => service.stop());

async function work(): Promise<void> {
  const admin = await connectTo(service);
  await admin.createNamespace(['prod']);
  const extraHeaders = { 'x-service-ctx-team': 'blue', 'x-service-ctx-api-key': 'hush' };
  const clientConfig = { extraHeaders, userAgent: 'a-program/2' };
  const { url: hostOverride } = service;
  const uri = 'db://tests';
  const loader = await lancedb.connect({ uri, apiKey: loaderKey, hostOverride, clientConfig });
  const orders = await loader.createTable('orders', ROWS, ['prod']);
  await orders.add(ROWS);
  await errorOf(orders.add(ROWS, { mode: 'overwrite' }));
  await errorOf(loader.createTable('secret', ROWS, ['prod']));
  const own = await admin.openTable('orders', ['prod']);
  await own.add([{ id: 3 }], { mode: 'overwrite' });
  await own.query().where('id = 3').toArray();
  await errorOf(own.query().where('id ==').toArray());
  await own.update({ values: { id: 4 } });
  await errorOf(own.createIndex('id', { config: lancedb.Index.fts() }));
  await own.mergeInsert('id').whenMatchedUpdateAll().whenNotMatchedInsertAll().execute(MERGED);
  await admin.createTable('orders', [{ word: 'x' }], ['prod'], { mode: 'overwrite' });
  await admin.dropNamespace(['prod'], { behavior: 'cascade' });
  await writeFiles();
  denied = await send(service, '/v1/table/prod$secret/drop', { key: loaderKey });
  stranger = await send(service, '/v1/table/prod$secret/drop', { key: null });
}

/** Work of a client that writes the files of its table itself. */
async function writeFiles(): Promise<void> {
  const headers = { 'x-api-key': ADMIN_KEY };
  const client = await lancedb.connectNamespace('rest', { uri: service.url, headers });
  const table = await client.createTable('goods', ROWS);
  await table
    .mergeInsert('id')
    .whenMatchedUpdateAll()
    .whenNotMatchedInsertAll()
    .execute([{ id: 2 }, { id: 3 }]);
  await table.add([{ id: 9 }], { mode: 'overwrite' });
}

/** The outcomes of an operation, in the order of the log. */
function outcomes(operation: string, subject: string | null): readonly AuditLine[] {
  return lines.filter(
    (line) =>
      line['phase'] === 'outcome' && line['operation'] === operation && line['subject'] === subject,
  );
}

describe('every request', () => {
  it('leaves an attempt and then an outcome of the same decision', () => {
    const attempts = lines.filter(({ phase }) => phase === 'attempt');
    expect(attempts).toHaveLength(lines.length / 2);
    for (const attempt of attempts) {
      const { decision_id: id } = attempt;
      const both = lines.filter((line) => line['decision_id'] === id);
      expect(both.map(({ phase }) => phase)).toEqual(['attempt', 'outcome']);
      const [before, after] = both;
      for (const name of ['request_id', 'subject', 'operation', 'object', 'policy_digest']) {
        expect(after![name]).toEqual(before![name]);
      }
      expect(String(after!['time']) >= String(before!['time'])).toBe(true);
    }
  });

  it('is numbered without a gap, in the log of the service and in that of each command', () => {
    for (const instance of new Set(lines.map((line) => line['instance']))) {
      const own = lines.filter((line) => line['instance'] === instance);
      expect(own.map(({ sequence }) => sequence)).toEqual(own.map((_, index) => index + 1));
    }
  });

  it('says who asked, from where and with what', () => {
    expect(outcomes('CreateTable', 'user:loader')[0]).toMatchObject({
      principal: { subject: 'user:loader', groups: [], roles: [] },
      credential: loaderKey.split('_')[1],
      source_ip: '127.0.0.1',
      user_agent: 'a-program/2',
      context: { team: 'blue', 'api-key': '[redacted]' },
      backend: 'embedded',
    });
  });

  it('holds no credential', () => {
    const text = JSON.stringify(lines);
    expect(text).not.toContain(ADMIN_KEY);
    expect(text).not.toContain(loaderKey.split('_').slice(2).join('_'));
    expect(text).not.toContain('hush');
  });
});

describe('an allowed change', () => {
  it('says what it changed, by which line', () => {
    const none = { rows_removed: 0, rules: [] };
    expect(outcomes('CreateTable', 'user:loader')[0]).toMatchObject({
      object: '/prod/orders',
      mode: 'create',
      decision: 'allow',
      rule: 'policy.csv:4',
      status: 200,
      code: null,
      commit: {
        kind: 'create',
        base_version: null,
        version: 1,
        rows_added: 2,
        schema_changed: true,
        ...none,
      },
    });
    expect(outcomes('InsertIntoTable', 'user:loader')[0]).toMatchObject({
      mode: 'append',
      decision: 'allow',
      rule: 'policy.csv:3',
      commit: {
        kind: 'append',
        base_version: 1,
        version: 2,
        rows_added: 2,
        schema_changed: false,
        ...none,
      },
    });
  });

  it('counts the rows that it took away', () => {
    expect(outcomes('InsertIntoTable', 'user:admin')[0]).toMatchObject({
      mode: 'overwrite',
      commit: { kind: 'overwrite', base_version: 2, version: 3, rows_added: 1, rows_removed: 4 },
    });
    expect(outcomes('CreateTable', 'user:admin')[0]).toMatchObject({
      mode: 'overwrite',
      commit: {
        kind: 'overwrite',
        version: 6,
        rows_added: 1,
        rows_removed: 2,
        schema_changed: true,
      },
    });
  });

  it('tells merged rows from added ones', () => {
    expect(outcomes('MergeInsertIntoTable', 'user:admin')[0]).toMatchObject({
      object: '/prod/orders',
      commit: {
        table: expect.stringMatching(ID),
        rows_added: 1,
        rows_removed: 0,
        rows_changed: 1,
        columns: ['id'],
        statement: expect.stringMatching(/^merge on id, when_matched_update_all true/),
      },
    });
  });

  it('is as well known of a client that writes the files itself', () => {
    const commits = outcomes('CreateTableVersion', 'user:admin').map((line) => line['commit']);
    const table = (commits[0] as { readonly table: string }).table;
    expect(table).toMatch(ID);
    const whole = { table, columns: [], statement: null };
    expect(commits).toMatchObject([
      { ...whole, version: 1, rows_added: 2, rows_removed: 0, rows_changed: 0 },
      { ...whole, version: 2, rows_added: 1, rows_removed: 0, rows_changed: 1 },
      { ...whole, version: 3, rows_added: 1, rows_removed: 3, rows_changed: 0 },
    ]);
  });

  it('names everything that a cascade took along', () => {
    expect(outcomes('DropNamespace', 'user:admin')).toMatchObject([
      {
        object: '/prod',
        objects: ['/prod/orders'],
        mode: 'cascade',
        decision: 'allow',
        status: 200,
      },
    ]);
  });

  it('counts the bytes of both ways', () => {
    const { bytes_in: sent, bytes_out: answered } = outcomes('QueryTable', 'user:admin')[0]!;
    expect(sent).toBeGreaterThan(50);
    expect(answered).toBeGreaterThan(300);
  });
});

describe('a refusal', () => {
  it('by the policy says so, and which line did it', () => {
    expect(outcomes('InsertIntoTable', 'user:loader')[1]).toMatchObject({
      mode: 'overwrite',
      decision: 'deny',
      rule: null,
      status: 403,
      code: 15,
      commit: null,
    });
    expect(outcomes('CreateTable', 'user:loader')[1]).toMatchObject({
      object: '/prod/secret',
      decision: 'deny',
      rule: 'policy.csv:5',
      status: 403,
      code: 15,
      commit: null,
    });
  });

  it('by the engine was allowed', () => {
    expect(outcomes('QueryTable', 'user:admin')[1]).toMatchObject({
      decision: 'allow',
      rule: 'policy.csv:1',
      status: 400,
      code: 13,
    });
    expect(outcomes('CreateTableIndex', 'user:admin')).toMatchObject([
      { decision: 'allow', status: 400, code: 13, commit: null },
    ]);
    expect(outcomes('UpdateTable', 'user:admin')).toMatchObject([
      { decision: 'allow', status: 200, commit: { kind: 'update', rows_added: 0 } },
    ]);
  });

  it('carries its decision in the headers of the answer', () => {
    expect(denied.status).toBe(403);
    const id = denied.headers.get('x-arrowgate-decision-id');
    const [outcome] = outcomes('DropTable', 'user:loader');
    expect(outcome).toMatchObject({
      decision_id: id,
      request_id: denied.headers.get('x-request-id'),
      decision: denied.headers.get('x-arrowgate-decision'),
      rule: 'policy.csv:5',
      status: 403,
    });
    expect(denied.headers.get('x-arrowgate-decision')).toBe('deny');
  });

  it('of somebody unknown is recorded too', () => {
    expect(stranger.headers.get('x-arrowgate-decision')).toBe('unauthenticated');
    const [outcome] = outcomes('DropTable', null);
    expect(outcome).toMatchObject({
      decision_id: stranger.headers.get('x-arrowgate-decision-id'),
      decision: 'unauthenticated',
      principal: null,
      credential: null,
      status: 401,
      code: 16,
    });
  });
});
