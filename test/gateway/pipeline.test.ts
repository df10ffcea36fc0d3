import { afterEach, describe, expect, it } from 'vitest';
import { CatalogError } from '../../src/protocol/errors.ts';
import { admin, ask, json, start, type Harness, type Setup } from './harness.ts';

let harness: Harness;

afterEach(async () => {
  await harness.close();
});

async function open(setup: Setup = {}): Promise<void> {
  harness = await start(setup);
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const DESCRIBE = '/v1/table/prod$sales/describe';

describe('an allowed request', () => {
  it('is handed to the backend and answered with the decision', async () => {
    await open();
    const reply = await ask(harness, DESCRIBE, { headers: { ...admin, 'x-request-id': 'mine-1' } });
    expect(reply).toMatchObject({ status: 200, text: '{}' });
    expect(reply.headers).toMatchObject({
      'x-request-id': 'mine-1',
      'x-arrowgate-decision': 'allow',
      'x-arrowgate-decision-id': expect.stringMatching(UUID),
      'phalanx-version': '0.3.0',
      'content-type': 'application/json',
    });
    expect(reply.headers).not.toHaveProperty('x-arrowgate-reason');
  });

  it('reaches the backend with what its route, query and headers say', async () => {
    await open({
      handle: async (request, permit) => {
        const body: Uint8Array[] = [];
        for await (const chunk of request.body) body.push(chunk);
        const seen = {
          operation: request.operation.name,
          dialect: request.dialect,
          object: request.object,
          delimiter: request.delimiter,
          mode: request.query.get('mode'),
          context: Object.fromEntries(request.context),
          requestId: request.requestId,
          subject: permit.principal.subject,
          body: Buffer.concat(body).toString(),
        };
        return { status: 200, contentType: 'application/json', body: JSON.stringify(seen) };
      },
    });
    const reply = await ask(harness, '/v1/table/a.b/insert/?delimiter=.&mode=append', {
      headers: { ...admin, 'x-service-ctx-Trace': 't1', 'x-request-id': 'r1' },
      body: 'rows',
    });
    expect(json(reply)).toEqual({
      operation: 'InsertIntoTable',
      dialect: 'lancedb',
      object: ['a', 'b'],
      delimiter: '.',
      mode: ['append'],
      context: { trace: 't1' },
      requestId: 'r1',
      subject: 'user:admin',
      body: 'rows',
    });
  });

  it('leaves an attempt and an outcome, linked by the decision', async () => {
    await open({
      handle: async (request) => {
        for await (const chunk of request.body) expect(chunk.length).toBeGreaterThan(0);
        return {
          status: 200,
          contentType: 'application/json',
          body: '{"a":1}',
          objects: [['prod', 'other']],
          commit: {
            kind: 'append',
            baseVersion: 1n,
            version: 2n,
            rowsAdded: 3n,
            rowsRemoved: 0n,
            schemaChanged: false,
            rules: [],
          },
        };
      },
    });
    const key = await harness.key({ roles: ['role:loader'] });
    const headers = {
      'x-api-key': key,
      'user-agent': 'test/1',
      'x-service-ctx-team': 'blue',
      'x-service-ctx-id-token': 'hush',
    };
    const reply = await ask(harness, '/v1/table/prod$s%20a/insert', { headers, body: '12345' });
    expect(harness.audit.records).toHaveLength(2);
    const [attempt, outcome] = harness.audit.records;
    const shared = {
      decision_id: reply.headers['x-arrowgate-decision-id'],
      request_id: reply.headers['x-request-id'],
      subject: 'user:alice',
      principal: { subject: 'user:alice', groups: [], roles: ['role:loader'] },
      credential: key.split('_')[1],
      source_ip: '127.0.0.1',
      user_agent: 'test/1',
      operation: 'InsertIntoTable',
      object: '/prod/s%20a',
      mode: 'append',
      backend: 'small',
      decision: 'allow',
      rule: 'policy.csv:4',
      policy_digest: expect.stringMatching(/^[0-9a-f]{64}$/),
      context: { team: 'blue', 'id-token': '[redacted]' },
    };
    expect(attempt).toMatchObject({ phase: 'attempt', ...shared });
    expect(outcome).toMatchObject({
      phase: 'outcome',
      ...shared,
      objects: ['/prod/other'],
      status: 200,
      code: null,
      bytes_in: 5,
      bytes_out: 7,
    });
    expect(outcome).toHaveProperty('commit');
    const time = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/;
    expect([attempt!.time, outcome!.time]).toEqual([
      expect.stringMatching(time),
      expect.stringMatching(time),
    ]);
    expect(outcome!.time >= attempt!.time).toBe(true);
    expect(outcome!.duration_us).toBeTypeOf('number');
    expect(Math.abs(Date.parse(attempt!.time) - Date.now())).toBeLessThan(60_000);
    expect(JSON.stringify(harness.audit.records, bigints)).not.toContain(key.slice(-43));
  });
});

function bigints(_: string, value: unknown): unknown {
  return typeof value === 'bigint' ? String(value) : value;
}

describe('a denied request', () => {
  it('is 403 and names the rule only to those who manage', async () => {
    await open({
      policy: `p, role:admin, /**, *, allow
p, role:admin, /prod/hr/**, *, deny
p, role:analyst, /prod/hr/**, *, deny
`,
    });
    const key = await harness.key({ roles: ['role:analyst'] });
    const path = '/v1/table/prod$hr$pay/query';
    const reply = await ask(harness, path, { headers: { 'x-api-key': key } });
    expect(reply.status).toBe(403);
    expect(json(reply)).toEqual({
      error: 'user:alice may not QueryTable on /prod/hr/pay',
      code: 15,
      instance: reply.headers['x-request-id'],
    });
    expect(reply.headers).toMatchObject({
      'x-arrowgate-decision': 'deny',
      'x-arrowgate-reason': 'the policy denies QueryTable',
      'phalanx-version': '0.3.0',
    });
    const told = await ask(harness, path, { headers: admin });
    expect(told.headers['x-arrowgate-reason']).toBe('the policy denies QueryTable (policy.csv:2)');
    expect(harness.events.filter((event) => event.startsWith('handle'))).toEqual([]);
  });

  it('leaves both records, the outcome with the line that denied it', async () => {
    await open();
    const key = await harness.key({ roles: ['role:analyst'] });
    await ask(harness, '/v1/table/prod$hr$pay/query', { headers: { 'x-api-key': key } });
    const denial = { decision: 'deny', rule: 'policy.csv:3', subject: 'user:alice' };
    expect(harness.audit.records).toMatchObject([
      { phase: 'attempt', ...denial },
      {
        phase: 'outcome',
        ...denial,
        status: 403,
        code: 15,
        operation: 'QueryTable',
        object: '/prod/hr/pay',
      },
    ]);
  });

  it('is denied by the backend in the same way, for an object that the body names', async () => {
    await open({
      handle: (_, permit) => {
        permit.require('QueryTable', ['prod', 'sales']);
        permit.require('QueryTable', ['prod', 'hr', 'pay']);
        return { status: 200, body: null };
      },
    });
    const key = await harness.key({ roles: ['role:analyst'] });
    const reply = await ask(harness, '/v1/table/prod$sales/query', {
      headers: { 'x-api-key': key },
    });
    expect(reply.status).toBe(403);
    expect(json(reply)).toMatchObject({
      error: 'user:alice may not QueryTable on /prod/hr/pay',
      code: 15,
    });
    expect(reply.headers['x-arrowgate-decision']).toBe('deny');
    expect(harness.audit.records).toMatchObject([
      { phase: 'attempt', decision: 'allow' },
      {
        phase: 'outcome',
        decision: 'deny',
        rule: 'policy.csv:3',
        objects: ['/prod/sales', '/prod/hr/pay'],
      },
    ]);
  });
});

describe('modes and second objects', () => {
  const insert = (mode: string) => `/v1/table/prod$t/insert?mode=${mode}`;

  it.each([
    ['append right, append', 'p, user:alice, /prod/**, append, allow\n', insert('append'), 200],
    [
      'append right, no mode',
      'p, user:alice, /prod/**, append, allow\n',
      '/v1/table/prod$t/insert',
      200,
    ],
    [
      'append right, overwrite',
      'p, user:alice, /prod/**, append, allow\n',
      insert('overwrite'),
      403,
    ],
    [
      'modify right, overwrite',
      'p, user:alice, /prod/**, modify, allow\n',
      insert('overwrite'),
      200,
    ],
    ['modify right, append', 'p, user:alice, /prod/**, modify, allow\n', insert('append'), 403],
    [
      'modify right and a deny of inserting, overwrite',
      'p, user:alice, /prod/**, modify, allow\np, user:alice, /prod/**, InsertIntoTable, deny\n',
      insert('overwrite'),
      403,
    ],
    ['unknown mode', 'p, user:alice, /**, *, allow\n', insert('upsert'), 400],
    [
      'create right, overwrite',
      'p, user:alice, /prod/**, create, allow\n',
      '/v1/table/prod$t/create?mode=overwrite',
      403,
    ],
    [
      'create and drop rights, overwrite',
      'p, user:alice, /prod/**, create, allow\np, user:alice, /prod/**, drop, allow\n',
      '/v1/table/prod$t/create?mode=Overwrite',
      200,
    ],
    [
      'drop right alone, rename',
      'p, user:alice, /prod/**, drop, allow\n',
      '/v1/table/prod$t/rename/to/prod$u',
      403,
    ],
    [
      'drop here and create there, rename',
      'p, user:alice, /prod/**, drop, allow\np, user:alice, /new/**, create, allow\n',
      '/v1/table/prod$t/rename/to/new$u',
      200,
    ],
    [
      'a right on some table, batch',
      'p, user:alice, /prod/**, commit, allow\n',
      '/v1/table/batch-commit',
      200,
    ],
    [
      'no right at all, batch',
      'p, user:alice, /prod/**, read, allow\n',
      '/v1/table/batch-commit',
      403,
    ],
    [
      'a right on some table, transaction',
      'p, user:alice, /prod/**, read, allow\n',
      '/v1/transaction/t1/describe',
      200,
    ],
    [
      'no right to change, transaction',
      'p, user:alice, /prod/**, read, allow\n',
      '/v1/transaction/t1/alter',
      403,
    ],
    [
      'a right to commit to some table, transaction',
      'p, user:alice, /prod/**, commit, allow\n',
      '/v1/transaction/t1/alter',
      200,
    ],
    ['no right at all, jobs', '', '/v1/jobs/list', 403],
    [
      'a right on some table, jobs',
      'p, user:alice, /prod/t, append, allow\n',
      '/v1/jobs/list',
      200,
    ],
    [
      'rights below the root, functions',
      'p, user:alice, /prod/**, *, allow\n',
      '/v1/functions/get',
      403,
    ],
    [
      'rights on the root, functions',
      'p, user:alice, /, manage, allow\n',
      '/v1/functions/get',
      200,
    ],
  ])('%s', async (_, policy, path, status) => {
    await open({ policy: `p, role:admin, /**, *, allow\n${policy}` });
    const key = await harness.key({});
    expect((await ask(harness, path, { headers: { 'x-api-key': key } })).status).toBe(status);
  });

  it('are recorded', async () => {
    await open();
    await ask(harness, '/v1/table/a$t/rename/to/b$u', { headers: admin });
    await ask(harness, '/v1/table/a$t/create?mode=ExistOk', { headers: admin });
    expect(harness.audit.outcomes()).toMatchObject([
      { object: '/a/t', objects: ['/b/u'] },
      { object: '/a/t', mode: 'exist_ok' },
    ]);
  });

  it('narrow a key to its scopes', async () => {
    await open();
    const scopes = [{ action: 'read', pattern: '/prod/**' }];
    const key = await harness.key({ subject: 'user:admin', roles: ['role:admin'], scopes });
    const headers = { 'x-api-key': key };
    expect((await ask(harness, '/v1/table/prod$t/query', { headers })).status).toBe(200);
    expect((await ask(harness, '/v1/table/other$t/query', { headers })).status).toBe(403);
    expect((await ask(harness, '/v1/table/prod$t/drop', { headers })).status).toBe(403);
  });
});

describe('a listing', () => {
  it('answers everybody, and shows what the permit shows', async () => {
    await open({
      handle: (_, permit) => {
        const names = permit.show(
          ['prod', 'test'],
          (name) => [name],
          'namespace',
          (name) => name,
        );
        return { status: 200, contentType: 'application/json', body: JSON.stringify(names) };
      },
    });
    const key = await harness.key({ roles: ['role:analyst'] });
    const list = async (credential: string) =>
      (
        await ask(harness, '/v1/namespace/$/list', {
          method: 'GET',
          headers: { 'x-api-key': credential },
        })
      ).text;
    expect(await list(key)).toBe('["prod"]');
    expect(await list(await harness.key({}))).toBe('[]');
  });
});

describe('a request that is not understood', () => {
  it.each([
    ['POST', '/v1/table/a$$b/describe', 400, 13],
    ['POST', '/v1/table/a/describe?delimiter=', 400, 13],
    ['POST', '/v1/table/a/describe?delimiter=.&delimiter=.', 400, 13],
    ['POST', '/v1/table/a/frobnicate', 406, 0],
    ['POST', '/v2/table/a/describe', 404, 0],
    ['DELETE', '/v1/table/a/describe', 405, 0],
  ])('%s %s is %i', async (method, path, status, code) => {
    await open();
    const reply = await ask(harness, path, { method, headers: admin });
    expect(reply.status).toBe(status);
    expect(json(reply)).toMatchObject({ code, instance: reply.headers['x-request-id'] });
    expect(reply.headers['content-type']).toBe('application/json');
  });

  it('is decided as invalid and recorded, without a principal', async () => {
    await open();
    const reply = await ask(harness, '/v1/table/a/frobnicate?secret=hush', { headers: admin });
    expect(json(reply)['error']).toBe('no such operation: POST /v1/table/a/frobnicate');
    expect(reply.headers['x-arrowgate-decision']).toBe('invalid');
    const invalid = { decision: 'invalid', subject: null, operation: null, policy_digest: null };
    expect(harness.audit.records).toMatchObject([
      { phase: 'attempt', ...invalid },
      { phase: 'outcome', ...invalid, status: 406, code: 0 },
    ]);
  });

  it('says which methods a path takes', async () => {
    await open();
    const reply = await ask(harness, DESCRIBE, { method: 'PUT', headers: admin });
    expect(reply.headers.allow).toBe('POST');
    expect(json(reply)['error']).toBe('PUT is not a method of this operation; it takes POST');
  });
});

describe('an error of the backend', () => {
  it.each([
    ['a missing table', 'TableNotFound', DESCRIBE, 404, 4],
    ['a missing table, to LanceDB', 'TableNotFound', `${DESCRIBE}/`, 404, 4],
    ['a missing version', 'TableVersionNotFound', DESCRIBE, 404, 11],
    ['a missing version, to LanceDB', 'TableVersionNotFound', `${DESCRIBE}/`, 400, 11],
    ['an existing table', 'TableAlreadyExists', DESCRIBE, 409, 5],
    ['an existing table, to LanceDB', 'TableAlreadyExists', `${DESCRIBE}/`, 400, 5],
    ['a conflict, to LanceDB', 'ConcurrentModification', `${DESCRIBE}/`, 409, 14],
    ['an absent store', 'ServiceUnavailable', DESCRIBE, 503, 17],
  ] as const)('%s', async (_, name, path, status, code) => {
    await open({
      handle: () => {
        throw new CatalogError(name, 'no', 'because');
      },
    });
    const reply = await ask(harness, path, { headers: admin });
    expect(reply.status).toBe(status);
    const instance = reply.headers['x-request-id'];
    expect(json(reply)).toEqual({ error: 'no', code, detail: 'because', instance });
    expect(reply.headers['x-arrowgate-decision']).toBe('allow');
    expect(harness.audit.outcomes()).toMatchObject([{ status, code, decision: 'allow' }]);
  });

  it('that is unexpected is in the log only', async () => {
    await open({
      handle: () => {
        throw new TypeError('the secret of the house');
      },
    });
    const reply = await ask(harness, DESCRIBE, { headers: admin });
    expect(reply.status).toBe(500);
    expect(json(reply)).toMatchObject({ error: 'internal error', code: 18 });
    expect(harness.logged.join('')).toContain('the secret of the house');
  });
});
