import { once } from 'node:events';
import { copyFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { connect, constants, type ClientHttp2Session, type OutgoingHttpHeaders } from 'node:http2';
import { request } from 'node:https';
import { connect as connectPlain } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Duplex } from 'node:stream';
import { connect as connectTls, TLSSocket, type ConnectionOptions } from 'node:tls';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { Certificate, CertificateError } from '../../src/gateway/http/certificate.ts';
import { makeCertificate, type MadeCertificate } from '../support/certificates.ts';
import { ADMIN, admin, start, type Harness, type Setup } from './harness.ts';
import { eventually } from '../support/eventually.ts';

const DESCRIBE = '/v1/table/prod$t/describe';
const INSERT = '/v1/table/prod$t/insert';

let folder: string;
let made: MadeCertificate;
let other: MadeCertificate;
let authority: MadeCertificate;
let client: MadeCertificate;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'arrowgate-tls-'));
  made = await makeCertificate(folder, 'first', { commonName: 'first' });
  other = await makeCertificate(folder, 'second', { commonName: 'second' });
  authority = await makeCertificate(folder, 'authority', { commonName: 'authority' });
  const names = 'URI:spiffe://lake/alice';
  client = await makeCertificate(folder, 'client', { commonName: 'alice', names, authority });
});

afterAll(async () => {
  await rm(folder, { recursive: true });
});

/** Waits for something that has no event, on a machine that may be busy. */
function soon(check: () => unknown): Promise<unknown> {
  return eventually(check);
}

let harness: Harness;
let certificate: Certificate;
let files: MadeCertificate;

async function open(setup: Setup = {}, clientCa: string | null = null): Promise<void> {
  files = { cert: join(folder, 'live.pem'), key: join(folder, 'live.key') };
  await put(made);
  certificate = new Certificate({ ...files, clientCa }, 20);
  harness = await start({ ...setup, certificate });
}

afterEach(async () => {
  await harness.close();
  certificate.close();
});

async function put({ cert, key }: MadeCertificate): Promise<void> {
  await copyFile(cert, files.cert);
  await copyFile(key, files.key);
}

async function trust(): Promise<ConnectionOptions> {
  const texts = [made, other].map(({ cert }) => readFile(cert, 'utf8'));
  return { ca: await Promise.all(texts) };
}

async function sessionTo(options: ConnectionOptions = {}): Promise<ClientHttp2Session> {
  const session = connect(harness.url, { ...(await trust()), ...options });
  session.on('error', () => undefined);
  await once(session, 'connect');
  return session;
}

interface Streamed {
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly text: string;
  /** Why the stream ended, as HTTP/2 says it. */
  readonly code: number;
}

/** One request over HTTP/2, whose body is written to its end. */
async function stream(
  session: ClientHttp2Session,
  headers: OutgoingHttpHeaders,
  body: string | Uint8Array = '',
): Promise<Streamed> {
  const sent = session.request({ ':method': 'POST', ...headers });
  sent.on('error', () => undefined);
  let answered: Readonly<Record<string, unknown>> = {};
  const chunks: Buffer[] = [];
  sent.on('response', (given) => {
    answered = given;
  });
  sent.on('data', (chunk: Buffer) => chunks.push(chunk));
  if (body === '') sent.end();
  else sent.end(body);
  await closeOf(sent);
  const text = Buffer.concat(chunks).toString();
  return { status: Number(answered[':status']), headers: answered, text, code: sent.rstCode };
}

async function* pieces(read: readonly Uint8Array[]): AsyncGenerator<Uint8Array> {
  yield* read;
}

/** Resolves when a stream is gone, however that came. */
function closeOf(stream: Duplex): Promise<void> {
  return new Promise((resolve) => stream.once('close', () => resolve()));
}

/** The name in the certificate that new connections are shown. */
async function shown(): Promise<string> {
  const socket = connectTls({
    port: Number(harness.url.port),
    host: '127.0.0.1',
    ...(await trust()),
  });
  await once(socket, 'secureConnect');
  const name = String(socket.getPeerCertificate().subject.CN);
  socket.destroy();
  return name;
}

describe('over TLS', () => {
  it('HTTP/1.1 is spoken with those who know no other', async () => {
    await open();
    const trusted = await trust();
    const [status, version] = await new Promise<[number | undefined, string]>((resolve, reject) => {
      const headers = { ...admin };
      const sent = request(
        new URL(DESCRIBE, harness.url),
        { ca: trusted.ca, method: 'POST', headers, agent: false },
        (incoming) => {
          incoming.resume();
          resolve([incoming.statusCode, incoming.httpVersion]);
        },
      );
      sent.on('error', reject);
      sent.end('{}');
    });
    expect([status, version]).toEqual([200, '1.1']);
    expect(harness.url.protocol).toBe('https:');
  });

  it('versions before 1.2 are refused', async () => {
    await open();
    const socket = connectTls({
      port: Number(harness.url.port),
      host: '127.0.0.1',
      ...(await trust()),
      minVersion: 'TLSv1',
      maxVersion: 'TLSv1.1',
      ciphers: 'DEFAULT@SECLEVEL=0',
    });
    const [error] = (await once(socket, 'error')) as [Error];
    expect(String(error)).toMatch(/protocol|version/i);
  });

  it('what is no TLS at all is cut off', async () => {
    await open();
    const socket = connectPlain(Number(harness.url.port), '127.0.0.1');
    socket.on('error', () => undefined);
    socket.write('GET / HTTP/1.1\r\nHost: h\r\n\r\n');
    await once(socket, 'close');
    expect(await shown()).toBe('first');
  });
});

describe('over HTTP/2', () => {
  it('requests are answered side by side on one connection, with no header of connections', async () => {
    await open({
      handle: ({ requestId }) => ({
        status: 200,
        contentType: 'application/json',
        headers: { connection: 'keep-alive', 'keep-alive': 'timeout=5', 'x-own': 'kept' },
        body: JSON.stringify({ requestId }),
      }),
    });
    const session = await sessionTo();
    const ids = Array.from({ length: 20 }, (_, index) => `request-${index}`);
    const answers = await Promise.all(
      ids.map((id) => stream(session, { ':path': DESCRIBE, ...admin, 'x-request-id': id }, '{}')),
    );
    expect(answers.map(({ text }) => text)).toEqual(
      ids.map((requestId) => JSON.stringify({ requestId })),
    );
    expect(answers[0]!.status).toBe(200);
    expect(Object.keys(answers[0]!.headers)).toEqual(
      expect.arrayContaining([
        'x-arrowgate-decision',
        'x-arrowgate-decision-id',
        'x-own',
        'content-length',
      ]),
    );
    expect(Object.keys(answers[0]!.headers)).not.toEqual(expect.arrayContaining(['connection']));
    session.close();
  });

  it('a body is streamed both ways, with trailers, and is counted', async () => {
    await open({
      handle: async ({ body }) => {
        const read: Uint8Array[] = [];
        for await (const chunk of body) read.push(chunk);
        return { status: 200, contentType: 'a/b', body: pieces(read) };
      },
    });
    const session = await sessionTo();
    const bytes = Buffer.alloc(3 * 1024 * 1024, 'arrow');
    const sent = session.request(
      { ':method': 'POST', ':path': INSERT, ...admin },
      { endStream: false, waitForTrailers: true },
    );
    sent.on('wantTrailers', () => sent.sendTrailers({ 'x-checksum': '1' }));
    const chunks: Buffer[] = [];
    sent.on('data', (chunk: Buffer) => chunks.push(chunk));
    sent.end(bytes);
    await closeOf(sent);
    expect(Buffer.concat(chunks).equals(bytes)).toBe(true);
    await soon(() =>
      expect(harness.audit.outcomes()).toMatchObject([{ status: 200, bytes_in: bytes.length }]),
    );
    session.close();
  });

  it('refusals are the same', async () => {
    await open({ headerBytes: 4096 });
    const session = await sessionTo();
    const key = { 'x-api-key': ADMIN };
    const long = 'a'.repeat(5000);
    const many = Object.fromEntries(Array.from({ length: 200 }, (_, index) => [`a${index}`, 'b']));
    const table: readonly (readonly [OutgoingHttpHeaders, number, string])[] = [
      [{ ':path': DESCRIBE }, 401, '"code":16'],
      [{ ':path': '/v1/nothing', ...key }, 406, '"code":0'],
      [{ ':path': '/nothing', ...key }, 404, '"code":0'],
      [{ ':path': DESCRIBE, ...key, 'x-long': long }, 431, 'the headers are too large'],
      [{ ':path': DESCRIBE, ...key, ...many }, 431, 'the headers are too large'],
      [{ ':path': DESCRIBE, ...key, expect: 'miracles' }, 400, 'the only supported expectation'],
      [
        { ':path': DESCRIBE, ':authority': 'h', ...key, host: 'other' },
        400,
        'the Host header and :authority differ',
      ],
      [{ ':path': '*', ':method': 'OPTIONS' }, 400, 'the target of a request must be a path'],
      [
        { ':path': DESCRIBE, ...key, 'content-encoding': 'br' },
        400,
        'the only supported content coding',
      ],
    ];
    for (const [headers, status, sentence] of table) {
      const answer = await stream(session, headers);
      expect([answer.status, answer.text], sentence).toEqual([
        status,
        expect.stringContaining(sentence),
      ]);
    }
    expect(session.destroyed).toBe(false);
    session.close();
  });

  it('a client that resets its stream aborts the request, and nothing else', async () => {
    let aborted = false;
    await open({
      handle: async (incoming) => {
        if (incoming.operation.name !== 'InsertIntoTable') return { status: 200, body: 'other' };
        incoming.signal().addEventListener('abort', () => {
          aborted = true;
        });
        for await (const chunk of incoming.body) void chunk;
        return { status: 200, body: null };
      },
    });
    const session = await sessionTo();
    const sent = session.request({ ':method': 'POST', ':path': INSERT, ...admin });
    sent.on('error', () => undefined);
    sent.write('abc');
    await soon(() => expect(harness.events).toContain('handle InsertIntoTable'));
    sent.destroy(new Error('enough'));
    await soon(() => expect(aborted).toBe(true));
    await soon(() => expect(harness.audit.outcomes()).toMatchObject([{ status: 499, code: null }]));
    const next = await stream(session, { ':path': DESCRIBE, ...admin });
    expect([next.status, next.text]).toEqual([200, 'other']);
    session.close();
  });

  it('an answer that fails on its way is reset, so that it cannot pass for a whole one', async () => {
    async function* failing(): AsyncGenerator<Uint8Array> {
      yield Buffer.alloc(1000);
      await Promise.resolve();
      throw new Error('bad sector');
    }
    await open({ handle: () => ({ status: 200, body: failing() }) });
    const session = await sessionTo();
    const answer = await stream(session, { ':path': DESCRIBE, ...admin });
    expect(answer.code).toBe(constants.NGHTTP2_INTERNAL_ERROR);
    session.close();
  });

  it('a stream on which nothing moves is ended', async () => {
    await open({
      idleMillis: 150,
      handle: async (incoming) => {
        for await (const chunk of incoming.body) void chunk;
        return { status: 200, body: null };
      },
    });
    const session = await sessionTo();
    const sent = session.request({ ':method': 'POST', ':path': INSERT, ...admin });
    sent.on('error', () => undefined);
    await closeOf(sent);
    await soon(() => expect(harness.audit.outcomes()).toMatchObject([{ status: 499 }]));
    session.destroy();
  });

  it('a stream whose client drips its body is ended, and no other', async () => {
    await open({
      idleMillis: 300,
      handle: async (incoming) => {
        for await (const chunk of incoming.body) void chunk;
        return { status: 200, body: 'read' };
      },
    });
    const session = await sessionTo();
    const sent = session.request({ ':method': 'POST', ':path': INSERT, ...admin });
    sent.on('error', () => undefined);
    const drip = setInterval(() => sent.write('a'), 50);
    await closeOf(sent);
    clearInterval(drip);
    await soon(() => expect(harness.audit.outcomes()).toMatchObject([{ status: 499 }]));
    const next = await stream(session, { ':path': DESCRIBE, ...admin });
    expect([next.status, next.text]).toEqual([200, 'read']);
    session.destroy();
  });

  it('a stop finishes the streams that run and takes no more', async () => {
    let finish: () => void = () => undefined;
    const running = new Promise<void>((resolve) => {
      finish = resolve;
    });
    await open({
      handle: async () => {
        await running;
        return { status: 200, contentType: 'application/json', body: '{"done":true}' };
      },
    });
    const session = await sessionTo();
    const idle = await sessionTo();
    const farewell = once(session, 'goaway');
    const answer = stream(session, { ':path': DESCRIBE, ...admin });
    await soon(() => expect(harness.events).toContain('handle DescribeTable'));
    const stopped = harness.listening.stop();
    await farewell;
    if (!idle.closed) await once(idle, 'close');
    finish();
    expect(await answer).toMatchObject({ status: 200, text: '{"done":true}', code: 0 });
    await stopped;
  });
});

describe('a certificate', () => {
  it('that is replaced is shown to new connections, while open ones go on', async () => {
    await open();
    const session = await sessionTo();
    expect(await shown()).toBe('first');
    await put(other);
    await soon(async () => expect(await shown()).toBe('second'));
    expect((await stream(session, { ':path': DESCRIBE, ...admin })).status).toBe(200);
    expect(certificate.fault).toBeUndefined();
    session.close();
  });

  it('that cannot be used leaves the last good one, and says so', async () => {
    await open({
      gateway: {
        parts: [{ part: 'certificate', without: 'degraded', fault: () => certificate.fault }],
      },
    });
    const ended = await makeCertificate(folder, 'ended', { commonName: 'ended', ended: true });
    const wrong: readonly (readonly [string, () => Promise<void>])[] = [
      ['no certificate with its key', () => copyFile(other.cert, files.cert)],
      ['no certificate with its key', () => writeFile(files.cert, 'nonsense')],
      ['no certificate with its key', () => writeFile(files.key, '')],
      ['cannot be read (ENOENT)', () => rm(files.key)],
      ['ended at', () => put(ended)],
    ];
    for (const [why, spoil] of wrong) {
      await put(made);
      await soon(() => expect(certificate.fault).toBeUndefined());
      await spoil();
      await soon(() => expect(certificate.fault).toContain(why));
      expect(await shown()).toBe('first');
    }
    const session = await sessionTo();
    const ready = await stream(session, { ':path': '/readyz', ':method': 'GET', ...admin });
    expect([ready.status, JSON.parse(ready.text)]).toMatchObject([
      200,
      {
        status: 'degraded',
        parts: expect.arrayContaining([
          { part: 'certificate', status: 'degraded', why: certificate.fault },
        ]),
      },
    ]);
    session.close();
  });

  it.each(['cert', 'key'] as const)('whose %s is missing is refused at once', async (name) => {
    await open();
    const missing = { cert: made.cert, key: made.key, clientCa: null, [name]: join(folder, 'no') };
    expect(() => new Certificate(missing)).toThrow(CertificateError);
    expect(() => new Certificate(missing)).toThrow(`${join(folder, 'no')} cannot be read (ENOENT)`);
  });
});

describe('a certificate of a client', () => {
  it('reaches the gateway, with whether its authority counts', async () => {
    const found: unknown[] = [];
    await open(
      {
        gateway: {
          traces: {
            begin: ({ socket }) => {
              const isTls = socket instanceof TLSSocket;
              found.push(isTls && [socket.authorized, socket.getPeerCertificate().subject?.CN]);
              return { traceparent: '', step: () => {}, judged: () => {}, end: () => {} };
            },
            close: async () => {},
          },
        },
      },
      authority.cert,
    );
    const [cert, key, strange, strangeKey] = await Promise.all(
      [client.cert, client.key, other.cert, other.key].map((path) => readFile(path, 'utf8')),
    );
    const each: readonly ConnectionOptions[] = [
      { cert: cert!, key: key! },
      { cert: strange!, key: strangeKey! },
      {},
    ];
    for (const options of each) {
      const session = await sessionTo(options);
      await stream(session, { ':path': DESCRIBE, ...admin });
      session.close();
    }
    expect(found).toEqual([
      [true, 'alice'],
      [false, 'second'],
      [false, undefined],
    ]);
  });
});
