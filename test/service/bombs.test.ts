import { connect } from 'node:net';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parsePattern } from '../../src/policy/lines/pattern.ts';
import { ADMIN_KEY, Service } from '../support/service.ts';
import { ARROW_STREAM, send } from './http.ts';
import { goodRows } from './table-bodies.ts';

let service: Service;

beforeAll(async () => {
  service = await Service.start();
  const made = await send(service.url, 'POST /v1/table/t/create', {
    body: goodRows,
    headers: ARROW_STREAM,
  });
  expect(made.status).toBe(200);
});

afterAll(() => service?.stop());

const QUERY = 'POST /v1/table/t/query';

/** The service still answers everybody else. */
async function unharmed(): Promise<void> {
  const reply = await send(service.url, 'POST /v1/table/t/count_rows', { body: {} });
  expect([reply.status, reply.text]).toEqual([200, '3']);
}

async function refused(body: string | Uint8Array, sentence: string | RegExp): Promise<void> {
  const reply = await send(service.url, QUERY, { body });
  expect(reply.status).toBe(400);
  expect(reply.json['error']).toMatch(sentence);
  await unharmed();
}

/** What is answered to bytes that are sent as they are. */
async function raw(head: string): Promise<string> {
  const { hostname, port } = new URL(service.url);
  const socket = connect(Number(port), hostname);
  let text = '';
  socket.setEncoding('latin1').on('data', (more: string) => {
    text += more;
  });
  // The service may hang up before it has read everything.
  socket.on('error', () => undefined);
  socket.write(head, 'latin1');
  await new Promise((resolve) => socket.once('close', resolve));
  return text;
}

describe('a body bomb', () => {
  it.each<[string, () => string, string | RegExp]>([
    ['of lists in lists', () => `{"a":${'['.repeat(1e6)}`, 'nested deeper than 256 levels'],
    ['of objects in objects', () => '{"a":'.repeat(1e6), 'nested deeper than 256 levels'],
    [
      'of members',
      () => `{${Array.from({ length: 200_000 }, (_, at) => `"k${at}":1`).join(',')}}`,
      'objects have more than 65536 members',
    ],
    ['of one number with a million digits', () => `{"k":1${'0'.repeat(1e6)}}`, /beyond the range/],
    ['of a number beyond all', () => '{"k":1e999999999}', /beyond the range/],
    ['of one long text', () => `{"filter":"${'x'.repeat(9e6)}"}`, 'at most 8388608 bytes'],
    [
      'of a filter in brackets',
      () => JSON.stringify({ filter: `${'('.repeat(1e6)}1=1${')'.repeat(1e6)}` }),
      /deep|nested|brackets|characters|limit|parenthes/i,
    ],
  ])('%s is refused', async (_, body, sentence) => {
    await refused(body(), sentence);
  });

  it('that is packed is unpacked only as far as it may be', async () => {
    const packed = gzipSync(Buffer.alloc(50e6, ' '));
    const sentences = ['a JSON body may have at most 8388608 bytes', /Arrow/];
    for (const [at, line] of [QUERY, 'POST /v1/table/t/insert'].entries()) {
      const headers = { 'content-encoding': 'gzip' };
      const reply = await send(service.url, line, { body: packed, headers });
      expect(reply.status).toBe(400);
      expect(reply.json['error']).toMatch(sentences[at]!);
    }
    await unharmed();
  });
});

/** The answer, or nothing, where the connection was cut before all was sent. */
const cutOff = /^(?:HTTP\/1\.1 431 |$)/;

describe('a header bomb', () => {
  const start = `POST /v1/table/t/query HTTP/1.1\r\nhost: h\r\nx-api-key: ${ADMIN_KEY}\r\n`;
  const end = 'connection: close\r\ncontent-length: 0\r\n\r\n';

  it('of ten thousand headers is refused', async () => {
    const many = Array.from({ length: 10_000 }, (_, at) => `x-note-${at}: 1\r\n`).join('');
    expect(await raw(`${start}${many}${end}`)).toMatch(cutOff);
    const short = Array.from({ length: 1_000 }, (_, at) => `${at}:\r\n`).join('');
    expect(await raw(`${start}${short}${end}`)).toMatch(/^HTTP\/1\.1 400 /);
    await unharmed();
  });

  it('of one long header is refused', async () => {
    expect(await raw(`${start}x-note: ${'x'.repeat(1e6)}\r\n${end}`)).toMatch(cutOff);
    await unharmed();
  });
});

describe('a regular-expression bomb', () => {
  const bait = `${'a'.repeat(10_000)}!`;

  it.each(['(a+)+$', '((a*)*)*b', '(a|aa)+$', '(.*)*(.*)*(.*)*x', '^(([a-z])+.)+[A-Z]([a-z])+$'])(
    'in a filter is answered: %s',
    async (pattern) => {
      const filter = `regexp_like('${bait}', '${pattern}')`;
      const reply = await send(service.url, 'POST /v1/table/t/count_rows', {
        body: { predicate: filter },
      });
      expect([200, 400]).toContain(reply.status);
      await unharmed();
    },
  );

  it('in LIKE is answered', async () => {
    const predicate = `'${bait}' like '${'%a'.repeat(200)}%b'`;
    const reply = await send(service.url, 'POST /v1/table/t/count_rows', { body: { predicate } });
    expect([reply.status, reply.text]).toEqual([200, '0']);
  });

  it.each<[string, Readonly<Record<string, string>>, number]>([
    ['a bearer token', { authorization: `Bearer ${' '.repeat(9_000)}x y` }, 401],
    ['a token', { authorization: `Bearer ${'a.'.repeat(4_000)}!` }, 401],
    ['a trace', { traceparent: `00-${'0'.repeat(9_000)}` }, 200],
    ['a forwarded address', { 'x-forwarded-for': '1.'.repeat(4_000) }, 200],
    ['a request id', { 'x-request-id': `${'a'.repeat(9_000)}!` }, 200],
    ['a context', { [`x-service-ctx-${'token'.repeat(1_000)}`]: 'x'.repeat(4_000) }, 200],
    ['a connection', { connection: `close${' ,'.repeat(4_000)}` }, 200],
  ])('in %s is a text like any other', async (_, headers, status) => {
    const key = 'authorization' in headers ? null : ADMIN_KEY;
    const reply = await send(service.url, 'POST /v1/table/t/count_rows', {
      body: {},
      headers,
      key,
    });
    expect(reply.status).toBe(status);
    await unharmed();
  });

  it.each(['/prod/(a+)+$', '/prod/**/**/**/a', `/${'*/'.repeat(500)}(`, '/(.*)*x'])(
    'in an object of a policy or a limit is refused, for there are no such patterns',
    (object) => {
      expect(parsePattern(object)).toHaveProperty('fault');
    },
  );
});
