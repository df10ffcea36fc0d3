import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import {
  createServer,
  type IncomingHttpHeaders,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { crossingHeaders } from '../../src/gateway/backends/remote-headers.ts';
import { send, type Reply, type Sent } from '../service/http.ts';
import { goodRows } from '../service/table-bodies.ts';
import { eventually } from '../support/eventually.ts';
import { Nginx } from '../support/nginx.ts';
import { RedisServer } from '../support/redis-server.ts';
import { Service } from '../support/service.ts';

const folder = new URL('../../deploy/nginx/', import.meta.url).pathname;

/** A shipped configuration with other addresses in it. */
async function shipped(
  name: string,
  addresses: Readonly<Record<string, string>>,
): Promise<(port: number) => string> {
  const text = await readFile(join(folder, name), 'utf8');
  return (port) =>
    Object.entries({ ...addresses, 'listen 8080;': `listen 127.0.0.1:${port};` }).reduce(
      (changed, [from, to]) => {
        expect(changed).toContain(from);
        return changed.replaceAll(from, to);
      },
      text,
    );
}

function hostOf(url: string): string {
  return new URL(url).host;
}

const PROXIES = 'trusted_proxies: [127.0.0.1]\n';

const POLICY = `p, role:admin, /**, *, allow
p, role:reader, /prod/**, read, allow
`;

/** A limit on each of those that have a key of their own. */
const LIMITS = `limits:
  - { name: few, subjects: ["user:limited"], rate: 1/h, burst: 3 }
`;

interface Seen {
  readonly line: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** What the catalog answers to a question of the gateway about itself, as it should. */
function answerProbe({ 'x-api-key': key }: IncomingHttpHeaders, response: ServerResponse): void {
  response.writeHead(key === undefined ? 401 : 400, { 'content-type': 'application/json' });
  response.end(JSON.stringify({ error: 'the body names another table', code: 13 }));
}

/** A catalog that says what came to it. */
class Catalog {
  readonly seen: Seen[] = [];
  readonly server: Server = createServer((incoming, response) => {
    const chunks: Buffer[] = [];
    incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
    incoming.on('end', () => {
      if (incoming.url?.includes('arrowgate-probe') === true) {
        answerProbe(incoming.headers, response);
        return;
      }
      const line = `${incoming.method} ${incoming.url}`;
      this.seen.push({ line, headers: incoming.headers, body: Buffer.concat(chunks).toString() });
      response.writeHead(line.includes('forbidden') ? 403 : 200).end('from the catalog');
    });
  });

  async start(): Promise<string> {
    await once(this.server.listen(0, '127.0.0.1'), 'listening');
    return `127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }
}

describe('nginx that asks at /authorize, with the shipped configuration', () => {
  const catalog = new Catalog();
  let service: Service;
  let nginx: Nginx;
  let reader: string;
  let limited: string;

  beforeAll(async () => {
    const address = await catalog.start();
    const backends = `backends: [{ name: catalog, type: http, url: 'http://${address}', namespaces: ['/**'], credential_env: CATALOG_KEY }]\n`;
    service = await Service.start({
      policy: POLICY,
      config: PROXIES + backends,
      limits: LIMITS,
      variables: { CATALOG_KEY: 'of-the-gateway' },
    });
    reader = await service.key('reader', 'reader');
    limited = await service.key('limited', 'reader');
    nginx = await Nginx.start(
      await shipped('authorize.conf', {
        'server 127.0.0.1:2333;': `server ${hostOf(service.url)};`,
        'server 127.0.0.1:8181;': `server ${address};`,
      }),
    );
  });

  afterAll(async () => {
    await nginx.stop();
    await service.stop();
    catalog.server.close();
  });

  const ask = (line: string, sent: Sent = {}): Promise<Reply> => send(nginx.url, line, sent);

  it('hands an allowed request on as it came, with who asks and without credentials', async () => {
    const line = 'POST /v1/table/prod%24t/query?delimiter=%24';
    const reply = await ask(line, {
      key: reader,
      body: 'a body',
      headers: { 'x-arrowgate-subject': 'user:admin' },
    });
    expect([reply.status, reply.text]).toEqual([200, 'from the catalog']);
    const { headers, ...seen } = catalog.seen.at(-1)!;
    expect(seen).toEqual({ line, body: 'a body' });
    expect(headers['x-arrowgate-subject']).toBe('user:reader');
    expect(headers).not.toHaveProperty('x-api-key');
    expect(headers).not.toHaveProperty('authorization');
  });

  it('lets the headers of the documented list cross, and no other', async () => {
    const names = crossingHeaders
      .map(({ name }) => name)
      .filter((name) => !name.endsWith('*') && !name.endsWith('-location'))
      .filter((name) => name !== 'content-length' && name !== 'x-request-id');
    const crossing = Object.fromEntries(names.map((name) => [name, `of ${name}`]));
    const lost = {
      cookie: 'a=b',
      'x-lancedb-database': 'other',
      'x-lancedb-database-prefix': 'hr',
      'x-lancedb-user-id': 'admin',
      'x-lancedb-future': '1',
      'x-lance-future': '1',
      'x-service-future': '1',
      'x-http-method-override': 'DELETE',
      'x-original-url': '/v1/table/other$t/drop',
      'x-lance-table-location': 's3://elsewhere',
      'x-unknown': '1',
    };
    const line = 'POST /v1/table/prod$t/query';
    const body = '{}';
    const reply = await ask(line, { key: reader, body, headers: { ...crossing, ...lost } });
    expect(reply.status).toBe(200);
    const { headers } = catalog.seen.at(-1)!;
    const own = [
      'host',
      'content-length',
      'x-request-id',
      'x-arrowgate-subject',
      'x-arrowgate-decision-id',
    ];
    expect(headers).toMatchObject(crossing);
    expect(Object.keys(headers).toSorted()).toEqual([...names, ...own].toSorted());
    expect(headers['x-request-id']).toBe(reply.headers['x-request-id'] ?? headers['x-request-id']);
  });

  it.each(['x-lance-table-location', 'x-service-table-location'])(
    'keeps a table with %s from the catalog',
    async (header) => {
      const before = catalog.seen.length;
      const line = 'POST /v1/table/prod$new/create';
      const reply = await ask(line, { body: 'rows', headers: { [header]: 's3://elsewhere/t' } });
      expect([reply.status, reply.json['code']]).toEqual([403, 15]);
      expect(catalog.seen).toHaveLength(before);
    },
  );

  it('leaves answers of the catalog alone', async () => {
    const reply = await ask('POST /v1/table/prod$forbidden/query', { key: reader, body: '' });
    expect([reply.status, reply.text]).toEqual([403, 'from the catalog']);
  });

  it.each<[string, Sent, number, number, string]>([
    ['POST /v1/table/prod$t/drop', {}, 403, 15, 'deny'],
    ['POST /v1/table/other$t/query', {}, 403, 15, 'deny'],
    ['GET /v1/table', {}, 403, 15, 'deny'],
    ['POST /v1/table/batch-commit', {}, 403, 15, 'deny'],
    ['POST /v1/table/prod$t/query?delimiter=', {}, 400, 13, 'invalid'],
    ['POST /v1/x/../table/prod$t/query', {}, 400, 13, 'invalid'],
    ['POST /v1/table//prod$t/query', {}, 400, 13, 'invalid'],
    ['POST /v1/table/prod$t%2Fquery', {}, 400, 13, 'invalid'],
    ['POST /v1/table/prod$t/query', { key: 'wrong' }, 401, 16, 'unauthenticated'],
    ['POST /v1/table/prod$t/query', { key: null }, 401, 16, 'unauthenticated'],
    [
      'POST /v1/table/other$t/query',
      { headers: { 'X-Forwarded-Uri': '/v1/table/prod$t/query' } },
      403,
      15,
      'deny',
    ],
  ])('keeps from the catalog: %s %j', async (line, sent, status, code, decision) => {
    const before = catalog.seen.length;
    const reply = await ask(line, { key: reader, body: '', ...sent });
    expect([reply.status, reply.json['code']]).toEqual([status, code]);
    expect(reply.headers['x-arrowgate-decision']).toBe(decision);
    expect(reply.json['instance']).toBe(reply.headers['x-request-id']);
    if (status === 401) expect(reply.headers['www-authenticate']).toContain('Bearer');
    expect(catalog.seen).toHaveLength(before);
  });

  it.each(['/authorize', '/.arrowgate', '/healthz', '/'])('shows nothing at %s', async (path) => {
    expect((await ask(`GET ${path}`, { key: reader })).status).toBe(404);
  });

  it('answers 429 beyond a limit, and says when to come again', async () => {
    const line = 'POST /v1/table/prod$t/query';
    const replies: Reply[] = [];
    for (let turn = 0; turn < 5; turn++) replies.push(await ask(line, { key: limited, body: '' }));
    expect(replies.map(({ status }) => status)).toEqual([200, 200, 200, 429, 429]);
    const { headers, json } = replies[4]!;
    expect(json).toMatchObject({ code: 21 });
    expect(Number(headers['retry-after'])).toBeGreaterThan(3000);
    expect(headers['x-arrowgate-decision']).toBe('limited');
    expect(headers['ratelimit-policy']).toBe('"few";q=3;w=10800');
    expect(headers['ratelimit']).toMatch(/^"few";r=0;t=\d+$/);
  });

  it('leaves records of what it asked', async () => {
    const id = 'asked-by-nginx';
    await ask('POST /v1/table/prod$t/query', {
      key: reader,
      body: '',
      headers: { 'x-request-id': id },
    });
    await eventually(async () => {
      const records = (await service.audit()).filter((record) => record['request_id'] === id);
      expect(records).toMatchObject([
        { phase: 'attempt', operation: 'QueryTable', object: '/prod/t', decision: 'allow' },
        { phase: 'outcome', operation: 'QueryTable', object: '/prod/t', status: 200 },
      ]);
    });
  });

  it('lets nothing through while the gateway is away', async () => {
    await service.end();
    const before = catalog.seen.length;
    const reply = await ask('POST /v1/table/prod$t/query', { key: reader, body: '' });
    expect(reply.status).toBe(500);
    expect(catalog.seen).toHaveLength(before);
  });
});

describe('nginx in front of two gateways on one Redis, with the shipped configuration', () => {
  let redis: RedisServer;
  let services: readonly [Service, Service];
  let nginx: Nginx;

  beforeAll(async () => {
    redis = await RedisServer.start();
    const options = { flags: ['--redis', redis.url], config: PROXIES, policy: POLICY };
    const first = await Service.start(options);
    services = [first, await Service.beside(first, options)];
    nginx = await Nginx.start(
      await shipped('gateways.conf', {
        'server gateway-1:2333;': `server ${hostOf(services[0].url)};`,
        'server gateway-2:2333;': `server ${hostOf(services[1].url)};`,
      }),
    );
  });

  afterAll(async () => {
    await nginx.stop();
    await services[1].end();
    await services[0].stop();
    await redis.stop();
  });

  it('is one catalog with one count of each limit, in force while they run', async () => {
    const ask = (line: string, sent: Sent = {}) => send(nginx.url, line, sent);
    const describeTable = () => ask('POST /v1/table/t/describe', { body: '{}' });
    const created = await ask('POST /v1/table/t/create', { body: goodRows });
    expect(created.status).toBe(200);
    expect((await describeTable()).headers).not.toHaveProperty('ratelimit');
    const limits = 'limits: [{ name: all, per: all, operations: [DescribeTable], rate: 9/h }]\n';
    await writeFile(join(services[0].policies, 'limits.yaml'), limits);
    for (const { url } of services) await inForce(url);
    // Each has let one through meanwhile, to see whether the limit is there.
    const replies = await Promise.all(Array.from({ length: 20 }, describeTable));
    const passed = replies.filter(({ status }) => status === 200);
    expect(passed.length).toBe(7);
    expect(replies.filter(({ status }) => status === 429)).toHaveLength(13);
    await eventually(async () => {
      const records = await services[0].audit();
      const outcomes = records.filter(
        ({ phase, decision }) => phase === 'outcome' && decision === 'limited',
      );
      expect(outcomes).toHaveLength(13);
    });
  });
});

/** Waits until a gateway counts; the request that shows it is counted. */
async function inForce(url: string): Promise<void> {
  for (;;) {
    const { headers } = await send(url, 'POST /v1/table/t/describe', { body: '{}' });
    if (headers['ratelimit'] !== undefined) return;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}
