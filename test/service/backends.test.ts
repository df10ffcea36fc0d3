import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { PlainCatalog } from '../support/plain-catalog.ts';
import { ADMIN_KEY, Service } from '../support/service.ts';
import { ARROW_STREAM, send, type Reply, type Sent } from './http.ts';
import { goodRows } from './table-bodies.ts';

const POLICY = `p, role:admin, /**, *, allow
p, role:west, /west/**, *, allow
p, role:reader, /west/**, read, allow
p, role:reader, /plain/**, read, allow
p, role:reader, /open/**, read, allow
p, role:reader, /west/hidden/**, *, deny
p, role:partner, /open/**, *, allow
`;

let far: Service;
let plain: PlainCatalog;
let open: PlainCatalog;
let near: Service;
let reader: string;
let partner: string;

beforeAll(async () => {
  far = await Service.start({ policy: 'p, role:admin, /**, *, allow\n' });
  plain = await PlainCatalog.start({ checks: true, key: 'the-key-of-plain' });
  open = await PlainCatalog.start({ checks: false });
  near = await Service.start({
    policy: POLICY,
    variables: {
      WEST_KEY: ADMIN_KEY,
      BEARER: `Bearer ${ADMIN_KEY}`,
      PLAIN_KEY: 'the-key-of-plain',
    },
    config: `
backends:
  - { name: west, type: http, url: "${far.url}", namespaces: ["/west/**"], credential_env: WEST_KEY }
  - { name: east, type: http, url: "${far.url}/", namespaces: ["/east/**"], strip_prefix: true, credential_env: BEARER, trust: [RenameTable, create, DropNamespace, commit] }
  - { name: plain, type: http, url: "${plain.url}", namespaces: ["/plain/**"], credential_env: PLAIN_KEY }
  - { name: open, type: http, url: "${open.url}", namespaces: ["/open/**", "/deep/er/**"] }
  - { name: engine, type: embedded, namespaces: ["/**"] }
`,
  });
  reader = await near.key('user:ann', 'role:reader');
  partner = await near.key('user:pat', 'role:partner');
  await done(far.url, 'POST /v1/namespace/west/create', {});
  await done(far.url, 'POST /v1/table/west$t/create', { body: goodRows, headers: ARROW_STREAM });
});

afterAll(async () => {
  await near?.stop();
  await far?.stop();
  await plain?.stop();
  await open?.stop();
});

async function done(url: string, line: string, sent: Sent): Promise<Reply> {
  const reply = await send(url, line, { body: {}, ...sent });
  expect([reply.status, reply.text]).toEqual([200, expect.anything()]);
  return reply;
}

const ask = (line: string, body: Sent['body'] = {}, sent: Sent = {}): Promise<Reply> =>
  send(near.url, line, { body, ...sent });

/** Without a body. */
const bare = (line: string, key = ADMIN_KEY): Promise<Reply> => send(near.url, line, { key });

describe('Another gateway as a backend', () => {
  it('answers reads and changes of its namespaces', async () => {
    const described = await ask('POST /v1/table/west$t/describe');
    expect([described.status, described.json['version']]).toEqual([200, 1]);
    await done(near.url, 'POST /v1/table/west$t/insert', { body: goodRows, headers: ARROW_STREAM });
    expect((await ask('POST /v1/table/west.t/count_rows?delimiter=.')).text).toBe('6');
    const query = await ask('POST /v1/table/west$t/query', { k: 10, vector: [] });
    expect(query.headers['x-lancedb-version']).toBe('2');
    expect(query.headers['content-type']).toContain('arrow');
  });

  it('refuses in the words of the protocol, which pass unchanged', async () => {
    const reply = await ask(
      'POST /v1/table/west$none/describe',
      {},
      { headers: { 'x-request-id': 'r-1' } },
    );
    expect([reply.status, reply.json['code'], reply.json['instance']]).toEqual([404, 4, 'r-1']);
    expect(reply.headers['x-arrowgate-decision']).toBe('allow');
    await eventually(async () => {
      const records = (await near.audit()).filter((each) => each['request_id'] === 'r-1');
      expect(records).toMatchObject([
        { phase: 'attempt', backend: 'west' },
        { phase: 'outcome', backend: 'west', object: '/west/none', status: 404, code: 4 },
      ]);
      const theirs = (await far.audit()).find((each) => each['request_id'] === 'r-1');
      expect(theirs).toMatchObject({ subject: 'user:admin', object: '/west/none' });
    });
  });

  it('is called by its own names where the prefix is stripped', async () => {
    await done(near.url, 'POST /v1/namespace/east$hr/create', {});
    await done(near.url, 'POST /v1/table/east$hr$people/create', {
      body: goodRows,
      headers: ARROW_STREAM,
    });
    expect((await send(far.url, 'POST /v1/table/hr$people/count_rows', { body: {} })).text).toBe(
      '3',
    );
    expect((await bare('GET /v1/namespace/east/list')).json['namespaces']).toEqual(['hr', 'west']);
    await done(near.url, 'POST /v1/table/east$hr$people/rename/to/east$hr$staff', {});
    expect((await bare('GET /v1/namespace/east$hr/table/list')).json['tables']).toEqual(['staff']);
    await done(near.url, 'POST /v1/table/east$hr$staff/drop', {});
  });
});

describe('A plain catalog as a backend', () => {
  it('gets what was understood of a request, and its own credential', async () => {
    const created = await ask(
      'POST /v1/table/plain$a%62c/create/?mode=create&other=1&delimiter=$',
      goodRows,
      {
        headers: {
          ...ARROW_STREAM,
          authorization: `Bearer ${ADMIN_KEY}`,
          cookie: 'secret=1',
          connection: 'close, x-hop',
          'proxy-authorization': 'Basic c2VjcmV0',
          'x-service-ctx-team': 'loaders',
          'x-hop': '1',
          'x-lancedb-min-version': '3',
          'x-arrowgate-decision': 'allow',
          'x-forwarded-for': '10.0.0.1',
          'content-range': 'bytes 0-5/6',
          'x-request-id': 'made-1',
          traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
          tracestate: 'a=b',
          'user-agent': 'LanceDB-Node-Client/0.31.0',
        },
      },
    );
    expect([created.status, created.json]).toEqual([200, { version: 1 }]);
    const [asked] = plain.of('abc');
    expect(asked?.target).toBe('/v1/table/plain%24abc/create/?mode=create');
    expect(asked?.body).toEqual(Buffer.from(goodRows));
    const { via, host, ...headers } = asked?.headers ?? {};
    expect(via).toMatch(/^1\.1 arrowgate-[0-9a-f]{12}$/);
    expect(host).toBe(new URL(plain.url).host);
    expect(headers).toEqual({
      'content-type': 'application/vnd.apache.arrow.stream',
      'content-length': String(goodRows.byteLength),
      'content-range': 'bytes 0-5/6',
      connection: 'keep-alive',
      'user-agent': 'LanceDB-Node-Client/0.31.0',
      'x-api-key': 'the-key-of-plain',
      'x-lancedb-min-version': '3',
      'x-request-id': 'made-1',
      'x-service-ctx-team': 'loaders',
      traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
      tracestate: 'a=b',
    });
  });

  it('gets a body of unknown length as it comes', async () => {
    async function* pieces() {
      for (let at = 0; at < goodRows.byteLength; at += 500) yield goodRows.subarray(at, at + 500);
    }
    const sent = { headers: ARROW_STREAM };
    expect((await ask('POST /v1/table/plain$pieces/create', pieces(), sent)).status).toBe(200);
    expect(plain.tables.get('plain$pieces')).toEqual(Buffer.from(goodRows));
    expect(plain.of('pieces')[0]?.headers).toMatchObject({ 'transfer-encoding': 'chunked' });
    await done(near.url, 'POST /v1/table/plain$pieces/drop', {});
  });

  it('gets an empty object where the model of an operation is JSON and the client sends nothing', async () => {
    expect((await bare('POST /v1/table/plain$abc/describe')).status).toBe(200);
    const described = plain.of('abc').at(-1);
    expect([described?.body.toString(), described?.headers['content-type']]).toEqual([
      '{}',
      'application/json',
    ]);
    expect((await bare('GET /v1/namespace/plain/table/list')).status).toBe(200);
    const listed = plain.of('plain/table/list').at(-1);
    expect([listed?.body.byteLength, listed?.headers['content-type']]).toEqual([0, undefined]);
  });

  it('answers with what concerns the client alone', async () => {
    const reply = await ask('POST /v1/table/plain$abc/query', { k: 1 });
    expect(reply.bytes).toEqual(Buffer.from(goodRows));
    expect(reply.headers).toMatchObject({
      'x-lancedb-version': '7',
      'x-arrowgate-decision': 'allow',
    });
    expect(reply.headers).not.toHaveProperty('set-cookie');
    expect(reply.headers).not.toHaveProperty('x-powered-by');
    const trace = plain.of('abc').at(-1)?.headers['traceparent'];
    const id = String(reply.headers['x-arrowgate-decision-id']).replaceAll('-', '');
    expect(trace).toBe(`00-${id}-${id.slice(16)}-00`);
  });

  it.each([
    ['namespace/plain$x/create', 'CreateNamespace', 'its mode is in the body'],
    ['namespace/plain$x/drop', 'DropNamespace', 'its mode is in the body'],
    ['table/plain$abc/register', 'RegisterTable', 'its mode is in the body'],
    ['table/plain$abc/declare', 'DeclareTable', 'its mode is in the body'],
    ['table/plain$abc/rename', 'RenameTable', 'its objects are in the body'],
    ['table/plain$abc/clone', 'CloneTable', 'its objects are in the body'],
    ['materialized_view/plain$v/create', 'CreateMaterializedView', 'its objects are in the body'],
    ['table/plain$abc/version/create', 'CreateTableVersion', 'its commit is in the body'],
  ])('is not asked for %s, which nobody could guard', async (path, operation, why) => {
    const before = plain.asked.length;
    const reply = await ask(`POST /v1/${path}`);
    expect([reply.status, reply.json['code'], reply.json['error']]).toEqual([
      406,
      0,
      `${operation} is not forwarded to the backend plain: ${why}, and it is not trusted with that`,
    ]);
    expect(plain.asked.length).toBe(before);
  });

  it('is not told where a table shall lie', async () => {
    const headers = { ...ARROW_STREAM, 'x-lance-table-location': '/somewhere' };
    const reply = await ask('POST /v1/table/plain$new/create', goodRows, { headers });
    expect(reply.json['error']).toBe(
      'CreateTable is not forwarded to the backend plain: x-lance-table-location chooses where the table lies, and it is not trusted with that',
    );
    expect(plain.of('new')).toEqual([]);
  });
});

describe('A backend that gets no permit', () => {
  it('describes with a body only to those to whom it may hand credentials', async () => {
    const body = {};
    const reply = await ask('POST /v1/table/west$t/describe', body, { key: reader });
    expect([reply.status, reply.json['code'], reply.json['error']]).toEqual([
      403,
      15,
      'DescribeTable is forwarded to the backend west only for those who may CreateTableVersion on /west/t: its body can ask for credentials',
    ]);
    expect((await bare('POST /v1/table/west$t/describe', reader)).status).toBe(200);
    expect((await ask('POST /v1/table/west$t/count_rows', body, { key: reader })).status).toBe(200);
  });

  it('lists what the caller may see', async () => {
    await done(far.url, 'POST /v1/namespace/west$hidden/create', {});
    await done(far.url, 'POST /v1/namespace/west$shown/create', {});
    const listed = await bare('GET /v1/namespace/west/list', reader);
    expect([listed.status, listed.json]).toEqual([200, { namespaces: ['shown'] }]);
    const whole = await bare('GET /v1/namespace/west/list');
    expect(whole.json).toEqual({ namespaces: ['hidden', 'shown'] });
    const plainly = await bare('GET /v1/namespace/plain/table/list', reader);
    expect([plainly.status, plainly.json]).toEqual([200, { tables: ['abc'] }]);
  });

  it('that was not seen to check bodies gets them only of those who may do the same to everything', async () => {
    open.tables.set('open$a', Buffer.from(goodRows));
    open.tables.set('secret', Buffer.from(goodRows));
    const stolen = await ask('POST /v1/table/open$a/query', { id: ['secret'] }, { key: partner });
    expect([stolen.status, stolen.json['error']]).toEqual([
      403,
      'QueryTable is forwarded to the backend open only for those who may QueryTable on / and all below: the backend was not seen to refuse a body that names another object than the route',
    ]);
    expect(open.of('open$a/')).toEqual([]);
    expect((await ask('POST /v1/table/open$a/query', { k: 1 })).status).toBe(200);
    expect((await bare('POST /v1/table/open$a/exists', partner)).status).toBe(200);
    const rows = { headers: ARROW_STREAM, key: partner };
    expect((await ask('POST /v1/table/open$b/create', goodRows, rows)).status).toBe(200);
  });

  it('shows in readiness what it was seen to do', async () => {
    const ready = await bare('GET /readyz');
    expect(ready.json).toEqual({
      status: 'ok',
      parts: expect.arrayContaining([
        { part: 'west', status: 'ok' },
        { part: 'plain', status: 'ok' },
        {
          part: 'open',
          status: 'ok',
          why: 'gets only operations that need no trust: it answered 404 to a body that names another table than the route',
        },
      ]),
    });
    expect(near.errors).toContain('a backend gets only operations that need no trust');
    expect(near.errors).not.toContain('the-key-of-plain');
  });
});

describe('Several backends', () => {
  it('show what they serve in the listings above, page by page', async () => {
    await done(near.url, 'POST /v1/namespace/middle/create', {});
    const list = async (query: string, key = ADMIN_KEY) =>
      (await bare(`GET /v1/namespace/$/list${query}`, key)).json;
    const all = ['deep', 'east', 'middle', 'open', 'plain', 'west'];
    expect(await list('')).toEqual({ namespaces: all });
    expect(await list('?limit=2')).toEqual({ namespaces: ['deep', 'east'], page_token: 'east' });
    expect(await list('?limit=2&page_token=east')).toEqual({
      namespaces: ['middle', 'open'],
      page_token: 'open',
    });
    expect(await list('?limit=2&page_token=open')).toEqual({ namespaces: ['plain', 'west'] });
    expect(await list('?limit=-1')).toEqual({ namespaces: all });
    expect(await list('?limit=0')).toEqual({ namespaces: [] });
    expect(await list('', reader)).toEqual({ namespaces: ['open', 'plain', 'west'] });
    expect((await bare('GET /v1/namespace/deep/list')).json).toEqual({ namespaces: ['er'] });
    expect((await ask('POST /v1/namespace/deep/exists')).status).toBe(200);
    expect((await ask('POST /v1/namespace/shallow/exists')).status).toBe(404);
  });

  it('do not reach into each other', async () => {
    await done(near.url, 'POST /v1/table/mine/create', { body: goodRows, headers: ARROW_STREAM });
    const renamed = await ask('POST /v1/table/mine/rename', {
      new_table_name: 't',
      new_namespace_id: ['plain'],
    });
    expect([renamed.status, renamed.json['error']]).toEqual([
      400,
      '/plain/t is served by another backend than the object of the route',
    ]);
    const routed = await ask('POST /v1/table/mine/rename/to/plain$t');
    expect([routed.status, routed.json['error']]).toEqual([
      400,
      '/plain/t is served by another backend: a table cannot be renamed from one to another',
    ]);
    const operations = [{ declare_table: { id: ['plain', 'declared'] } }];
    const batch = await ask('POST /v1/table/batch-commit', { operations });
    expect([batch.status, batch.json['error']]).toEqual([
      400,
      '/plain/declared is served by another backend than the object of the route',
    ]);
    expect((await bare('GET /v1/table')).json).toEqual({ tables: ['mine'] });
  });

  it('leave the reserved namespace to the gateway', async () => {
    const reply = await ask('POST /v1/table/system$audit/describe');
    expect([200, 404, 406]).toContain(reply.status);
    await eventually(async () => {
      const record = (await near.audit()).find((each) => each['object'] === '/system/audit');
      expect(record).toMatchObject({ backend: 'engine' });
    });
  });
});
