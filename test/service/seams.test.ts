import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import { connect } from 'node:http2';
import { request } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { makeCertificate, type MadeCertificate } from '../support/certificates.ts';
import { eventually } from '../support/eventually.ts';
import { PlainCatalog } from '../support/plain-catalog.ts';
import { ADMIN_KEY, Service } from '../support/service.ts';
import { conditionalModel } from '../policy/conditions.ts';
import { goodRows } from './table-bodies.ts';

const POLICY = `p, role:admin, /**, *, allow,
p, user:alice%20b, /**, *, allow, ip in 203.0.113.0/24
p, user:dev, /west/**, read, allow, branch == dev
p, user:main, /west/**, read, allow, branch == main
p, user:other, /west/**, read, allow,
p, user:other, /west/**, read, deny, branch == dev
p, user:other, /west/hidden/**, *, deny,
p, user:busy, /west/**, read, allow,
`;

const LIMITS = `limits:
  - { name: busy, subjects: ["user:busy"], objects: ["/west/**"], per: credential, rate: 1/h }
  - { name: certified, subjects: ["user:alice%20b"], per: credential, rate: 1000/s }
`;

/** What is asked, and by whom. */
interface Question {
  readonly body?: string | Uint8Array;
  readonly headers?: Readonly<Record<string, string>>;
  readonly as?: MadeCertificate;
  readonly key?: string;
  /** Without a length: chunks, or frames of HTTP/2. */
  readonly unmeasured?: boolean;
}

/** A part of the service, as `/readyz` tells it to managers. */
interface Part {
  readonly part: string;
  readonly why?: string;
}

interface Told {
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly text: string;
}

type Speak = (line: string, question: Question) => Promise<Told>;

const inside = { 'x-forwarded-for': '203.0.113.9' };

let folder: string;
let server: MadeCertificate;
let alice: MadeCertificate;
let stranger: MadeCertificate;
let plain: PlainCatalog;
let collector: Server;
let spans: string[];
let near: Service;
const keys = new Map<string, string>();

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'arrowgate-seams-'));
  const authority = await makeCertificate(folder, 'ca', { commonName: 'authority' });
  server = await makeCertificate(folder, 'server', { commonName: 'server' });
  alice = await makeCertificate(folder, 'alice', { commonName: 'alice b', authority });
  stranger = await makeCertificate(folder, 'stranger', { commonName: 'alice b' });
  plain = await PlainCatalog.start({ checks: true });
  spans = [];
  collector = createServer((incoming, response) => {
    const chunks: Buffer[] = [];
    incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
    incoming.on('end', () => {
      spans.push(Buffer.concat(chunks).toString());
      response.end('{}');
    });
  });
  await once(collector.listen(0, '127.0.0.1'), 'listening');
  const { port } = collector.address() as AddressInfo;
  near = await Service.start({
    policy: POLICY,
    model: conditionalModel,
    limits: LIMITS,
    config: `
listen: { tls: { cert: ${server.cert}, key: ${server.key}, client_ca: ${authority.cert}, client_subject: cn } }
trusted_proxies: [127.0.0.0/8]
limits: { json_body: 1KiB, arrow_body: 64KiB }
backends:
  - { name: west, type: http, url: "${plain.url}", namespaces: ["/west/**"] }
  - { name: engine, type: embedded, namespaces: ["/**"] }
telemetry: { otlp_endpoint: "http://127.0.0.1:${port}" }
`,
  });
  for (const name of ['dev', 'main', 'other', 'busy']) {
    keys.set(name, await near.key(`user:${name}`));
  }
  plain.tables.set('west$t', Buffer.from(goodRows));
});

afterAll(async () => {
  await near?.stop();
  await plain?.stop();
  collector?.closeAllConnections();
  collector?.close();
  await rm(folder, { recursive: true });
});

async function tlsOf({ as }: Question): Promise<{ ca: Buffer; cert?: Buffer; key?: Buffer }> {
  const ca = await readFile(server.cert);
  return as === undefined
    ? { ca }
    : { ca, cert: await readFile(as.cert), key: await readFile(as.key) };
}

function headersOf({ headers = {}, key, body, unmeasured }: Question): Record<string, string> {
  return {
    ...headers,
    ...(key === undefined ? {} : { 'x-api-key': keys.get(key) ?? key }),
    ...(body === undefined || unmeasured === true
      ? {}
      : { 'content-length': String(Buffer.byteLength(body)) }),
  };
}

function parts(line: string): { readonly method: string; readonly path: string } {
  const [method = '', path = ''] = line.split(' ');
  return { method, path };
}

const overHttp1: Speak = async (line, question) => {
  const sent = request(near.url + parts(line).path, {
    ...(await tlsOf(question)),
    method: parts(line).method,
    headers: headersOf(question),
    agent: false,
  });
  if (question.unmeasured === true) sent.write('');
  sent.end(question.body);
  const [incoming] = await once(sent, 'response');
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk);
  const text = Buffer.concat(chunks).toString();
  return { status: incoming.statusCode, headers: incoming.headers, text };
};

const overHttp2: Speak = async (line, question) => {
  const session = connect(near.url, await tlsOf(question));
  const { method, path } = parts(line);
  const stream = session.request({ ':method': method, ':path': path, ...headersOf(question) });
  stream.end(question.body);
  const [headers] = await once(stream, 'response');
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk as Buffer);
  session.close();
  return { status: headers[':status'], headers, text: Buffer.concat(chunks).toString() };
};

const protocols: readonly (readonly [string, Speak])[] = [
  ['HTTP/1.1', overHttp1],
  ['HTTP/2', overHttp2],
];

const QUERY = 'POST /v1/table/west$t/query';

describe.each(protocols)('Over %s', (version, speak) => {
  it('a certificate stands for its name, under the conditions of the policy', async () => {
    const line = 'POST /v1/namespace/lake/exists';
    const id = `certified-${version.slice(5)}`;
    const asked = { as: alice, body: '{}', headers: { ...inside, 'x-request-id': id } };
    const reply = await speak(line, asked);
    expect([reply.status, reply.headers['x-arrowgate-decision']]).toEqual([404, 'allow']);
    expect(reply.headers['ratelimit-policy']).toContain('"certified"');
    const outside = await speak(line, { ...asked, headers: { 'x-forwarded-for': '8.8.8.8' } });
    expect([outside.status, outside.headers['x-arrowgate-decision']]).toEqual([403, 'deny']);
    expect((await speak(line, { as: alice, body: '{}' })).status).toBe(403);
    await eventually(async () => {
      const records = (await near.audit()).filter((each) => each['request_id'] === id);
      expect(records.at(-1)).toMatchObject({
        phase: 'outcome',
        subject: 'user:alice%20b',
        credential: 'alice b',
        source_ip: '203.0.113.9',
        rule: 'policy.csv:2',
      });
    });
  });

  it('a certificate of another authority, or none, stands for nobody', async () => {
    for (const question of [{ as: stranger }, {}]) {
      const reply = await speak(QUERY, { ...question, headers: inside, body: '{}' });
      expect([reply.status, reply.headers['x-arrowgate-decision']]).toEqual([
        401,
        'unauthenticated',
      ]);
    }
    const two = await speak(QUERY, { as: alice, key: 'other', headers: inside, body: '{}' });
    expect([two.status, JSON.parse(two.text).error]).toEqual([
      401,
      'the request carries credentials of two principals',
    ]);
    const wrong = await speak(QUERY, { as: alice, key: 'wrong', headers: inside, body: '{}' });
    expect(wrong.status).toBe(401);
  });

  it('a proxy asks for a client with a certificate', async () => {
    const described = { 'x-forwarded-method': 'POST', 'x-forwarded-uri': '/v1/table/west$t/query' };
    const asked = { as: alice, headers: { ...inside, ...described } };
    const reply = await speak('GET /authorize', asked);
    expect([reply.status, reply.headers['x-arrowgate-subject']]).toEqual([200, 'user:alice%20b']);
    expect((await speak('GET /authorize', { ...asked, headers: described })).status).toBe(403);
  });

  it('bodies go on to another catalog with and without a length, as long as limits let them', async () => {
    const before = plain.of('west$t/query').length;
    const body = JSON.stringify({ k: 1, vector: [] });
    for (const unmeasured of [false, true]) {
      const headers = { ...inside, 'content-type': 'application/json' };
      const question = { as: alice, headers, body, unmeasured };
      expect((await speak(QUERY, question)).status).toBe(200);
      expect(plain.of('west$t/query').at(-1)?.body.toString()).toBe(body);
      const long = JSON.stringify({ k: 1, filter: 'x'.repeat(2000) });
      const refused = await speak(QUERY, { ...question, body: long });
      expect([refused.status, JSON.parse(refused.text).error]).toEqual([
        400,
        'a JSON body may have at most 1024 bytes',
      ]);
      const rows = await speak('POST /v1/table/west$t/create', {
        ...question,
        headers: { ...inside, 'content-type': 'application/vnd.apache.arrow.stream' },
        body: Buffer.alloc(100_000),
      });
      expect([rows.status, JSON.parse(rows.text).error]).toEqual([
        400,
        'the body is longer than 65536 bytes',
      ]);
    }
    expect(plain.of('west$t/query').length).toBe(before + 2);
  });

  it('a body that may name a branch is refused to whom not every branch is allowed', async () => {
    const before = plain.of('west$t/query').length;
    for (const key of ['dev', 'main', 'other']) {
      for (const path of [QUERY, `${QUERY}?branch=dev`, `${QUERY}?branch=main`]) {
        for (const unmeasured of [false, true]) {
          const body = JSON.stringify({ branch: key === 'dev' ? 'main' : 'dev' });
          const reply = await speak(path, { key, body, unmeasured });
          expect([key, path, reply.status]).toEqual([key, path, 403]);
        }
      }
    }
    expect(plain.of('west$t/query').length).toBe(before);
  });
});

describe('A remote catalog', () => {
  it('is asked nothing that a limit or the policy refuses, and nobody learns what it has', async () => {
    const busy = { key: 'busy', body: '{}' };
    const [first, second] = [await overHttp1(QUERY, busy), await overHttp2(QUERY, busy)];
    expect([first.status, second.status]).toEqual([200, 429]);
    expect(second.headers['x-arrowgate-decision']).toBe('limited');
    const id = String(second.headers['x-request-id']);
    await eventually(async () => {
      const records = (await near.audit()).filter((each) => each['request_id'] === id);
      expect(records.at(-1)).toMatchObject({ backend: 'west', decision: 'limited', code: 21 });
    });
    const before = plain.asked.length;
    plain.tables.set('west$hidden$there', Buffer.from('x'));
    const answers = new Set<string>();
    for (const name of ['there', 'gone']) {
      for (const operation of ['query', 'describe', 'exists', 'drop']) {
        const line = `POST /v1/table/west$hidden$${name}/${operation}`;
        const headers = { 'x-request-id': 'r' };
        const reply = await overHttp2(line, { key: 'other', body: '{}', headers });
        expect(reply.status).toBe(403);
        const said = [operation, reply.text, reply.headers['x-arrowgate-reason']];
        answers.add(JSON.stringify(said).replaceAll(name, ''));
      }
    }
    expect(answers.size).toBe(4);
    const asked = plain.asked.slice(before).filter(({ target }) => target.includes('hidden'));
    expect(asked).toEqual([]);
  });

  it('continues the trace of the gateway, whose span names it', async () => {
    const trace = '0af7651916cd43dd8448eb211c80319c';
    const headers = { ...inside, traceparent: `00-${trace}-b7ad6b7169203331-01` };
    await overHttp2(QUERY, { as: alice, headers, body: '{"k":1}' });
    const passed = String(plain.of('west$t/query').at(-1)?.headers['traceparent']);
    const [, , span] = passed.split('-');
    expect(passed).toBe(`00-${trace}-${span}-01`);
    expect(span).not.toBe('b7ad6b7169203331');
    await eventually(async () => {
      const text = spans.join('\n');
      expect(text).toContain(`"spanId":"${span}"`);
      expect(text).toContain('{"key":"arrowgate.backend","value":{"stringValue":"west"}}');
    });
  });
});

describe('Policy, limits and issuers', () => {
  it('change together, or not at all', async () => {
    const write = (name: string, text: string) => writeFile(join(near.policies, name), text);
    const line = 'POST /v1/namespace/lake/exists';
    const ask = () => overHttp1(line, { key: ADMIN_KEY, body: '{}' });
    const policyFault = async (): Promise<unknown> => {
      const { text } = await overHttp1('GET /readyz', { key: ADMIN_KEY });
      const { parts: all } = JSON.parse(text) as { readonly parts: readonly Part[] };
      return all.find(({ part }) => part === 'policy')?.why;
    };
    const issuers = (algorithm: string) =>
      `issuers: [{ name: i, issuer: x, audience: y, jwks_uri: "http://127.0.0.1:1/", algorithms: [${algorithm}] }]\n`;
    await write('issuers.yaml', issuers('none'));
    await write('limits.yaml', 'limits: [{ name: all, rate: 1000/h }]\n');
    await write('policy.csv', `${POLICY}p, role:admin, /lake/**, *, deny,\n`);
    await eventually(async () => expect(await policyFault()).toContain('issuers.yaml:1: '));
    const before = await ask();
    expect([before.status, before.headers['ratelimit']]).toEqual([404, undefined]);
    await write('issuers.yaml', issuers('RS256'));
    await eventually(async () => expect(await policyFault()).toBeUndefined());
    const after = await ask();
    expect(after.status).toBe(403);
    expect(after.headers['ratelimit-policy']).toBe('"all";q=1000;w=3600');
  });
});
