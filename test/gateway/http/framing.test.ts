import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ADMIN, admin, ask, start, type Harness } from '../harness.ts';

let harness: Harness;

beforeAll(async () => {
  harness = await start({
    headerBytes: 4096,
    handle: async ({ body }) => {
      for await (const chunk of body) void chunk;
      return { status: 200, contentType: 'application/json', body: '{}' };
    },
  });
});

afterAll(async () => {
  await harness.close();
});

/** Sends bytes and gives everything that comes back until the gateway closes the connection. */
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

const start1 = 'POST /v1/table/t/describe HTTP/1.1';
const host = 'Host: h';
const key = `x-api-key: ${ADMIN}`;
const chunked = 'Transfer-Encoding: chunked';

/** A request, and after it one that a reader would see who reads it differently. */
function smuggled(lines: readonly string[], body = ''): string {
  const hidden = [`GET /v1/table/hidden/describe HTTP/1.1`, host, key, '', ''].join('\r\n');
  return [...lines, '', `${body}${hidden}`].join('\r\n');
}

/** A request alone, where the parser itself refuses what comes after it. */
function alone(...lines: readonly string[]): string {
  return [...lines, '', ''].join('\r\n');
}

const invalid = 'the request is not valid HTTP';
const target = 'the target of a request must be a path';

describe('a request that two readers could take for different ones is refused, and its connection closed', () => {
  it.each([
    [
      'length and chunks',
      smuggled([start1, host, key, 'Content-Length: 4', chunked], '0\r\n\r\n'),
      invalid,
    ],
    [
      'chunks and length',
      smuggled([start1, host, key, chunked, 'Content-Length: 4'], '0\r\n\r\n'),
      invalid,
    ],
    [
      'two equal lengths',
      smuggled([start1, host, key, 'Content-Length: 2', 'Content-Length: 2'], '{}'),
      invalid,
    ],
    [
      'two lengths that differ',
      smuggled([start1, host, key, 'Content-Length: 2', 'Content-Length: 9'], '{}'),
      invalid,
    ],
    ['a list of lengths', smuggled([start1, host, key, 'Content-Length: 2, 2'], '{}'), invalid],
    ['a signed length', smuggled([start1, host, key, 'Content-Length: +2'], '{}'), invalid],
    ['a negative length', smuggled([start1, host, key, 'Content-Length: -2'], '{}'), invalid],
    ['a hexadecimal length', smuggled([start1, host, key, 'Content-Length: 0x2'], '{}'), invalid],
    ['an empty length', smuggled([start1, host, key, 'Content-Length:'], '{}'), invalid],
    [
      'a length beyond 64 bits',
      smuggled([start1, host, key, `Content-Length: ${'9'.repeat(30)}`]),
      invalid,
    ],
    [
      'a coding that only looks chunked',
      smuggled([start1, host, key, 'Transfer-Encoding: xchunked']),
      invalid,
    ],
    [
      'chunks that are not the last coding',
      smuggled([start1, host, key, 'Transfer-Encoding: chunked, identity']),
      invalid,
    ],
    [
      'a coding before the chunks',
      smuggled([start1, host, key, 'Transfer-Encoding: gzip, chunked'], '0\r\n\r\n'),
      'the only supported transfer coding is chunked',
    ],
    [
      'a coding behind a vertical tab',
      smuggled([start1, host, key, 'Transfer-Encoding: \u000bchunked']),
      invalid,
    ],
    ['two codings', smuggled([start1, host, key, chunked, chunked], '0\r\n\r\n'), invalid],
    [
      'chunks in HTTP/1.0',
      alone('POST /v1/table/t/describe HTTP/1.0', host, key, chunked),
      'HTTP/1.0 has no transfer coding',
    ],
    ['a folded header', smuggled([start1, host, key, 'x-note: a', ' Content-Length: 9']), invalid],
    ['a space before the first header', smuggled([start1, ` ${host}`, key]), invalid],
    ['a space before a colon', smuggled([start1, host, key, 'Content-Length : 2'], '{}'), invalid],
    ['bare line feeds', `${start1}\n${host}\n${key}\n\n`, invalid],
    ['one bare line feed', smuggled([start1, host, key, 'x-note: a\nContent-Length: 9']), invalid],
    [
      'a bare carriage return',
      smuggled([start1, host, key, 'x-note: a\rContent-Length: 9']),
      invalid,
    ],
    ['a header name with brackets', smuggled([start1, host, key, 'x(a): b']), invalid],
    ['a header name beyond ASCII', smuggled([start1, host, key, 'x\u00ffa: b']), invalid],
    ['an empty header name', smuggled([start1, host, key, ': b']), invalid],
    ['a header without a colon', smuggled([start1, host, key, 'note']), invalid],
    ['a NUL in a value', smuggled([start1, host, key, 'x-note: a\u0000b']), invalid],
    [
      'a length that a proxy would drop',
      smuggled([start1, host, key, 'Connection: content-length', 'Content-Length: 2'], '{}'),
      'the Connection header names content-length',
    ],
    [
      'a credential that a proxy would drop',
      alone(start1, host, key, 'Connection: close, X-Api-Key'),
      'the Connection header names x-api-key',
    ],
    [
      'a target with a host',
      smuggled(['GET http://other/v1/table/t/describe HTTP/1.1', host, key]),
      target,
    ],
    ['a target that is a host', smuggled(['GET other:80 HTTP/1.1', host, key]), invalid],
    ['a tunnel', smuggled(['CONNECT other:80 HTTP/1.1', host, key]), target],
    ['a target that is a star', smuggled(['OPTIONS * HTTP/1.1', host, key]), target],
    [
      'two hosts',
      smuggled([start1, host, 'Host: other', key]),
      'the header host is given more than once',
    ],
    ['no host', smuggled([start1, key]), 'the Host header is missing'],
    [
      'an expectation of something else',
      smuggled([start1, host, key, 'Expect: miracles']),
      'the only supported expectation is 100-continue',
    ],
    [
      'more headers than anybody sends',
      smuggled([start1, host, key, ...Array.from({ length: 130 }, (_, index) => `a${index}: b`)]),
      'more than 128 headers are not allowed',
    ],
    [
      'the version that has no headers',
      'GET /v1/table/t/describe\r\n\r\n',
      'HTTP/0.9 is not supported',
    ],
    [
      'a version that does not exist',
      smuggled(['GET /v1/table/t/describe HTTP/1.2', host, key]),
      invalid,
    ],
    [
      'HTTP/2 by its version alone',
      alone('GET /v1/table/t/describe HTTP/2.0', host, key),
      'HTTP/2.0 is not supported',
    ],
    ['HTTP/2 without TLS', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', invalid],
  ])('%s', async (_, bytes, sentence) => {
    harness.events.length = 0;
    const answer = await raw(bytes);
    expect(answer.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 400']);
    expect(answer.toLowerCase()).toMatch(/\r\nconnection: close\r\n/);
    const body: unknown = JSON.parse(answer.slice(answer.indexOf('{')));
    expect(body).toMatchObject({ error: sentence, code: 13 });
    expect(harness.events.filter((event) => event.startsWith('handle'))).toEqual([]);
  });

  it.each([
    ['a line feed after its size', '2\n{}\r\n0\r\n\r\n'],
    ['a line feed after its bytes', '2\r\n{}\n0\r\n\r\n'],
    ['a line feed after its extension', '2;a\n{}\r\n0\r\n\r\n'],
    ['a line feed at the end', '2\r\n{}\r\n0\n\n'],
    ['a space after its size', '2 \r\n{}\r\n0\r\n\r\n'],
    ['a prefix before its size', '0x2\r\n{}\r\n0\r\n\r\n'],
    ['a sign before its size', '-2\r\n{}\r\n0\r\n\r\n'],
    ['a size beyond 64 bits', '10000000000000002\r\n{}\r\n0\r\n\r\n'],
    ['more bytes than its size', '2\r\n{}{}\r\n0\r\n\r\n'],
  ])('a chunk with %s', async (_, body) => {
    const answer = await raw(smuggled([start1, host, key, chunked], body));
    expect(answer.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 400']);
    expect(answer).not.toContain('hidden');
  });

  it('too large headers are 431', async () => {
    const answer = await raw(smuggled([start1, host, key, `x-long: ${'a'.repeat(5000)}`]));
    expect(answer).toMatch(/^HTTP\/1\.1 431 Request Header Fields Too Large\r\n/);
    expect(answer).toContain('"error":"the headers are too large","code":13');
  });

  it('too large extensions of chunks are 413', async () => {
    const body = `2;${'a'.repeat(20_000)}\r\n{}\r\n0\r\n\r\n`;
    const answer = await raw(smuggled([start1, host, key, chunked], body));
    expect(answer).toMatch(/^HTTP\/1\.1 413 Payload Too Large\r\n/);
    expect(answer).toContain('"error":"the chunk extensions are too large","code":13');
  });

  it('and others are served as before', async () => {
    const reply = await ask(harness, '/v1/table/t/describe', { headers: admin });
    expect(reply.status).toBe(200);
  });
});

describe('a client that is slow on purpose', () => {
  it('with its headers is told so and cut off', async () => {
    const slow = await start({ headersMillis: 200 });
    const socket = connect(Number(slow.url.port), slow.url.hostname);
    let answer = '';
    socket.on('data', (text: Buffer) => {
      answer += text.toString();
    });
    socket.on('error', () => undefined);
    const closed = new Promise((resolve) => socket.once('close', resolve));
    socket.write(`${start1}\r\n`);
    const drip = setInterval(() => socket.write('x-a: b\r\n'), 50);
    await closed;
    clearInterval(drip);
    expect(answer).toMatch(/^HTTP\/1\.1 408 Request Timeout\r\n/);
    expect(answer).toContain('"error":"the request took too long to arrive","code":13');
    await slow.close();
  });

  it('with its body is cut off, though it never stops', async () => {
    const slow = await start({
      idleMillis: 300,
      handle: async (request) => {
        for await (const chunk of request.body) void chunk;
        return { status: 200, body: null };
      },
    });
    const socket = connect(Number(slow.url.port), slow.url.hostname);
    socket.on('error', () => undefined);
    const closed = new Promise((resolve) => socket.once('close', resolve));
    socket.write([`POST /v1/table/t/insert HTTP/1.1`, host, key, chunked, '', ''].join('\r\n'));
    const drip = setInterval(() => socket.write('1\r\na\r\n'), 50);
    await closed;
    clearInterval(drip);
    expect(slow.events).toContain('handle InsertIntoTable');
    await slow.close();
  });
});
