import { once } from 'node:events';
import { Agent } from 'node:http';
import { connect, type Socket } from 'node:net';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { tableFromIPC } from 'apache-arrow';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openApiDocument } from '../../src/protocol/openapi/openapi.ts';
import { operationNames, operations } from '../../src/protocol/operations/operations.ts';
import { ADMIN_KEY, Service, type AuditLine } from '../support/service.ts';
import { filesUnder } from './files.ts';
import { LANCEDB, open, replyOf, send, type Reply, type Sent } from './http.ts';
import { goodRows } from './table-bodies.ts';

const POLICY = `p, role:admin, /**, *, allow
g, user:admin, role:admin
p, role:reader, /ns/**, list, allow
p, role:reader, /ns/**, describe, allow
p, role:reader, /ns/**, read, allow
`;

const MIB = 2 ** 20;

let service: Service;
let reader: string;
let other: string;

beforeAll(async () => {
  service = await Service.start({ policy: POLICY });
  [reader, other] = [await service.key('rita', 'reader'), await service.key('otto')];
  await ask('POST /v1/namespace/ns/create');
  await ask('POST /v1/table/ns$t/create', { body: goodRows });
  await ask('POST /v1/table/root/create', { body: goodRows });
});
afterAll(() => service.stop());

async function ask(line: string, sent: Sent = {}): Promise<Reply> {
  return send(service.url, line, sent);
}

/** The two records of a request. Those of a read are written a little after its answer. */
async function recordsOf(decisionId: string): Promise<readonly AuditLine[]> {
  for (;;) {
    const records = await service.audit();
    const found = records.filter((record) => record['decision_id'] === decisionId);
    if (found.length >= 2) return found;
    await sleep(20);
  }
}

describe('what is served beside the protocol', () => {
  it.each(['/healthz', '/readyz', '/openapi.json'])('%s answers anyone', async (path) => {
    const reply = await ask(`GET ${path}`, { key: null });
    expect(reply.status).toBe(200);
    expect(reply.headers['content-type']).toBe('application/json');
    expect(reply.headers['x-request-id']).toMatch(/^[0-9a-f-]{36}$/);
    if (path !== '/openapi.json') expect(reply.json).toEqual({ status: 'ok' });
  });

  it('tells which parts are ready only to those who manage', async () => {
    const told = await ask('GET /readyz');
    expect(told.json['parts']).toContainEqual({ part: 'embedded', status: 'ok' });
    for (const key of [reader, 'wrong']) {
      expect((await ask('GET /readyz', { key })).json).toEqual({ status: 'ok' });
    }
  });

  it.each(['/healthz', '/readyz', '/openapi.json'])('%s takes GET and HEAD alone', async (path) => {
    const whole = await ask(`GET ${path}`, { key: null });
    const head = await ask(`HEAD ${path}`, { key: null });
    expect([head.status, head.text]).toEqual([200, '']);
    expect(head.headers['content-length']).toBe(whole.headers['content-length']);
    for (const method of ['POST', 'PUT', 'DELETE', 'OPTIONS']) {
      const refused = await ask(`${method} ${path}`, { key: null });
      expect([refused.status, refused.headers.allow]).toEqual([405, 'GET, HEAD']);
      expect(refused.json['code']).toBe(0);
    }
  });

  it.each(['/', '/nothing', '/v2/table', '/healthz/', '/console/nothing'])(
    'there is nothing at %s',
    async (path) => {
      const reply = await ask(`GET ${path}`);
      expect(reply.status).toBe(404);
      expect(reply.json).toEqual({
        error: `there is nothing at ${path}`,
        code: 0,
        instance: reply.headers['x-request-id'],
      });
    },
  );
});

describe('/openapi.json', () => {
  type Paths = Record<string, Record<string, { operationId: string; responses: object }>>;

  /** `POST /v1/…` of the documents; of the operation table when nothing is asked. */
  async function served(): Promise<Map<string, { operationId: string; responses: object }>> {
    const document = await ask('GET /openapi.json', { key: null });
    const routes = Object.entries(document.json['paths'] as Paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(
        ([method, row]) => [`${method.toUpperCase()} ${path}`, row] as const,
      ),
    );
    return new Map(routes.filter(([route]) => route.includes(' /v1/')));
  }

  it('is the document that the operation table makes', async () => {
    const { json } = await ask('GET /openapi.json', { key: null });
    const { version } = json['info'] as { version: string };
    expect(json).toEqual(JSON.parse(JSON.stringify(openApiDocument(version))));
    expect(json['openapi']).toMatch(/^3\.1\./);
  });

  it('has every route of the operation table, and no other', async () => {
    const expected = operationNames.flatMap((name) =>
      operations[name].routes.map(({ method, path }) => `${method} ${path}`),
    );
    expect([...(await served()).keys()].sort()).toEqual(expected.sort());
  });

  it('has every status with which a route answers', async () => {
    for (const [route, { responses }] of await served()) {
      const line = route.replaceAll(/\{\w+\}/g, 'none');
      for (const sent of [
        { key: null },
        { key: other },
        {},
        { body: 'nonsense' },
        { headers: LANCEDB },
      ]) {
        const { status } = await ask(line, sent);
        expect(Object.keys(responses), `${route} answered ${status}`).toContain(String(status));
      }
    }
    // Declaring it needs no body.
    expect((await ask('POST /v1/table/none/drop')).status).toBe(200);
  });

  it('knows every verb that a path takes', async () => {
    const methods = new Map<string, string[]>();
    for (const route of (await served()).keys()) {
      const [method = '', path = ''] = route.split(' ');
      methods.set(path, [...(methods.get(path) ?? []), method]);
    }
    for (const [path, allowed] of methods) {
      const reply = await ask(`DELETE ${path.replaceAll(/\{\w+\}/g, 'none')}`);
      expect([path, reply.status]).toEqual([path, 405]);
      expect(reply.headers.allow?.split(', ').sort(), path).toEqual(allowed.sort());
    }
  });
});

describe('x-request-id', () => {
  it.each(['a', 'a+b=sl/ash', '<script>', '0'.repeat(256)])(
    'is the one of the client: %s',
    async (id) => {
      for (const line of [
        'POST /v1/table/root/describe',
        'POST /v1/table/none/describe',
        'GET /healthz',
      ]) {
        const reply = await ask(line, { headers: { 'x-request-id': id } });
        expect(reply.headers['x-request-id']).toBe(id);
        if (reply.status === 404) expect(reply.json['instance']).toBe(id);
      }
    },
  );

  it.each(['', 'with space', 'caf\u00e9', '0'.repeat(257)])(
    'is a new one instead of %j',
    async (id) => {
      const reply = await ask('POST /v1/table/root/describe', { headers: { 'x-request-id': id } });
      expect(reply.status).toBe(200);
      expect(reply.headers['x-request-id']).toMatch(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
    },
  );
});

describe('a protocol answer', () => {
  it.each([
    'GET /v1/table',
    'GET /v1/namespace/$/list',
    'POST /v1/table/root/describe/',
    'POST /v1/table/root/query',
    'GET /v1/table/root/count_rows',
    'POST /v1/table/root/exists',
  ])('carries the version and the decision: %s', async (line) => {
    for (const headers of [{}, LANCEDB]) {
      const reply = await ask(line, { headers });
      expect(reply.status).toBe(200);
      expect(reply.headers).toMatchObject({
        'phalanx-version': '0.3.0',
        'x-arrowgate-decision': 'allow',
        'x-arrowgate-decision-id': expect.stringMatching(/^[0-9a-f-]{36}$/),
      });
    }
  });
});

describe('credentials', () => {
  const line = 'POST /v1/table/ns$t/describe';

  it.each(['x-api-key', 'authorization'])('work in the header %s', async (name) => {
    const value = name === 'authorization' ? `Bearer ${reader}` : reader;
    expect((await ask(line, { key: null, headers: { [name]: value } })).status).toBe(200);
    const lower = `bearer ${ADMIN_KEY}`;
    expect((await ask(line, { key: null, headers: { authorization: lower } })).status).toBe(200);
  });

  it('may be given twice for one principal, never for two', async () => {
    const both = (key: string, bearer: string): Promise<Reply> =>
      ask(line, { key, headers: { authorization: `Bearer ${bearer}` } });
    expect((await both(reader, reader)).status).toBe(200);
    for (const [key, bearer] of [
      [reader, other],
      [ADMIN_KEY, reader],
      [reader, ADMIN_KEY],
    ] as const) {
      const reply = await both(key, bearer);
      expect(reply.status).toBe(401);
      expect(reply.json['error']).toBe('the request carries credentials of two principals');
      expect(reply.headers['www-authenticate']).toBe('Bearer realm="arrowgate"');
    }
  });

  it('of a body prove nothing', async () => {
    const body = { identity: { api_key: ADMIN_KEY } };
    expect((await ask(line, { key: null, body })).status).toBe(401);
    expect((await ask(line, { key: other, body })).status).toBe(403);
  });
});

describe('a connection', () => {
  it('is used again after refusals, whatever was sent', async () => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const ports = new Set<number | undefined>();
    const body = new Uint8Array(100_000);
    const lines: readonly [string, Sent, number][] = [
      ['POST /v1/table/ns$t/describe', { key: null }, 401],
      ['POST /v1/table/ns$t/insert', { key: reader, body }, 403],
      ['POST /v1/table/none/insert', { body }, 404],
      ['POST /v1/table/ns$t/insert', { body }, 400],
      ['POST /v1/table/ns$$t/insert', { body }, 400],
      ['POST /v1/table/ns$t/describe', { body: '{' }, 400],
      ['PUT /v1/table/ns$t/describe', { body: '{}' }, 405],
      ['POST /v1/nothing', { body: '{}' }, 406],
      ['POST /v1/table/ns$t/describe', {}, 200],
    ];
    for (const [line, sent, status] of lines) {
      const incoming = await open(service.url, line, { ...sent, agent });
      ports.add(incoming.socket.localPort);
      expect((await replyOf(incoming)).status).toBe(status);
    }
    expect(ports.size).toBe(1);
    agent.destroy();
  });

  it.each([
    { kind: 'chunked', header: 'Transfer-Encoding: chunked' },
    { kind: 'with a length', header: `Content-Length: ${50 * MIB}` },
  ])(
    'tells a client that sends 50 MiB before it listens that it may not: $kind',
    async (upload) => {
      const before = await filesUnder(join(service.data, 'tables'));
      for (const target of ['ns$t/insert', 'ns$new/create']) {
        const answer = await sendFirst(`/v1/table/${target}`, upload.header);
        expect(answer).toMatch(/^HTTP\/1\.1 403 Forbidden\r\n/);
        expect(answer).toContain('"code":15');
      }
      expect(await filesUnder(join(service.data, 'tables'))).toEqual(before);
    },
  );

  it('lets a client that asks first send only what is allowed', async () => {
    for (const [key, first] of [
      [reader, 'HTTP/1.1 403 Forbidden'],
      [ADMIN_KEY, 'HTTP/1.1 100 Continue'],
    ] as const) {
      const socket = begun(
        '/v1/table/ns$t/insert',
        key,
        'Content-Length: 10\r\nExpect: 100-continue',
      );
      const [answer] = await once(socket, 'data');
      expect(String(answer).split('\r\n', 1)).toEqual([first]);
      socket.destroy();
    }
  });

  /** A connection on which the head of a request was sent. */
  function begun(path: string, key: string, header: string): Socket {
    const { hostname, port } = new URL(service.url);
    const socket = connect(Number(port), hostname);
    socket.write(
      `POST ${path} HTTP/1.1\r\nHost: arrowgate\r\nx-api-key: ${key}\r\n${header}\r\n\r\n`,
    );
    return socket;
  }

  /** Sends 50 MiB, and looks at the answer only then, as many clients do. */
  async function sendFirst(path: string, header: string): Promise<string> {
    const socket = begun(path, reader, header);
    const isChunked = header.includes('chunked');
    const piece = Buffer.alloc(MIB);
    const chunk = isChunked
      ? Buffer.concat([Buffer.from('100000\r\n'), piece, Buffer.from('\r\n')])
      : piece;
    for (let sent = 0; sent < 50; sent++) if (!socket.write(chunk)) await once(socket, 'drain');
    socket.end(isChunked ? '0\r\n\r\n' : '');
    const answer: Buffer[] = [];
    for await (const bytes of socket) answer.push(bytes as Buffer);
    return Buffer.concat(answer).toString();
  }
});

describe('the spelling of a route', () => {
  it.each([
    '/v1/table/ns$t/describe',
    '/v1/table/ns$t/describe/',
    '/v1/table/ns%24t/describe',
    '/v1/table/ns%24t/describe?delimiter=%24',
    '//v1/table/ns$t/describe/',
    '/v1/table/n%73$%74/describe',
    '/v1/table/ns.t/describe?delimiter=.',
    '/v1/table/ns%2Ft/describe?delimiter=%2F',
    '/v1/table/ns$t/describe?delimiter=$',
    '/v1/table/ns::t/describe/?delimiter=::',
    '/v1/table/ns%C2%A7t/describe?delimiter=%C2%A7',
    '/v1/table/ns+t/describe?delimiter=+',
  ])('names one table: %s', async (path) => {
    const reply = await ask(`POST ${path}`);
    expect(reply.status).toBe(200);
    expect(reply.json).toMatchObject({ table: 't', namespace: ['ns'], version: 1 });
  });

  it.each([
    '/v1/namespace/$/list',
    '/v1/namespace/%24/list/',
    '/v1/namespace/./list?delimiter=.',
    '/v1/namespace/::/list?delimiter=::',
    '/v1/namespace/%2F/list?delimiter=%2F',
  ])('names the root: %s', async (path) => {
    for (const method of ['GET', 'POST']) {
      expect((await ask(`${method} ${path}`)).json).toEqual({ namespaces: ['ns'] });
    }
  });

  it('means a space by a plus to the namespace specification, a plus to LanceDB', async () => {
    expect((await ask('POST /v1/table/a+b/create', { body: goodRows })).status).toBe(200);
    expect((await ask('POST /v1/table/a%20b/describe')).json['table']).toBe('a b');
    expect((await ask('POST /v1/table/a+b/describe', { headers: LANCEDB })).status).toBe(404);
    const plus = { body: goodRows, headers: LANCEDB };
    expect((await ask('POST /v1/table/a+b/create/', plus)).status).toBe(200);
    expect((await ask('POST /v1/table/a%2Bb/describe')).json['table']).toBe('a+b');
    expect((await ask('POST /v1/table/a+b/describe')).json['table']).toBe('a b');
    for (const name of ['a%20b', 'a%2Bb']) {
      expect((await ask(`POST /v1/table/${name}/drop`)).status).toBe(200);
    }
  });

  it.each([
    ['count_rows', '3'],
    ['index/list', '{"indexes":[]}'],
  ])('takes GET and POST: %s', async (operation, text) => {
    for (const method of ['GET', 'POST']) {
      for (const slash of ['', '/']) {
        const reply = await ask(`${method} /v1/table/ns$t/${operation}${slash}`);
        expect([reply.status, reply.text]).toEqual([200, text]);
      }
    }
  });

  it('takes null and nothing for an empty body', async () => {
    for (const body of [undefined, 'null', '{}', '']) {
      const reply = await ask('POST /v1/table/ns$t/version/list', { body });
      expect([reply.status, reply.text]).toEqual([200, expect.stringContaining('"version":1')]);
    }
  });

  it('asks for the names at the root, or for all tables, by the user agent alone', async () => {
    for (const path of ['/v1/table', '/v1/table/']) {
      expect((await ask(`GET ${path}`)).json['tables']).toEqual(['ns$t', 'root']);
      expect((await ask(`GET ${path}?delimiter=.`)).json['tables']).toEqual(['ns.t', 'root']);
      expect((await ask(`GET ${path}`, { headers: LANCEDB })).json['tables']).toEqual(['root']);
      expect((await ask(`GET ${path}`, { key: reader })).json['tables']).toEqual(['ns$t']);
      expect((await ask(`GET ${path}`, { key: other })).json['tables']).toEqual([]);
    }
  });

  it('names the new name of a table, which the policy is asked for', async () => {
    const rename = 'POST /v1/table/ns$t/rename/to/ns$u';
    expect((await ask(rename, { key: reader })).status).toBe(403);
    expect((await ask(rename)).status).toBe(200);
    expect((await ask('POST /v1/table/ns$u/rename/to/ns$t')).status).toBe(200);
    const records = (await service.audit()).filter(
      (record) => record['operation'] === 'RenameTable',
    );
    expect(records.map((record) => record['object'])).toContain('/ns/t');
    expect(records.some((record) => String(record['objects']).includes('/ns/u'))).toBe(true);
  });
});

describe("the user's headers", () => {
  it.each(['x-service', 'x-lance'])(
    '%s-table-location and -properties make a table',
    async (prefix) => {
      const location = join(service.data, 'lance', `${prefix}-made`);
      const headers = {
        [`${prefix}-table-location`]: location,
        [`${prefix}-table-properties`]: '{"team":"north"}',
      };
      const target = `/v1/table/ns$${prefix}`;
      const made = await ask(`POST ${target}/create`, { body: goodRows, headers });
      expect([made.status, made.json['properties']]).toEqual([200, { team: 'north' }]);
      expect((await filesUnder(location)).map(({ path }) => path.split('/')[0])).toContain('data');
      const described = await ask(`POST ${target}/describe`);
      expect(described.json['properties']).toEqual({ team: 'north' });
      const rows = await ask(`POST ${target}/query`, { body: { k: 10, vector: [] } });
      expect(tableFromIPC(rows.bytes).numRows).toBe(3);
      expect((await ask(`POST ${target}/drop`)).status).toBe(200);
    },
  );

  it('refuse a folder that is not empty, or another table lies in', async () => {
    const location = join(service.data, 'lance', 'taken');
    await mkdir(join(location, 'something'), { recursive: true });
    const create = (folder: string, name: string): Promise<Reply> =>
      ask(`POST /v1/table/${name}/create`, {
        body: goodRows,
        headers: { 'x-service-table-location': folder },
      });
    const reply = await create(location, 'first');
    expect([reply.status, reply.json['error']]).toEqual([
      400,
      `the location ${JSON.stringify(location)} is not an empty folder`,
    ]);
    const free = join(location, 'something', 'free');
    expect((await create(free, 'second')).status).toBe(200);
    const inside = await create(join(free, 'inside'), 'third');
    expect(inside.status).not.toBe(200);
    expect((await ask('POST /v1/table/second/drop')).status).toBe(200);
  });

  it('x-service-ctx-* and x-lance-ctx-* are the context of the record', async () => {
    const reply = await ask('POST /v1/table/ns$t/describe', {
      headers: {
        'x-service-ctx-Team': 'north',
        'x-lance-ctx-team': 'north',
        'x-lance-ctx-reason': 'a look',
        'x-service-ctx-api-token': 'hidden',
      },
    });
    const id = String(reply.headers['x-arrowgate-decision-id']);
    const records = await recordsOf(id);
    expect(records.map((record) => record['phase'])).toEqual(['attempt', 'outcome']);
    for (const { context } of records) {
      expect(context).toEqual({ team: 'north', reason: 'a look', 'api-token': '[redacted]' });
    }
  });
});
