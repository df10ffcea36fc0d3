import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import { createServer as createSecureServer, type Server as SecureServer } from 'node:https';
import {
  connect,
  createServer as createTcpServer,
  type AddressInfo,
  type Server,
  type Socket,
} from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { makeCertificate } from '../support/certificates.ts';
import { eventually } from '../support/eventually.ts';
import { FailingBackend, type Failure } from '../support/failing-backend.ts';
import { ADMIN_KEY, Service } from '../support/service.ts';
import { ARROW_STREAM, open, replyOf, send, type Reply, type Sent } from './http.ts';

const OK = 'HTTP/1.1 200 OK\r\ncontent-type: application/vnd.apache.arrow.stream\r\n';
const MIB = 2 ** 20;

/** What each table's name stands for. */
const failures: Readonly<Record<string, Failure>> = {
  'dies-before-headers': (socket) => socket.destroy(),
  resets: (socket) => socket.resetAndDestroy(),
  'dies-mid-chunked': (socket) => {
    socket.write(`${OK}transfer-encoding: chunked\r\n\r\n5\r\nhello\r\n`);
    setTimeout(() => socket.destroy(), 50);
  },
  'dies-mid-chunk': (socket) => {
    socket.write(`${OK}transfer-encoding: chunked\r\n\r\nff\r\nhello`);
    setTimeout(() => socket.end(), 50);
  },
  'dies-mid-fixed': (socket) => {
    socket.write(`${OK}content-length: 1000000\r\n\r\nhello`);
    setTimeout(() => socket.destroy(), 50);
  },
  'dies-mid-small': (socket) => {
    socket.write(`${OK}content-length: 1000\r\n\r\nhello`);
    setTimeout(() => socket.destroy(), 50);
  },
  'resets-mid-body': (socket) => {
    socket.write(`${OK}content-length: 1000000\r\n\r\nhello`);
    setTimeout(() => socket.resetAndDestroy(), 50);
  },
  'silent-head': () => undefined,
  'silent-body': (socket) => {
    socket.write(`${OK}transfer-encoding: chunked\r\n\r\n5\r\nhello\r\n`);
  },
  'refuses-early': (socket) => {
    const body = JSON.stringify({ error: 'too much', code: 13 });
    socket.write(
      `HTTP/1.1 413 Content Too Large\r\ncontent-type: application/json\r\nconnection: close\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
    );
  },
  'no-http': (socket) => socket.end('this is not HTTP\r\n\r\n'),
  html: (socket) => {
    const body = '<h1>secret inside</h1>';
    socket.end(
      `HTTP/1.1 502 Bad Gateway\r\ncontent-type: text/html\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
    );
  },
  throttled: (socket) => {
    socket.end('HTTP/1.1 429 Too Many Requests\r\nretry-after: 7\r\ncontent-length: 0\r\n\r\n');
  },
  elsewhere: (socket) => {
    socket.end(
      'HTTP/1.1 307 Temporary Redirect\r\nlocation: http://127.0.0.1:1/\r\ncontent-length: 0\r\n\r\n',
    );
  },
  rejected: (socket) => socket.end('HTTP/1.1 401 Unauthorized\r\ncontent-length: 0\r\n\r\n'),
  missing: (socket) => socket.end('HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n'),
  absorbs: (socket) => socket.on('data', () => undefined).resume(),
  stalls: (socket) => socket.pause(),
  endless: (socket) => {
    socket.write(`${OK}content-length: ${1024 * MIB}\r\n\r\n`);
    const piece = Buffer.alloc(MIB);
    const more = (): void => {
      while (!socket.destroyed && socket.write(piece));
    };
    socket.on('drain', more);
    more();
  },
};

let backend: FailingBackend;
/** Takes connections, and never says a word, so that no TLS comes about. */
let mute: Server;
let gateway: Service;
let folder: string;
let sealed: SecureServer;
/** What came over TLS: how often each connection was used. */
const overTls = new Map<Socket, number>();

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'arrowgate-failures-'));
  const { cert, key } = await makeCertificate(folder, 'sealed', {
    commonName: 'sealed',
    names: 'DNS:localhost',
  });
  sealed = createSecureServer({ cert: await readFile(cert), key: await readFile(key) });
  sealed.on('request', (incoming, response) => {
    overTls.set(incoming.socket, (overTls.get(incoming.socket) ?? 0) + 1);
    let bytes = 0;
    incoming.on('data', (chunk: Buffer) => (bytes += chunk.byteLength));
    incoming.on('end', () => {
      response.setHeader('content-type', 'application/json');
      response.end(
        JSON.stringify({ version: bytes, transaction_id: incoming.headers['x-api-key'] }),
      );
    });
  });
  sealed.listen(0, 'localhost');
  await once(sealed, 'listening');
  const { port: sealedPort } = sealed.address() as AddressInfo;
  backend = await FailingBackend.start(failures);
  const closed = createServer();
  closed.listen(0, '127.0.0.1');
  await once(closed, 'listening');
  const { port: closedPort } = closed.address() as AddressInfo;
  closed.close();
  mute = createTcpServer(() => undefined);
  mute.listen(0, '127.0.0.1');
  await once(mute, 'listening');
  const { port: mutePort } = mute.address() as AddressInfo;
  const common = 'type: http, credential_env: KEY, breaker: { failures: 1000, open: 1h }';
  gateway = await Service.start({
    policy: 'p, role:admin, /**, *, allow\n',
    variables: { KEY: 'k', LOOP: ADMIN_KEY, NODE_EXTRA_CA_CERTS: cert },
    flags: ['--port', String(closedPort)],
    config: `
backends:
  - { name: failing, url: "${backend.url}", namespaces: ["/f/**"], timeouts: { idle: 400ms }, ${common} }
  - { name: patient, url: "${backend.url}", namespaces: ["/p/**"], ${common} }
  - { name: hasty, url: "${backend.url}", namespaces: ["/h/**"], timeouts: { total: 300ms }, ${common} }
  - { name: narrow, url: "${backend.url}", namespaces: ["/n/**"], connections: 1, timeouts: { connect: 200ms }, ${common} }
  - { name: unroutable, url: "https://127.0.0.1:${mutePort}", namespaces: ["/u/**"], timeouts: { connect: 200ms }, ${common} }
  - { name: sealed, url: "https://localhost:${sealedPort}", namespaces: ["/s/**"], ${common} }
  - { name: misnamed, url: "https://127.0.0.1:${sealedPort}", namespaces: ["/m/**"], ${common} }
  - { name: down, url: "http://127.0.0.1:1", namespaces: ["/d/**"], ${common} }
  - { name: tripping, url: "${backend.url}", namespaces: ["/t/**"], type: http, credential_env: KEY, breaker: { failures: 3, open: 1s } }
  - { name: itself, url: "http://127.0.0.1:${closedPort}", namespaces: ["/l/**"], type: http, credential_env: LOOP }
  - { name: embedded, type: embedded, namespaces: ["/**"] }
`,
  });
});

afterAll(async () => {
  await gateway?.stop();
  await backend?.stop();
  mute?.close();
  sealed?.closeAllConnections();
  sealed?.close();
  await rm(folder, { recursive: true });
});

const ask = (line: string, sent: Sent = { body: {} }): Promise<Reply> =>
  send(gateway.url, line, sent);

async function told(line: string, sent?: Sent): Promise<readonly unknown[]> {
  const { status, json } = await ask(line, sent);
  return [status, json['code'], json['error']];
}

describe('A backend that fails before it answers', () => {
  it.each([
    ['dies-before-headers', 'failing broke off (ECONNRESET)'],
    ['resets', 'failing broke off (ECONNRESET)'],
    ['silent-head', 'failing sent nothing for 400 ms'],
    ['dies-mid-small', 'failing broke off its answer'],
    ['no-http', 'failing broke off (its answer is not valid HTTP)'],
    ['html', 'failing answered 502, without an error of the protocol'],
    ['elsewhere', 'failing answered 307, which is not followed'],
    ['rejected', "failing does not accept the gateway's own credential"],
  ])('is a 503 where it %s', async (name, sentence) => {
    expect(await told(`POST /v1/table/f$${name}/query`)).toEqual([
      503,
      17,
      `the backend ${sentence}`,
    ]);
  });

  it('leaves open whether a change took effect', async () => {
    expect(await told('POST /v1/table/f$dies-before-headers/delete')).toEqual([
      503,
      17,
      'the backend failing broke off (ECONNRESET); whether the change took effect is not known',
    ]);
  });

  it('is refused in time where no connection is made', async () => {
    expect(await told('POST /v1/table/u$t/query')).toEqual([
      503,
      17,
      'the backend unroutable did not accept a connection within 200 ms',
    ]);
    expect(await told('POST /v1/table/d$t/query')).toEqual([
      503,
      17,
      'the backend down cannot be reached (ECONNREFUSED)',
    ]);
    expect(await told('POST /v1/table/d$t/delete')).toEqual([
      503,
      17,
      'the backend down cannot be reached (ECONNREFUSED)',
    ]);
  });

  it('is refused in time where all takes too long', async () => {
    expect(await told('POST /v1/table/h$silent-head/query')).toEqual([
      503,
      17,
      'the backend hasty took longer than 300 ms',
    ]);
    const cut = await open(gateway.url, 'POST /v1/table/h$endless/query', { body: {} });
    expect(cut.statusCode).toBe(200);
    await expect(replyOf(cut)).rejects.toThrow('aborted');
  });

  it('has its words replaced where they are not those of the protocol', async () => {
    const throttled = await ask('POST /v1/table/f$throttled/query');
    expect([throttled.status, throttled.json['code'], throttled.headers['retry-after']]).toEqual([
      429,
      21,
      '7',
    ]);
    expect((await told('POST /v1/table/f$missing/query')).slice(0, 2)).toEqual([404, 4]);
    const html = await ask('POST /v1/table/f$html/query');
    expect(html.text).not.toContain('secret');
    expect(html.headers['content-type']).toBe('application/json');
  });
});

describe('A backend that fails in the middle of an answer', () => {
  it.each([
    'dies-mid-chunked',
    'dies-mid-chunk',
    'dies-mid-fixed',
    'resets-mid-body',
    'silent-body',
  ])('cuts the client off where it %s', async (name) => {
    const answer = await open(gateway.url, `POST /v1/table/f$${name}/query`, { body: {} });
    expect(answer.statusCode).toBe(200);
    await expect(replyOf(answer)).rejects.toThrow('aborted');
  });

  it('keeps the length that it named, so that a short answer is seen', async () => {
    const answer = await open(gateway.url, 'POST /v1/table/f$dies-mid-fixed/query', { body: {} });
    expect(answer.headers['content-length']).toBe('1000000');
    await expect(replyOf(answer)).rejects.toThrow('aborted');
  });
});

describe('An upload', () => {
  it('ends with the answer of a backend that refuses it early', async () => {
    async function* rows() {
      for (let sent = 0; sent < 64; sent++) yield Buffer.alloc(MIB);
    }
    expect(
      await told('POST /v1/table/f$refuses-early/insert', { body: rows(), headers: ARROW_STREAM }),
    ).toEqual([413, 13, 'too much']);
  });

  it('waits for a backend that reads nothing, in little memory', async () => {
    let sent = 0;
    const stop = new AbortController();
    async function* rows() {
      for (; sent < 512; sent++) yield Buffer.alloc(MIB);
    }
    const sending = { body: rows(), headers: ARROW_STREAM, signal: stop.signal };
    const answer = await open(gateway.url, 'POST /v1/table/f$stalls/insert', sending);
    // What fits into the buffers of the system's sockets on both ways.
    expect(sent).toBeLessThan(64);
    const { status, json } = await replyOf(answer);
    expect([status, json['error']]).toEqual([
      503,
      'the backend failing sent nothing for 400 ms; whether the change took effect is not known',
    ]);
    stop.abort();
  });

  it('is taken back when its client goes away', async () => {
    const { hostname, port } = new URL(gateway.url);
    const client = connect(Number(port), hostname);
    client.write(
      `POST /v1/table/p$absorbs/insert HTTP/1.1\r\nhost: x\r\nx-api-key: ${ADMIN_KEY}\r\ncontent-type: application/vnd.apache.arrow.stream\r\ncontent-length: 1000000\r\n\r\nabc`,
    );
    await eventually(async () => expect(backend.count('absorbs')).toBe(1));
    client.destroy();
    await closed(backend.requests.at(-1)!.socket);
  });
});

describe('A client that goes away', () => {
  it.each(['silent-head', 'endless'])('ends the request to a backend that is %s', async (name) => {
    const stop = new AbortController();
    const before = backend.requests.length;
    const asked = open(gateway.url, `POST /v1/table/p$${name}/query`, {
      body: {},
      signal: stop.signal,
    }).catch(() => undefined);
    await eventually(async () => expect(backend.requests.length).toBeGreaterThan(before));
    if (name === 'endless') await asked;
    const { socket } = backend.requests.at(-1)!;
    stop.abort();
    await asked;
    await closed(socket);
  });

  it('takes what it wants slowly, without being cut off', async () => {
    const answer = await open(gateway.url, 'POST /v1/table/f$endless/query', { body: {} });
    answer.pause();
    await sleep(1_000);
    expect(answer.destroyed).toBe(false);
    const [piece] = (await once(answer.resume(), 'data')) as [Buffer];
    expect(piece.byteLength).toBeGreaterThan(0);
    answer.destroy();
  });
});

describe('A request', () => {
  it('is refused in time when all connections to its backend are in use', async () => {
    const stop = new AbortController();
    const first = open(gateway.url, 'POST /v1/table/n$silent-head/query', {
      body: {},
      signal: stop.signal,
    }).catch(() => undefined);
    await eventually(async () => expect(backend.count('/v1/table/n%24silent-head')).toBe(1));
    expect(await told('POST /v1/table/n$missing/query')).toEqual([
      503,
      17,
      'the backend narrow had no connection free for 200 ms',
    ]);
    stop.abort();
    await first;
  });

  it('is sent again only where it is a read and nothing came back on a connection in use before', async () => {
    expect(backend.count('/v1/table/f%24dies-before-headers/delete')).toBe(1);
    expect(backend.count('/v1/table/f%24dies-before-headers/query')).toBeLessThanOrEqual(2);
  });

  it('does not go round in a circle', async () => {
    const reply = await ask('POST /v1/table/l$t/exists');
    expect([reply.status, reply.json['code'], reply.json['error']]).toEqual([
      503,
      17,
      'the request loops between gateways',
    ]);
    const via = Array.from({ length: 8 }, (_, at) => `1.1 arrowgate-${at}`).join(', ');
    const far = await ask('POST /v1/table/p$missing/exists', { headers: { via } });
    expect(far.json['error']).toBe('the request loops between gateways');
  });

  it('is refused at once while its backend is given a rest, and tried again after', async () => {
    for (let failed = 0; failed < 3; failed++) {
      expect((await told('POST /v1/table/t$html/query'))[0]).toBe(503);
    }
    const before = backend.requests.length;
    const resting = await ask('POST /v1/table/t$missing/query');
    expect([resting.status, resting.json['error']]).toEqual([
      503,
      'the backend tripping failed and is tried again later',
    ]);
    expect(Number(resting.headers['retry-after'])).toBe(1);
    expect(backend.requests.length).toBe(before);
    await eventually(async () =>
      expect((await ask('POST /v1/table/t$missing/query')).status).toBe(404),
    );
  });
});

describe('A backend over TLS', () => {
  it('gets requests of both kinds over connections that are used again', async () => {
    for (let round = 0; round < 3; round++) {
      const read = await ask('POST /v1/table/s$t/describe');
      expect([read.status, read.json]).toEqual([200, { version: 2, transaction_id: 'k' }]);
      const rows = { body: pieces(), headers: ARROW_STREAM };
      const written = await ask('POST /v1/table/s$t/insert', rows);
      expect([written.status, written.json]).toEqual([200, { version: 4, transaction_id: 'k' }]);
    }
    expect(Math.max(...overTls.values())).toBeGreaterThan(1);
  });

  it('gets nothing where its certificate is for another name', async () => {
    const before = [...overTls.values()].reduce((sum, count) => sum + count, 0);
    expect(await told('POST /v1/table/m$t/describe')).toEqual([
      503,
      17,
      'the backend misnamed cannot be reached (ERR_TLS_CERT_ALTNAME_INVALID)',
    ]);
    expect(
      (await told('POST /v1/table/m$t/insert', { body: pieces(), headers: ARROW_STREAM }))[2],
    ).toBe('the backend misnamed cannot be reached (ERR_TLS_CERT_ALTNAME_INVALID)');
    expect([...overTls.values()].reduce((sum, count) => sum + count, 0)).toBe(before);
  });
});

/** A body that comes piece by piece. */
async function* pieces(): AsyncGenerator<Uint8Array> {
  yield Buffer.from('ab');
  await sleep(5);
  yield Buffer.from('cd');
}

describe('Readiness', () => {
  it('names the backends that are away, and stays ready', async () => {
    const reply = await send(gateway.url, 'GET /readyz');
    expect(reply.status).toBe(200);
    expect(reply.json['status']).toBe('degraded');
    expect(reply.json['parts']).toEqual(
      expect.arrayContaining([
        { part: 'failing', status: 'ok' },
        {
          part: 'down',
          status: 'degraded',
          why: 'the backend down cannot be reached (ECONNREFUSED)',
        },
      ]),
    );
  });
});

/** Resolves when a connection is over, in whatever way. */
async function closed(socket: Socket): Promise<void> {
  await eventually(async () => expect(socket.destroyed).toBe(true));
}
