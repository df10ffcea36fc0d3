import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { PlainCatalog } from '../support/plain-catalog.ts';
import { ADMIN_KEY, Service } from '../support/service.ts';
import { ARROW_STREAM, LANCEDB, send, sendGranted, type Sent } from './http.ts';
import { goodRows } from './table-bodies.ts';

/** Understands both dialects. */
let far: Service;
let plain: PlainCatalog;
let near: Service;

beforeAll(async () => {
  far = await Service.start({ policy: 'p, role:admin, /**, *, allow\n' });
  plain = await PlainCatalog.start({ checks: true, key: ADMIN_KEY });
  const common = `type: http, credential_env: FAR_KEY, trust: ["*"]`;
  near = await Service.start({
    policy: 'p, role:admin, /**, *, allow\n',
    variables: { FAR_KEY: ADMIN_KEY },
    config: `
backends:
  - { name: plain, url: "${plain.url}", namespaces: ["/plain/**"], dialect: namespace, ${common} }
  - { name: namespace, url: "${far.url}", namespaces: ["/namespace/**"], dialect: namespace, ${common} }
  - { name: lancedb, url: "${far.url}", namespaces: ["/lancedb/**"], dialect: lancedb, ${common} }
`,
  });
  for (const name of ['namespace', 'lancedb']) {
    await sendGranted(near.url, `POST /v1/namespace/${name}/create`, { body: {} });
    const sent = { body: goodRows, headers: ARROW_STREAM };
    await sendGranted(near.url, `POST /v1/table/${name}$t/create`, sent);
  }
}, 60_000);

afterAll(async () => {
  await near?.stop();
  await far?.stop();
  await plain?.stop();
});

const asLanceDb = (line: string, sent: Sent = {}) =>
  send(near.url, line, { ...sent, headers: { ...LANCEDB, ...sent.headers } });
const asNamespace = (line: string, body: object = {}) => send(near.url, line, { body });

function typesIn(json: Record<string, unknown>): unknown {
  const { fields } = json['schema'] as { fields: { type: { type: string } }[] };
  return fields.map(({ type }) => type.type);
}

describe('A backend of the namespace dialect', () => {
  it('is asked as its clients ask', async () => {
    await asLanceDb('POST /v1/table/plain$t/describe/');
    const described = plain.of('plain$t').at(-1);
    expect(described?.target).toBe('/v1/table/plain%24t/describe?load_detailed_metadata=true');
    expect(described?.body.toString()).toBe('{"load_detailed_metadata":true}');
    expect(described?.headers).toMatchObject({
      'content-type': 'application/json',
      'user-agent': `arrowgate (${LANCEDB['user-agent']})`,
    });
    const body = { vector: [1], k: 2, columns: ['id'], version: null };
    await asLanceDb('POST /v1/table/plain$t/query/', { body });
    const query = plain.of('plain$t/query').at(-1);
    expect(JSON.parse(String(query?.body))).toEqual({
      vector: { single_vector: [1] },
      k: 2,
      columns: { column_names: ['id'] },
    });
    await asNamespace('POST /v1/table/plain$t/query', { vector: { single_vector: [1] }, k: 2 });
    expect(JSON.parse(String(plain.of('plain$t/query').at(-1)?.body))).toEqual({
      vector: { single_vector: [1] },
      k: 2,
    });
  });

  it('answers a LanceDB client in its own dialect', async () => {
    const described = await asLanceDb('POST /v1/table/namespace$t/describe/');
    expect(typesIn(described.json)).toContain('string');
    expect(described.json['version']).toBe(1);
    const tag = { tag: 'first', version: 1 };
    await asLanceDb('POST /v1/table/namespace$t/tags/create/', { body: tag });
    expect((await asLanceDb('POST /v1/table/namespace$t/tags/list/')).json).toMatchObject({
      first: { version: 1 },
    });
    const missing = await asLanceDb('POST /v1/table/namespace$t/tags/version/', {
      body: { tag: 'none' },
    });
    expect([missing.status, missing.json['code']]).toEqual([400, 8]);
    expect((await asLanceDb('GET /v1/namespace/namespace/table/list')).json).toEqual({
      tables: ['t'],
    });
  });

  it('answers other clients as before', async () => {
    const described = await asNamespace('POST /v1/table/namespace$t/describe');
    expect(typesIn(described.json)).toContain('utf8');
    const missing = await asNamespace('POST /v1/table/namespace$t/tags/version', { tag: 'none' });
    expect([missing.status, missing.json['code']]).toEqual([404, 8]);
  });

  it('refuses a body that is no object', async () => {
    const reply = await asLanceDb('POST /v1/table/namespace$t/query/', { body: [1] });
    expect([reply.status, reply.json['code'], reply.json['error']]).toEqual([
      400,
      13,
      'the body must be a JSON object',
    ]);
  });
});

describe('A backend of the LanceDB dialect', () => {
  it('answers a namespace client in its own dialect', async () => {
    const described = await asNamespace('POST /v1/table/lancedb$t/describe');
    expect(typesIn(described.json)).toContain('utf8');
    expect((await asNamespace('POST /v1/table/lancedb$t/tags/list')).json).toEqual({ tags: {} });
    const query = { vector: { single_vector: [] }, k: 2, columns: { column_names: ['id'] } };
    expect((await asNamespace('POST /v1/table/lancedb$t/query', query)).status).toBe(200);
    const missing = await asNamespace('POST /v1/table/lancedb$t/tags/version', { tag: 'none' });
    expect([missing.status, missing.json['code']]).toEqual([404, 8]);
  });

  it('answers a LanceDB client as before', async () => {
    const described = await asLanceDb('POST /v1/table/lancedb$t/describe/');
    expect(typesIn(described.json)).toContain('string');
  });
});
