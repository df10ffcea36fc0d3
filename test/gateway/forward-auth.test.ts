import { afterEach, describe, expect, it } from 'vitest';
import type { Guarded } from '../../src/gateway/backends/remote-guard.ts';
import { conditionalModel } from '../policy/conditions.ts';
import { admin, ask, json, start, type Harness, type Reply, type Setup } from './harness.ts';

let harness: Harness;

afterEach(() => harness.close());

const POLICY = `p, role:admin, /**, *, allow
p, role:reader, /prod/**, read, allow
p, role:describer, /prod/**, describe, allow
p, role:reader, /prod/hr/**, *, deny
`;

/** A catalog behind the proxy that is listed as a backend, and refuses bodies that name another object. */
const listed: Guarded = { name: 'west', prefix: [], trust: new Set(), checksBodies: true };

async function open(setup: Setup = {}, catalog: Guarded | undefined = listed): Promise<void> {
  harness = await start({
    policy: POLICY,
    trustedProxies: ['127.0.0.0/8'],
    ...setup,
    gateway: { remoteFor: () => catalog },
  });
}

/** Opens a gateway that lists no catalog behind the proxy. */
async function openUnlisted(gateway: Setup['gateway'] = {}): Promise<void> {
  harness = await start({ policy: POLICY, trustedProxies: ['127.0.0.0/8'], gateway });
}

/** Asks as nginx and Traefik do. */
function asked(line: string, headers: object = admin): Promise<Reply> {
  const [method = '', uri = ''] = line.split(' ');
  const described = { 'X-Forwarded-Method': method, 'X-Forwarded-Uri': uri };
  return ask(harness, '/authorize', { method: 'GET', headers: { ...described, ...headers } });
}

async function of(role: string): Promise<object> {
  return { 'x-api-key': await harness.key({ roles: [role] }) };
}

describe('what a proxy asks about', () => {
  it('is allowed or denied by the policy, in the verb and target that it describes', async () => {
    await open();
    const reader = await of('role:reader');
    const allowed = await asked('POST /v1/table/prod$t/query', reader);
    expect([allowed.status, allowed.text]).toEqual([200, '']);
    expect(allowed.headers).toMatchObject({
      'x-arrowgate-decision': 'allow',
      'x-arrowgate-subject': 'user:alice',
    });
    const denied = await asked('POST /v1/table/prod$t/drop?delimiter=$', reader);
    expect([denied.status, json(denied)['code']]).toEqual([403, 15]);
    expect(denied.headers['x-arrowgate-reason']).toBe('the policy does not allow DropTable');
    expect((await asked('POST /v1/table/prod$hr$t/query', reader)).status).toBe(403);
    expect((await asked('POST /v1/table/prod.hr.t/query?delimiter=.', reader)).status).toBe(403);
    expect(harness.events.filter((event) => event.startsWith('handle'))).toEqual([]);
  });

  it('may stand in the path, with its own verb', async () => {
    await open();
    const reader = await of('role:reader');
    const other = { 'X-Forwarded-Method': 'POST', 'X-Forwarded-Uri': '/v1/table/prod$t/query' };
    const below = (path: string, more: object = {}) =>
      ask(harness, `/authorize${path}`, { method: 'POST', headers: { ...reader, ...more } });
    expect((await below('/v1/table/prod$t/query')).status).toBe(200);
    expect((await below('/v1/table/prod$t/drop', other)).status).toBe(403);
    expect((await below('/v1/table/prod$t/query?delimiter=')).status).toBe(403);
  });

  it('is 401 without a credential that is known', async () => {
    await open();
    const reply = await asked('POST /v1/table/prod$t/query', { 'x-api-key': 'wrong' });
    expect(reply.status).toBe(401);
    expect(reply.headers['www-authenticate']).toBe('Bearer realm="arrowgate"');
    expect(reply.headers['x-arrowgate-decision']).toBe('unauthenticated');
  });

  it.each([
    ['POST /v1/nothing', 0],
    ['DELETE /v1/table/t/query', 0],
    ['POST /v1/table/a%2Fb%00/query', 13],
    ['POST /v1/table/t/query?delimiter=.&delimiter=$', 13],
    ['POST v1/table/t/query', 13],
    ['post /v1/table/t/query', 13],
    ['POST http://elsewhere/v1/table/t/query', 13],
  ])('is 403 where it is no request that could pass: %s', async (line, code) => {
    await open();
    const reply = await asked(line);
    expect([reply.status, json(reply)['code']]).toEqual([403, code]);
    expect(reply.headers['x-arrowgate-decision']).toBe('invalid');
  });

  it.each<[string, object]>([
    ['nothing', {}],
    ['no target', { 'X-Forwarded-Method': 'POST' }],
    ['no verb', { 'X-Forwarded-Uri': '/v1/table/t/query' }],
    [
      'two targets',
      {
        'X-Forwarded-Method': 'POST',
        'X-Forwarded-Uri': ['/v1/table/t/query', '/v1/table/u/query'],
      },
    ],
    [
      'two verbs',
      { 'X-Forwarded-Method': ['POST', 'GET'], 'X-Forwarded-Uri': '/v1/table/t/query' },
    ],
  ])('is 403 with %s', async (_, headers) => {
    await open();
    const reply = await ask(harness, '/authorize/', {
      method: 'GET',
      headers: { ...admin, ...headers },
    });
    expect([reply.status, json(reply)['error']]).toEqual([
      403,
      'the request is described by one X-Forwarded-Method and one X-Forwarded-Uri, or by the path below /authorize/',
    ]);
  });
});

describe('what cannot be decided without the body or the answer', () => {
  const objects = 'its objects are in the body, and it is not trusted with that';
  const mode = 'its mode is in the body, and it is not trusted with that';

  it.each([
    [
      'GET /v1/table',
      'the answer of ListAllTables must be filtered, but does not pass this gateway',
    ],
    [
      'GET /v1/namespace/$/list',
      'the answer of ListNamespaces must be filtered, but does not pass this gateway',
    ],
    [
      'GET /v1/namespace/$/table/list',
      'the answer of ListTables must be filtered, but does not pass this gateway',
    ],
    [
      'POST /v1/table/batch-commit',
      `BatchCommitTables is not forwarded to the backend west: ${objects}`,
    ],
    ['POST /v1/table/t/rename', `RenameTable is not forwarded to the backend west: ${objects}`],
    [
      'POST /v1/namespace/n/create',
      `CreateNamespace is not forwarded to the backend west: ${mode}`,
    ],
    ['POST /v1/namespace/n/drop', `DropNamespace is not forwarded to the backend west: ${mode}`],
    ['POST /v1/table/t/declare', `DeclareTable is not forwarded to the backend west: ${mode}`],
    ['POST /v1/table/t/register', `RegisterTable is not forwarded to the backend west: ${mode}`],
    [
      'POST /v1/table/t/version/create',
      'CreateTableVersion is not forwarded to the backend west: its commit is in the body, and it is not trusted with that',
    ],
  ])('is refused even to an administrator: %s', async (line, reason) => {
    await open();
    const reply = await asked(line);
    expect([reply.status, json(reply)]).toMatchObject([403, { error: reason, code: 15 }]);
    expect(reply.headers['x-arrowgate-decision']).toBe('deny');
  });

  it('is left to a catalog that is trusted with it', async () => {
    await open({}, { ...listed, trust: new Set(['RenameTable']) });
    expect((await asked('POST /v1/table/t/rename')).status).toBe(200);
    expect((await asked('POST /v1/table/t/declare')).status).toBe(403);
  });

  it.each(['x-lance-table-location', 'X-Service-Table-Location'])(
    'is a location in the header %s',
    async (header) => {
      await open();
      const line = 'POST /v1/table/t/create';
      expect((await asked(line)).status).toBe(200);
      const reply = await asked(line, { ...admin, [header]: 's3://elsewhere/t' });
      expect([reply.status, json(reply)]).toMatchObject([
        403,
        {
          error: `CreateTable is not forwarded to the backend west: ${header.toLowerCase()} chooses where the table lies, and it is not trusted with that`,
          code: 15,
        },
      ]);
    },
  );

  it('is no body of a catalog that holds it against the route, listed or not', async () => {
    await openUnlisted();
    const reader = await of('role:reader');
    for (const action of ['query', 'count_rows', 'exists']) {
      expect((await asked(`POST /v1/table/prod$t/${action}`, reader)).status).toBe(200);
      expect((await asked(`POST /v1/table/prod$hr$t/${action}`, reader)).status).toBe(403);
    }
    for (const line of ['POST /v1/table/t/rename', 'POST /v1/table/t/declare', 'GET /v1/table']) {
      expect((await asked(line)).status).toBe(403);
    }
    expect((await asked('POST /v1/table/prod$t/describe', reader)).status).toBe(200);
    const described = await asked('POST /v1/table/prod$t/describe', await of('role:describer'));
    expect([described.status, described.headers['x-arrowgate-reason']]).toEqual([
      403,
      'the body of DescribeTable may ask for credentials, which needs the right to read',
    ]);
    const placed = { ...admin, 'x-lance-table-location': 's3://elsewhere/t' };
    expect((await asked('POST /v1/table/t/create', placed)).status).toBe(403);
  });

  it('is a body of a listed catalog that was not seen to check it, whatever is configured', async () => {
    await open({}, { ...listed, checksBodies: false });
    const line = 'POST /v1/table/prod$t/query';
    expect((await asked(line, await of('role:reader'))).status).toBe(403);
    expect((await asked(line)).status).toBe(200);
  });

  it('is a body of a catalog that is configured not to hold it against the route', async () => {
    await openUnlisted({ bodyIds: 'unchecked' });
    const reader = await of('role:reader');
    for (const action of ['query', 'count_rows', 'exists']) {
      const refused = await asked(`POST /v1/table/prod$t/${action}`, reader);
      expect([refused.status, json(refused)['code']]).toEqual([403, 15]);
      expect(json(refused)['error']).toMatch(
        /is forwarded to the backend behind the proxy only for those who may \w+ on \/ and all below: the backend was not seen to refuse a body that names another object than the route$/,
      );
      // Whoever may do the same to everything gains nothing by another name.
      expect((await asked(`POST /v1/table/prod$t/${action}`)).status).toBe(200);
    }
    expect((await asked('GET /v1/table/prod$t/version/list', reader)).status).toBe(200);
  });

  it('is a description that may ask for credentials, without the rights that they give', async () => {
    await open();
    const line = 'POST /v1/table/prod$t/describe';
    expect((await asked(line)).status).toBe(200);
    const refused = await asked(line, await of('role:describer'));
    expect([refused.status, refused.headers['x-arrowgate-reason']]).toEqual([
      403,
      'DescribeTable is forwarded to the backend west only for those who may QueryTable on /prod/t: its body can ask for credentials',
    ]);
    expect((await asked('POST /v1/table/prod$t/exists', await of('role:describer'))).status).toBe(
      200,
    );
  });
});

describe('a commit rule that route and headers decide', () => {
  it('holds for what a proxy describes', async () => {
    await open({
      commits: 'rules: [{ name: keep, tables: ["/prod/**"], require: { no_drop: true } }]\n',
    });
    const reply = await asked('POST /v1/table/prod$t/drop');
    expect([reply.status, json(reply)['code']]).toEqual([403, 20]);
    expect((await asked('POST /v1/table/other$t/drop')).status).toBe(200);
  });
});

describe('a branch that the body may name', () => {
  it('leaves only what is allowed on all of them', async () => {
    await open({
      model: conditionalModel,
      policy: `p, user:dev, /**, *, allow, branch == dev
p, user:main, /**, *, allow, branch == main
p, user:other, /**, *, allow,
p, user:other, /**, *, deny, branch == dev
p, user:all, /**, *, allow,
`,
    });
    const statuses = async (line: string): Promise<readonly number[]> => {
      const found: number[] = [];
      for (const user of ['dev', 'main', 'other', 'all']) {
        const key = await harness.key({ subject: `user:${user}`, roles: [] });
        found.push((await asked(line, { 'x-api-key': key })).status);
      }
      return found;
    };
    const none = [403, 403, 403, 200];
    expect(await statuses('POST /v1/table/prod$t/query')).toEqual(none);
    expect(await statuses('POST /v1/table/prod$t/query?branch=dev')).toEqual(none);
    expect(await statuses('POST /v1/table/prod$t/describe')).toEqual(none);
    expect(await statuses('POST /v1/table/prod$t/branches/create')).toEqual(none);
    expect(await statuses('POST /v1/table/prod$t/insert?branch=dev')).toEqual([200, 403, 403, 200]);
    expect(await statuses('POST /v1/table/prod$t/insert')).toEqual([403, 200, 200, 200]);
  });
});

describe('limits', () => {
  it('answer 403, and say that it is a limit', async () => {
    await open({ limits: 'limits: [{ name: l, rate: 1/h }]\n' });
    const line = 'POST /v1/table/prod$t/query';
    expect((await asked(line)).status).toBe(200);
    const reply = await asked(line);
    expect([reply.status, json(reply)['code']]).toEqual([403, 21]);
    expect(reply.headers).toMatchObject({
      'x-arrowgate-decision': 'limited',
      'retry-after': expect.stringMatching(/^3[56]\d\d$/),
      'ratelimit-policy': '"l";q=1;w=3600',
    });
  });
});

describe('the audit log', () => {
  it('has what was asked, as it was described, without a backend', async () => {
    await open();
    await asked('POST /v1/table/prod$t/drop');
    await asked('POST /v1/table/prod$t/nothing');
    expect(harness.audit.records).toMatchObject([
      {
        phase: 'attempt',
        operation: 'DropTable',
        object: '/prod/t',
        decision: 'allow',
        backend: null,
      },
      { phase: 'outcome', operation: 'DropTable', status: 200, bytes_out: 0, backend: null },
      { phase: 'attempt', operation: null, decision: 'invalid' },
      { phase: 'outcome', operation: null, status: 403, code: 0 },
    ]);
    expect(harness.events.slice(0, 2)).toEqual([
      'attempt DropTable durable',
      'outcome DropTable durable',
    ]);
  });

  it('refuses changes while it cannot be written', async () => {
    await open();
    harness.audit.broken = () => true;
    const change = await asked('POST /v1/table/prod$t/insert');
    expect([change.status, json(change)['code']]).toEqual([403, 17]);
    expect(change.headers['x-arrowgate-decision']).toBe('unavailable');
    expect((await asked('POST /v1/table/prod$t/query')).status).toBe(200);
  });
});

describe('a stranger', () => {
  it('learns nothing and leaves no record', async () => {
    await open({ trustedProxies: ['10.0.0.0/8'] });
    const reply = await asked('POST /v1/table/prod$t/query', {
      ...admin,
      'X-Forwarded-For': '10.0.0.1',
    });
    expect([reply.status, json(reply)]).toEqual([
      403,
      {
        error: 'only trusted proxies may use this path',
        code: 15,
        instance: reply.headers['x-request-id'],
      },
    ]);
    expect(harness.audit.records).toEqual([]);
  });
});
