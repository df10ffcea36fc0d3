import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { connect as connectHttp2, type ClientHttp2Session } from 'node:http2';
import { Agent, createServer } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { casesOf } from '../support/cases.ts';
import { makeCertificate } from '../support/certificates.ts';
import { eventually } from '../support/eventually.ts';
import { Service } from '../support/service.ts';
import { open, send, sendGranted, type Reply } from './http.ts';
import { WIDE_ROW_BYTES, wideStream } from './wide-rows.ts';

const MIB = 2 ** 20;
const CACHE_MIB = 16;
/** What the process may hold besides its cache, in MiB. */
const MOST_MIB = 512;
/** Readers that stall, and how many of them belong to each subject: no more than `limits.scans`. */
const READERS = casesOf(208, 2000);
const OF_SUBJECT = 16;
/** Above the time after which a stalled answer of a thread releases its memory, in ms. */
const STALL_MILLIS = 6_000;

const ALL = { k: 1e9, vector: [] };
const SOME_READERS = casesOf(64, 2000);
/** Some readers were cut: more than have memory at the same time. */
const FIRST_CUT = 20;
/** Requests whose records make an audit log of several MiB. */
const RECORDED = 10_000;

let service: Service;

/** Creates a table of batches of this size, larger than the cache. */
async function load(url: string, batches: number, mib: number): Promise<void> {
  const body = wideStream({ batches, rowsPerBatch: Math.ceil((mib * MIB) / WIDE_ROW_BYTES) });
  await sendGranted(url, 'POST /v1/table/wide/create', { body });
}

/** Hash of an answer that is read with two pauses: before its first byte and in the middle. */
async function readWithPauses(body: object): Promise<string> {
  const answer = await open(service.url, 'POST /v1/table/wide/query', { body });
  expect(answer.statusCode).toBe(200);
  await sleep(STALL_MILLIS);
  const hash = createHash('sha256');
  let bytes = 0;
  for await (const chunk of answer as AsyncIterable<Buffer>) {
    if (bytes < 10 * MIB && bytes + chunk.byteLength >= 10 * MIB) await sleep(STALL_MILLIS);
    bytes += chunk.byteLength;
    hash.update(chunk);
  }
  return hash.digest('hex');
}

async function memoryOf(key: 'VmRSS' | 'VmHWM'): Promise<number> {
  const status = await readFile(`/proc/${service.pid}/status`, 'utf8');
  return Number(new RegExp(`^${key}:\\s+(\\d+) kB$`, 'm').exec(status)?.[1]) / 1024;
}

async function keysFor(readers: number, role = 'reader'): Promise<readonly string[]> {
  const keys: string[] = [];
  // One after the other: each waits for the lock of the file of keys.
  for (let at = 0; at < Math.ceil(readers / OF_SUBJECT); at++)
    keys.push(await service.key(`reader-${at}`, role));
  return keys;
}

/** Keys that the service knows already. */
async function knownKeys(readers: number, role: string): Promise<readonly string[]> {
  const keys = await keysFor(readers, role);
  return eventually(async () => {
    const key = keys.at(-1) ?? null;
    expect((await send(service.url, 'POST /v1/namespace/$/list', { key })).status).not.toBe(401);
    return keys;
  });
}

/** Makes more records than fit into the buffers of a connection. */
async function fillAuditLog(): Promise<void> {
  const agent = new Agent({ keepAlive: true, maxSockets: 16 });
  const describe = () => send(service.url, 'POST /v1/table/wide/describe', { agent });
  await Promise.all(Array.from({ length: RECORDED }, describe));
  agent.destroy();
}

/** Number of answers that were cut since the service was started. */
async function answersCut(): Promise<number> {
  const outcomes = (await service.audit()).filter(({ phase }) => phase === 'outcome');
  return outcomes.filter(({ status }) => status === 499).length;
}

describe('answers of a table whose readers stall', () => {
  beforeAll(async () => {
    service = await Service.start({
      config: `cache: { bytes: ${CACHE_MIB}MiB }\nlimits: { request_timeout: ${casesOf(6, 60)}s }\n`,
    });
    await load(service.url, 6, 16);
  });
  // A process of its own for each kind: the peak of its memory is measured.
  beforeEach(async () => {
    await service.end();
    await service.restart();
  });
  afterAll(() => service.stop());

  it(`are cut after limits.request_timeout; ${READERS} of them stay below the cache and ${MOST_MIB} MiB`, async () => {
    const keys = await knownKeys(READERS, 'reader');
    const sockets = stalledSockets(keys);
    try {
      await eventually(async () => expect(await answersCut()).toBe(sockets.length));
      expect(await memoryOf('VmHWM')).toBeLessThan(CACHE_MIB + MOST_MIB);
    } finally {
      for (const socket of sockets) socket.destroy();
    }
    const again = await send(service.url, 'POST /v1/table/wide/query', { body: ALL });
    expect(again.bytes.byteLength).toBeGreaterThan(6 * 16 * MIB);
  });

  it.each<[string, object, string]>([
    ['of a filter', { ...ALL, filter: 'id % 3 > 0', prefilter: true }, 'wide'],
    ['of computed columns', { ...ALL, columns: { id: 'id + 1', vector: 'vector' } }, 'wide'],
    ['of a sort', { ...ALL, order_by: [{ column_name: 'value', ascending: false }] }, 'wide'],
    ['of the audit log', ALL, 'system$audit'],
  ])(`%s keep ${SOME_READERS} readers below the same memory`, async (_, query, table) => {
    const keys = await knownKeys(SOME_READERS, table === 'wide' ? 'reader' : 'admin');
    if (table !== 'wide') await fillAuditLog();
    const before = await answersCut();
    const sockets = stalledSockets(keys, table, query);
    try {
      // The others still wait for memory, for as long as these had it.
      await eventually(async () => expect(await answersCut()).toBeGreaterThan(before + FIRST_CUT));
      expect(await memoryOf('VmHWM')).toBeLessThan(CACHE_MIB + MOST_MIB);
    } finally {
      for (const socket of sockets) socket.destroy();
    }
  });
});

describe('an answer whose reader stalls', () => {
  afterEach(() => service.stop());

  it('has the same bytes as one that is read at once', async () => {
    service = await Service.start({ config: `cache: { bytes: ${CACHE_MIB}MiB }\n` });
    await load(service.url, 4, 12);
    const queries: readonly object[] = [
      ALL,
      { ...ALL, k: 80_000, offset: 5_000, columns: ['name', 'id', 'vector'] },
      { ...ALL, filter: 'id % 3 > 0', prefilter: true },
      { ...ALL, order_by: [{ column_name: 'value', ascending: false }] },
      { ...ALL, columns: { id: 'id + 1', name: "concat(name, '.')", vector: 'vector' } },
    ];
    const compare = async (body: object) => {
      const whole: Reply = await sendGranted(service.url, 'POST /v1/table/wide/query', { body });
      expect(whole.bytes.byteLength).toBeGreaterThan(16 * MIB);
      const hash = createHash('sha256').update(whole.bytes).digest('hex');
      expect(await readWithPauses(body), JSON.stringify(body)).toBe(hash);
    };
    await Promise.all(queries.map(compare));
    await sendGranted(service.url, 'POST /v1/table/wide/delete', {
      body: { predicate: 'id % 100 = 7' },
    });
    await compare(ALL);
  });

  it('leaves the rows of a remote backend there', async () => {
    let bytes = 0;
    const piece = Buffer.alloc(MIB);
    const backend = createServer((request, response) => {
      request.resume();
      response.writeHead(200, { 'content-type': 'application/vnd.apache.arrow.file' });
      const more = (): void => {
        do bytes += piece.byteLength;
        while (response.write(piece));
      };
      response.on('drain', more);
      more();
    });
    backend.listen(0);
    await once(backend, 'listening');
    const { port } = backend.address() as AddressInfo;
    const far = `{ name: far, type: http, url: "http://127.0.0.1:${port}", namespaces: ["/far/**"], connections: 4096 }`;
    service = await Service.start({
      config: `cache: { bytes: ${CACHE_MIB}MiB }\nbackends: [${far}, { name: engine, type: embedded, namespaces: ["/**"] }]\n`,
    });
    const keys = await knownKeys(SOME_READERS, 'reader');
    const sockets = stalledSockets(keys, 'far$wide');
    try {
      await eventually(async () => {
        const before = bytes;
        expect(before).toBeGreaterThan(sockets.length * MIB);
        await sleep(1000);
        expect(bytes).toBe(before);
      });
      expect(await memoryOf('VmHWM')).toBeLessThan(CACHE_MIB + MOST_MIB);
    } finally {
      for (const socket of sockets) socket.destroy();
      backend.closeAllConnections();
      backend.close();
    }
  });

  it('is cut over HTTP/2, within the same memory', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'arrowgate-tls-'));
    const { cert, key } = await makeCertificate(folder, 'server', { commonName: 'localhost' });
    const config = `cache: { bytes: ${CACHE_MIB}MiB }\nlimits: { request_timeout: 8s }\n`;
    service = await Service.start({ config });
    await load(service.url, 6, 16);
    await service.end();
    await service.configure(`${config}listen: { tls: { cert: ${cert}, key: ${key} } }\n`);
    await service.restart();
    const ca = await readFile(cert, 'utf8');
    const keys = await keysFor(96);
    const sessions: ClientHttp2Session[] = [];
    try {
      for (const each of keys) sessions.push(await stalledSession(service.url, each, ca));
      await eventually(async () => expect(await answersCut()).toBe(keys.length * OF_SUBJECT));
      expect(await memoryOf('VmHWM')).toBeLessThan(CACHE_MIB + MOST_MIB);
    } finally {
      for (const session of sessions) session.destroy();
      await rm(folder, { recursive: true });
    }
  });
});

/** Connections that query a table and read nothing, some for each key. */
function stalledSockets(keys: readonly string[], table = 'wide', query: object = ALL): Socket[] {
  return keys.flatMap((key) =>
    Array.from({ length: OF_SUBJECT }, () => stalledSocket(service.url, key, table, query)),
  );
}

function stalledSocket(url: string, key: string, table: string, query: object): Socket {
  const { hostname, port } = new URL(url);
  const body = JSON.stringify(query);
  const lines = [
    `POST /v1/table/${table}/query HTTP/1.1`,
    `host: ${hostname}`,
    `x-api-key: ${key}`,
    `content-length: ${body.length}`,
  ];
  const socket = connect(Number(port), hostname);
  socket.on('error', () => undefined);
  socket.pause();
  socket.write(`${lines.join('\r\n')}\r\n\r\n${body}`);
  return socket;
}

/** A connection of HTTP/2 with queries of which nothing is read. */
async function stalledSession(url: string, key: string, ca: string): Promise<ClientHttp2Session> {
  const session = connectHttp2(url, { ca });
  session.on('error', () => undefined);
  await once(session, 'connect');
  for (let at = 0; at < OF_SUBJECT; at++) {
    const path = { ':method': 'POST', ':path': '/v1/table/wide/query' };
    const stream = session.request({ ...path, 'x-api-key': key });
    stream.on('error', () => undefined);
    stream.end(JSON.stringify(ALL));
  }
  return session;
}
