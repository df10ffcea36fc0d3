import { request, type IncomingHttpHeaders } from 'node:http';
import { gunzipSync, gzipSync } from 'node:zlib';
import { afterEach, describe, expect, it } from 'vitest';
import { acceptsGzip } from '../../../src/gateway/http/content-coding.ts';
import { defaultBudget } from '../../../src/protocol/budget.ts';
import type { CatalogRequest } from '../../../src/protocol/backend.ts';
import { admin, start, type Harness } from '../harness.ts';

let harness: Harness;
let seen: CatalogRequest | undefined;

const LONG = JSON.stringify({ names: Array.from({ length: 2000 }, (_, at) => `name${at}`) });

/** A gateway whose backend answers with what it read. */
async function open(contentType = 'application/json', decompressed = 2 ** 20): Promise<void> {
  harness = await start({
    gateway: { budget: { ...defaultBudget, decompressed } },
    handle: async (asked) => {
      seen = asked;
      const pieces: Uint8Array[] = [];
      for await (const piece of asked.body) pieces.push(piece);
      return { status: 200, contentType, body: Buffer.concat(pieces).toString() };
    },
  });
}

afterEach(() => harness.close());

interface Reply {
  readonly status: number | undefined;
  readonly headers: IncomingHttpHeaders;
  readonly bytes: Buffer;
}

function ask(
  body: Uint8Array | string,
  headers: Record<string, string>,
  path = '/v1/table/prod$t/describe',
): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const options = { method: 'POST', headers: { ...admin, ...headers }, agent: false };
    const sent = request(new URL(path, harness.url), options, (incoming) => {
      const chunks: Buffer[] = [];
      incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
      incoming.on('end', () =>
        resolve({
          status: incoming.statusCode,
          headers: incoming.headers,
          bytes: Buffer.concat(chunks),
        }),
      );
    });
    sent.on('error', reject);
    sent.end(body);
  });
}

const gzipped = { 'content-encoding': 'gzip' };

describe('a gzip body', () => {
  it.each(['gzip', 'GZIP', 'x-gzip'])('of the coding %s is decoded', async (coding) => {
    await open();
    const reply = await ask(gzipSync('{"a":1}'), { 'content-encoding': coding });
    expect([reply.status, reply.bytes.toString()]).toEqual([200, '{"a":1}']);
  });

  it('reaches the backend decoded, with headers that say nothing of its coding', async () => {
    await open();
    await ask(gzipSync('{"a":1}'), gzipped);
    expect(seen?.headers).not.toHaveProperty('content-encoding');
    expect(seen?.headers).not.toHaveProperty('content-length');
    expect(seen?.unmeasured).toBe(true);
  });

  it('of several members is decoded', async () => {
    await open();
    const reply = await ask(Buffer.concat([gzipSync('{"a":'), gzipSync('1}')]), gzipped);
    expect(reply.bytes.toString()).toBe('{"a":1}');
  });

  it.each([
    ['that is no gzip', Buffer.from('{"a":1}')],
    ['that is cut short', gzipSync('{"a":1}').subarray(0, -4)],
    ['with bytes behind it', Buffer.concat([gzipSync('{"a":1}'), Buffer.from('more')])],
  ])('%s is refused', async (_name, body) => {
    await open();
    const reply = await ask(body, gzipped);
    expect([reply.status, JSON.parse(reply.bytes.toString())]).toMatchObject([
      400,
      { code: 13, error: 'the body is not valid gzip, although its content-encoding says so' },
    ]);
  });

  it('beyond budget.decompressed is refused, and the record says so', async () => {
    await open();
    const reply = await ask(
      gzipSync(Buffer.alloc(2 ** 20 + 1)),
      gzipped,
      '/v1/table/prod$t/insert',
    );
    expect([reply.status, JSON.parse(reply.bytes.toString())]).toMatchObject([
      400,
      { code: 13, error: expect.stringContaining('(budget.decompressed)') as string },
    ]);
    expect(harness.audit.outcomes()).toMatchObject([{ decision: 'over budget' }]);
  });

  it.each(['br', 'deflate', 'zstd', 'gzip, gzip'])(
    'of the coding %s is refused',
    async (coding) => {
      await open();
      const reply = await ask(gzipSync('{}'), { 'content-encoding': coding });
      expect([reply.status, JSON.parse(reply.bytes.toString())]).toMatchObject([
        400,
        { code: 13, error: 'the only supported content coding is gzip' },
      ]);
    },
  );
});

describe('a JSON answer', () => {
  it('of some size is gzip for who accepts it', async () => {
    await open();
    const reply = await ask(LONG, { 'accept-encoding': 'br, gzip;q=0.5' });
    expect(reply.headers).toMatchObject({ 'content-encoding': 'gzip', vary: 'accept-encoding' });
    expect(Number(reply.headers['content-length'])).toBe(reply.bytes.byteLength);
    expect(gunzipSync(reply.bytes).toString()).toBe(LONG);
    expect(harness.audit.outcomes()).toMatchObject([{ bytes_out: reply.bytes.byteLength }]);
  });

  it('is as it is for who does not, and says that it varies', async () => {
    await open();
    const reply = await ask(LONG, { 'accept-encoding': 'gzip;q=0, *' });
    expect(reply.headers).not.toHaveProperty('content-encoding');
    expect(reply.headers.vary).toBe('accept-encoding');
    expect(reply.bytes.toString()).toBe(LONG);
  });

  it('that is short is as it is', async () => {
    await open();
    const reply = await ask('{"a":1}', { 'accept-encoding': 'gzip' });
    expect(reply.headers).not.toHaveProperty('content-encoding');
    expect(reply.headers).not.toHaveProperty('vary');
  });
});

it('an answer that is not JSON is never gzip', async () => {
  await open('application/vnd.apache.arrow.file');
  const reply = await ask(LONG, { 'accept-encoding': 'gzip' });
  expect(reply.headers).not.toHaveProperty('content-encoding');
  expect(reply.bytes.toString()).toBe(LONG);
});

it.each([
  ['gzip', true],
  ['GZIP ; Q=1.000', true],
  ['x-gzip', true],
  ['*', true],
  ['br, *;q=0.1', true],
  ['*;q=0, gzip', true],
  ['gzip;q=0', false],
  ['gzip;q=0.000, *', false],
  ['identity', false],
  ['br', false],
  ['gzip;q=2', false],
  ['gzipped', false],
  ['', false],
  [undefined, false],
])('accept-encoding %j allows gzip: %s', (field, allowed) => {
  expect(acceptsGzip(field)).toBe(allowed);
});
