import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Service } from '../support/service.ts';
import { LANCEDB, send, sendGranted, type Reply, type Sent } from './http.ts';
import { goodRows } from './table-bodies.ts';

const POLICY = `p, role:admin, /**, *, allow
p, role:reader, /prod/**, read, allow
p, role:reader, /prod/**, list, allow
p, role:reader, /prod/hr/**, *, deny
p, role:reader, /dev/**, *, deny
`;

let service: Service;
let reader: string;

beforeAll(async () => {
  service = await Service.start({
    config: `databases: { prod: /prod, dev: /dev, "a.b": /a/b, all: / }
trusted_proxies: [127.0.0.1]
`,
    policy: POLICY,
    limits: `limits:
  - { name: few, objects: ["/prod/busy"], operations: [TableExists], rate: 1/h, burst: 2, per: object }
`,
  });
  reader = await service.key('ann', 'reader');
  for (const name of ['prod', 'prod$hr', 'prod$prod', 'dev', 'a', 'a$b']) {
    await sendGranted(service.url, `POST /v1/namespace/${name}/create`, { body: {} });
  }
  for (const name of ['prod$t', 'prod$u', 'prod$busy', 'prod$hr$staff', 'dev$t', 'a$b$t']) {
    await sendGranted(service.url, `POST /v1/table/${name}/create`, { body: goodRows });
  }
});

afterAll(() => service.stop());

/** Sends a request for a database. */
function within(database: string, line: string, { headers, ...sent }: Sent = {}): Promise<Reply> {
  return send(service.url, line, {
    body: line.startsWith('POST') ? {} : undefined,
    ...sent,
    headers: { 'x-lancedb-database': database, ...headers },
  });
}

async function objectOf({ headers }: Reply): Promise<unknown> {
  const id = headers['x-arrowgate-decision-id'];
  return (await service.audit()).find(({ decision_id }) => decision_id === id)?.['object'];
}

describe('a request for a database', () => {
  it('names objects from its root, for the policy and the log as well', async () => {
    const described = await within('prod', 'POST /v1/table/t/describe', { key: reader });
    expect([described.status, described.json]).toMatchObject([200, { table: 't', namespace: [] }]);
    expect(described.text).not.toContain('"prod"');
    const deeper = await within('prod', 'POST /v1/table/hr$staff/describe');
    expect(deeper.json).toMatchObject({ table: 'staff', namespace: ['hr'] });
    const denied = await within('prod', 'POST /v1/table/hr$staff/drop', { key: reader });
    expect([denied.status, denied.json]).toMatchObject([
      403,
      { code: 15, error: 'user:ann may not DropTable on /hr/staff' },
    ]);
    expect(await objectOf(denied)).toBe('/prod/hr/staff');
    expect((await within('dev', 'POST /v1/table/t/describe', { key: reader })).status).toBe(403);
  });

  it('is answered for its own root, however often the same was asked of another', async () => {
    for (let turn = 0; turn < 3; turn++) {
      const ask = (database: string, name: string) =>
        within(database, `POST /v1/table/${name}/describe`, { headers: LANCEDB });
      expect((await ask('prod', 't')).json['namespace']).toEqual([]);
      expect((await ask('dev', 't')).json['namespace']).toEqual([]);
      expect((await ask('all', 'prod$t')).json['namespace']).toEqual(['prod']);
      expect((await ask('a.b', 't')).json['namespace']).toEqual([]);
    }
  });

  it('takes a prefix for a namespace below', async () => {
    const ask = (prefix: string) =>
      within('prod', 'POST /v1/table/staff/exists', {
        headers: { 'x-lancedb-database-prefix': prefix },
      });
    expect((await ask('hr')).status).toBe(200);
    expect((await ask('%68r')).status).toBe(200);
    expect((await ask('')).status).toBe(404);
    for (const prefix of ['..', 'hr//x', 'hr/.', '%', '../dev']) {
      expect([prefix, (await ask(prefix)).status]).toEqual([prefix, 400]);
    }
  });

  it('lists what is below its root, page by page', async () => {
    const all = async (from: string, query = '') =>
      (await within(from, `GET /v1/table?${query}`)).json;
    expect(await all('prod')).toEqual({ tables: ['busy', 'hr$staff', 't', 'u'] });
    const first = await all('prod', 'limit=2');
    expect(first).toEqual({ tables: ['busy', 'hr$staff'], page_token: 'hr$staff' });
    const rest = await all('prod', 'limit=9&page_token=hr%24staff');
    expect(rest).toEqual({ tables: ['t', 'u'] });
    expect(await all('a.b', 'delimiter=.')).toEqual({ tables: ['t'] });
    const namespaces = await within('prod', 'GET /v1/namespace/$/list');
    expect(namespaces.json).toEqual({ namespaces: ['hr', 'prod'] });
    const seen = await within('prod', 'GET /v1/namespace/$/list', { key: reader });
    expect(seen.json).toEqual({ namespaces: ['prod'] });
    const tables = await within('prod', 'GET /v1/table/', { headers: LANCEDB });
    expect(tables.json).toEqual({ tables: ['busy', 't', 'u'] });
  });

  it('holds ids of the body against the names that it uses itself', async () => {
    const ask = (id: readonly string[]) =>
      within('prod', 'POST /v1/table/hr$staff/describe', { body: { id } });
    expect((await ask(['hr', 'staff'])).status).toBe(200);
    expect((await ask(['prod', 'hr', 'staff'])).status).toBe(400);
  });

  it('renames inside of its root, by the route and by the body', async () => {
    const rename = (line: string, body: object) => within('prod', line, { body });
    expect((await rename('POST /v1/table/u/rename/to/hr$v', {})).status).toBe(200);
    const back = { new_table_name: 'u', new_namespace_id: [] };
    expect((await rename('POST /v1/table/hr$v/rename', back)).status).toBe(200);
    expect((await send(service.url, 'POST /v1/table/prod$u/exists', { body: {} })).status).toBe(
      200,
    );
    const elsewhere = { new_table_name: 'u', new_namespace_id: ['dev'] };
    const refused = await rename('POST /v1/table/u/rename', elsewhere);
    expect([refused.status, refused.json['code']]).toEqual([404, 1]);
    expect(refused.json['error']).toBe('namespace /dev does not exist');
  });

  it('takes the ids of a batch for names below its root', async () => {
    const batch = (id: readonly string[]) =>
      within('prod', 'POST /v1/table/batch-commit', {
        body: { operations: [{ declare_table: { id } }] },
      });
    const made = await batch(['declared']);
    expect(made.status).toBe(200);
    const found = await send(service.url, 'POST /v1/table/prod$declared/describe', { body: {} });
    expect(found.json).toMatchObject({ namespace: ['prod'], is_only_declared: true });
    const outside = await batch(['dev', 'declared']);
    expect([outside.status, outside.json['error']]).toEqual([404, 'namespace /dev does not exist']);
  });

  it('finds nothing that lies outside, by a location or by the id of a job', async () => {
    const { json } = await send(service.url, 'POST /v1/table/dev$t/describe', {
      body: {},
      headers: LANCEDB,
    });
    const location = String(json['location']).replace('file://', '');
    const clone = (database: string) =>
      within(database, 'POST /v1/table/copy/clone', { body: { source_location: location } });
    expect([(await clone('prod')).status, (await clone('prod')).json['code']]).toEqual([404, 4]);
    expect((await clone('dev')).status).toBe(200);
    const change = (action: string, body: object) =>
      sendGranted(service.url, `POST /v1/table/dev$t/${action}`, { body, headers: LANCEDB });
    await change('add_columns/', { new_columns: [{ name: 'more', computed: 'id + 1' }] });
    const id = String((await change('backfill_column', { column: 'more' })).json['job_id']);
    const ask = (database: string) =>
      within(database, 'POST /v1/jobs/describe', { body: { job_id: id } });
    expect([(await ask('prod')).status, (await ask('prod')).json['code']]).toEqual([404, 10]);
    expect((await ask('dev')).json).toMatchObject({ spec: { table: 't' } });
    const listed = async (database: string) =>
      (await within(database, 'POST /v1/jobs/list')).json['jobs'];
    expect(await listed('prod')).toEqual([]);
    expect(await listed('dev')).toMatchObject([{ table: 't' }]);
    expect(await listed('all')).toMatchObject([{ table: 'dev$t' }]);
    const transaction = await within('dev', `POST /v1/transaction/${id}/describe`);
    expect(transaction.json).toMatchObject({ properties: { 'job.table': '/t' } });
    expect((await within('prod', `POST /v1/transaction/${id}/describe`)).status).toBe(404);
  });

  it('counts a limit on the object itself', async () => {
    const exists = (database: string | null, name: string) =>
      database === null
        ? send(service.url, `POST /v1/table/${name}/exists`, { body: {} })
        : within(database, `POST /v1/table/${name}/exists`);
    expect((await exists('prod', 'busy')).status).toBe(200);
    expect((await exists('all', 'prod$busy')).status).toBe(200);
    expect((await exists(null, 'prod$busy')).status).toBe(429);
    expect((await exists('prod', 'busy')).status).toBe(429);
  });

  it('knows a repeated change by the object, and leaves one for another database alone', async () => {
    const create = (database: string) =>
      within(database, 'POST /v1/namespace/twice/create', {
        headers: { 'x-request-id': 'one-id' },
      });
    expect((await create('prod')).status).toBe(200);
    expect((await create('prod')).headers['x-arrowgate-replayed']).toBe('true');
    const other = await create('dev');
    expect([other.status, other.headers['x-arrowgate-replayed']]).toEqual([200, undefined]);
  });

  it('leaves the root of the database where it is', async () => {
    for (const line of [
      'POST /v1/namespace/$/drop',
      'POST /v1/namespace/$/create?mode=overwrite',
    ]) {
      const reply = await within('a.b', line, {
        body: line.includes('drop') ? { behavior: 'cascade' } : { mode: 'overwrite' },
      });
      expect([line, reply.status, reply.json['code']]).toEqual([line, 400, 13]);
    }
    expect((await send(service.url, 'POST /v1/table/a$b$t/exists', { body: {} })).status).toBe(200);
  });

  it('reaches the log of the gateway, which is global', async () => {
    const count = await within('prod', 'POST /v1/table/system$audit/count_rows');
    expect(count.status).toBe(200);
    const described = await within('prod', 'POST /v1/table/system$audit/describe');
    expect(described.json).toMatchObject({ table: 'audit', namespace: ['system'] });
    const denied = await within('prod', 'POST /v1/table/system$audit/count_rows', { key: reader });
    expect(denied.status).toBe(403);
  });
});

describe('a database header', () => {
  it('that names no database is refused to those who are known', async () => {
    const reply = await within('nothing', 'POST /v1/table/t/describe');
    expect([reply.status, reply.json]).toMatchObject([
      403,
      {
        code: 15,
        error:
          'there is no database "nothing"; x-lancedb-database must name one of the configuration',
      },
    ]);
    expect(reply.headers['x-arrowgate-decision']).toBe('deny');
    expect((await within('nothing', 'POST /v1/table/t/describe', { key: null })).status).toBe(401);
    expect((await within('PROD', 'POST /v1/table/t/describe')).status).toBe(403);
    expect((await within('', 'POST /v1/table/t/describe')).status).toBe(403);
  });

  it('may not stand twice, nor a prefix alone', async () => {
    const alone = await send(service.url, 'POST /v1/table/t/describe', {
      body: {},
      headers: { 'x-lancedb-database-prefix': 'prod' },
    });
    expect([alone.status, alone.json['error']]).toEqual([
      400,
      'x-lancedb-database-prefix needs x-lancedb-database beside it',
    ]);
    const twice = await send(service.url, 'POST /v1/table/t/describe', {
      body: {},
      headers: { 'x-lancedb-database': ['prod', 'dev'] },
    });
    expect([twice.status, twice.json['error']]).toEqual([
      400,
      'the header x-lancedb-database is given more than once',
    ]);
  });

  it('is refused at /authorize, since it does not cross', async () => {
    const ask = (database: string) =>
      within(database, 'GET /authorize', {
        headers: {
          'X-Forwarded-Method': 'POST',
          'X-Forwarded-Uri': '/v1/table/t/insert',
        },
      });
    const refused = await ask('prod');
    expect([refused.status, refused.json]).toMatchObject([
      403,
      {
        code: 15,
        error:
          'x-lancedb-database does not reach the catalog behind the proxy; name the object from the root of the catalog',
      },
    ]);
    expect((await ask('all')).status).toBe(200);
    expect((await ask('nothing')).status).toBe(403);
  });

  it('is ignored where no databases are configured', async () => {
    const plain = await Service.start();
    try {
      const reply = await send(plain.url, 'POST /v1/namespace/n/create', {
        body: {},
        headers: { 'x-lancedb-database': 'x', 'x-lancedb-database-prefix': '..' },
      });
      expect(reply.status).toBe(200);
      const found = await send(plain.url, 'POST /v1/namespace/n/exists', { body: {} });
      expect(found.status).toBe(200);
    } finally {
      await plain.stop();
    }
  });
});
