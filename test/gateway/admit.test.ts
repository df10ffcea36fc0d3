import { connect } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { ADMIN, admin, ask, json, start, type Harness, type Setup } from './harness.ts';

let harness: Harness;

afterEach(async () => {
  await harness.close();
});

async function open(setup: Setup = {}): Promise<void> {
  harness = await start(setup);
}

const DESCRIBE = '/v1/table/prod$t/describe';

/** Sends bytes as they are and gives everything that comes back until the other side closes. */
function raw(bytes: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(Number(harness.url.port), harness.url.hostname);
    let answer = '';
    socket.setEncoding('latin1');
    socket.on('data', (text: string) => {
      answer += text;
    });
    socket.on('error', reject);
    socket.on('close', () => resolve(answer));
    socket.write(bytes, 'latin1');
  });
}

function head(...lines: readonly string[]): string {
  return ['POST /v1/table/t/describe HTTP/1.1', ...lines, 'Connection: close', '', ''].join('\r\n');
}

const host = 'Host: h';
const key = `x-api-key: ${ADMIN}`;

describe('headers that could be read in two ways are refused', () => {
  it.each([
    [head(host, key, key), 'the header x-api-key is given more than once'],
    [head(host, host, key), 'the header host is given more than once'],
    [
      head(host, 'Authorization: Bearer a', 'authorization: Bearer b'),
      'the header authorization is given more than once',
    ],
    [
      head(host, key, 'X-Request-Id: a', 'x-request-id: a'),
      'the header x-request-id is given more than once',
    ],
    [
      head(host, key, 'Content-Type: a', 'Content-Type: b'),
      'the header content-type is given more than once',
    ],
    [
      head(host, key, 'x-service-ctx-a: 1', 'x-service-ctx-a: 2'),
      'the header x-service-ctx-a is given more than once',
    ],
    [
      head(host, key, 'x-service-table-location: a', 'x-service-table-location: b'),
      'the header x-service-table-location is given more than once',
    ],
    [head(key), 'the Host header is missing'],
    [head(host, key, 'Expect: miracles'), 'the only supported expectation is 100-continue'],
    [
      head(host, key, 'Transfer-Encoding: gzip, chunked'),
      'the only supported transfer coding is chunked',
    ],
    [head(host, key, 'Content-Encoding: br'), 'the only supported content coding is gzip'],
    [head(host, key, 'x-note: a\u0001b'), 'the request is not valid HTTP'],
    [head(host, key, 'x-note: a\u007fb'), 'the request is not valid HTTP'],
    [head(host, key, 'x-note: a\u0000b'), 'the request is not valid HTTP'],
    [head(host, key, 'x-note: a\rb'), 'the request is not valid HTTP'],
    [head(host, key, 'x-note: a\nb'), 'the request is not valid HTTP'],
    [head(host, key, 'Content-Length: 1', 'Content-Length: 2'), 'the request is not valid HTTP'],
    [
      head(host, key, 'Content-Length: 4', 'Transfer-Encoding: chunked'),
      'the request is not valid HTTP',
    ],
    [head(host, key, 'Transfer-Encoding: chunked, identity'), 'the request is not valid HTTP'],
    ['GET / HTTP/1.1\nHost: h\n\n', 'the request is not valid HTTP'],
    ['nonsense\r\n\r\n', 'the request is not valid HTTP'],
  ])('%j', async (bytes, sentence) => {
    await open();
    const answer = await raw(bytes);
    expect(answer).toMatch(/^HTTP\/1\.1 400 Bad Request\r\n/);
    expect(answer.toLowerCase()).toMatch(/\r\nx-request-id: [0-9a-f-]{36}\r\n/);
    expect(answer.toLowerCase()).toContain('content-type: application/json');
    const body = JSON.parse(answer.slice(answer.indexOf('{'))) as object;
    expect(body).toMatchObject({ error: sentence, code: 13 });
    expect(harness.events.filter((event) => event.startsWith('handle'))).toEqual([]);
  });

  it('when they are too large, with an answer and without harm to others', async () => {
    await open({ headerBytes: 4096 });
    const answer = await raw(head(host, key, `x-long: ${'a'.repeat(5000)}`));
    expect(answer).toMatch(/^HTTP\/1\.1 431 Request Header Fields Too Large\r\n/);
    expect(answer).toContain('"error":"the headers are too large","code":13');
    expect((await ask(harness, DESCRIBE, { headers: admin })).status).toBe(200);
  });

  it('when they are many, also beyond the number that Node keeps by itself', async () => {
    await open({ headerBytes: 65_536 });
    const many = Array.from({ length: 2500 }, (_, index) => `a${index}: b`);
    const answer = await raw(head(host, key, ...many, key));
    expect(answer).toContain('more than 128 headers are not allowed');
  });
});

describe('the id of a request', () => {
  it.each(['a', 'A-b_c.9', 'a+b=/~!', '<script>', 'x'.repeat(256)])(
    'is the one that the client gives: %s',
    async (id) => {
      await open();
      const reply = await ask(harness, DESCRIBE, { headers: { ...admin, 'x-request-id': id } });
      expect(reply.headers['x-request-id']).toBe(id);
    },
  );

  it.each(['', 'a b', 'x'.repeat(257), 'a\tb', 'é'])(
    'is a new one instead of %j on a read',
    async (id) => {
      await open();
      const reply = await ask(harness, DESCRIBE, { headers: { ...admin, 'x-request-id': id } });
      expect(reply.headers['x-request-id']).toMatch(/^[0-9a-f-]{36}$/);
      expect(reply.status).toBe(200);
    },
  );

  it.each(['', 'a b', 'x'.repeat(257), 'a\tb', 'é'])('refuses a mutation as %j', async (id) => {
    await open();
    const headers = { ...admin, 'x-request-id': id };
    const reply = await ask(harness, '/v1/table/prod$t/insert', { headers, body: 'rows' });
    expect(reply.status).toBe(400);
    expect(json(reply)).toEqual({
      error:
        'the header x-request-id must be 1 to 256 visible ASCII characters; send the request again with such an id or without the header',
      code: 13,
      instance: reply.headers['x-request-id'],
    });
    expect(reply.headers['x-request-id']).toMatch(/^[0-9a-f-]{36}$/);
    expect(reply.headers['x-arrowgate-decision']).toBe('invalid');
    expect(harness.events.filter((event) => event.startsWith('handle'))).toEqual([]);
  });

  it('stands on every answer, also beside the protocol', async () => {
    await open();
    for (const path of ['/healthz', '/readyz', '/openapi.json', '/nothing', '/v1/nothing']) {
      const reply = await ask(harness, path, { method: 'GET', headers: { 'x-request-id': 'r-1' } });
      expect(reply.headers['x-request-id'], path).toBe('r-1');
    }
  });
});

describe('a request without a known caller', () => {
  it('is 401, told how to do it, and recorded without a principal', async () => {
    await open();
    const reply = await ask(harness, DESCRIBE, { headers: { 'x-api-key': 'wrong' } });
    expect(reply.status).toBe(401);
    expect(json(reply)).toMatchObject({ error: 'the credential is not known', code: 16 });
    expect(reply.headers['www-authenticate']).toBe('Bearer realm="arrowgate"');
    expect(reply.headers['x-arrowgate-decision']).toBe('unauthenticated');
    const stranger = {
      decision: 'unauthenticated',
      subject: null,
      principal: null,
      credential: null,
    };
    expect(harness.audit.records).toMatchObject([
      { phase: 'attempt', ...stranger, operation: 'DescribeTable', object: '/prod/t' },
      { phase: 'outcome', ...stranger, status: 401, code: 16 },
    ]);
    expect(
      JSON.stringify(harness.audit.records, (_, value: unknown) =>
        typeof value === 'bigint' ? 0 : value,
      ),
    ).not.toContain('wrong');
  });

  it('cannot force a write to disk', async () => {
    await open();
    await ask(harness, '/v1/table/prod$t/drop');
    expect(harness.events).toEqual(['attempt DropTable', 'outcome DropTable']);
  });
});
