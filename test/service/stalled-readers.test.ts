import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { connect as connectHttp2, type ClientHttp2Session } from 'node:http2';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, it } from 'vitest';
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

let service: Service;
afterEach(() => service.stop());

/** Creates a table of batches of this size, larger than the cache. */
async function load(url: string, batches: number, mib: number): Promise<void> {
  const body = wideStream({ batches, rowsPerBatch: Math.ceil((mib * MIB) / WIDE_ROW_BYTES) });
  await sendGranted(url, 'POST /v1/table/wide/create', { body });
}

/** Reads an answer with two pauses: before its first byte and in the middle. */
async function readWithPauses(body: object): Promise<Buffer> {
  const answer = await open(service.url, 'POST /v1/table/wide/query', { body });
  expect(answer.statusCode).toBe(200);
  await sleep(STALL_MILLIS);
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of answer as AsyncIterable<Buffer>) {
    if (bytes < 10 * MIB && bytes + chunk.byteLength >= 10 * MIB) await sleep(STALL_MILLIS);
    bytes += chunk.byteLength;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

async function memoryOf(key: 'VmRSS' | 'VmHWM'): Promise<number> {
  const status = await readFile(`/proc/${service.pid}/status`, 'utf8');
  return Number(new RegExp(`^${key}:\\s+(\\d+) kB$`, 'm').exec(status)?.[1]) / 1024;
}

function keysFor(readers: number): Promise<readonly string[]> {
  const subjects = Math.ceil(readers / OF_SUBJECT);
  return Promise.all(
    Array.from({ length: subjects }, (_, at) => service.key(`reader-${at}`, 'reader')),
  );
}

/** Number of answers that were cut since the service was started. */
async function answersCut(): Promise<number> {
  const outcomes = (await service.audit()).filter(({ phase }) => phase === 'outcome');
  return outcomes.filter(({ status }) => status === 499).length;
}

describe('an answer whose reader stalls', () => {
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
      const paused = await readWithPauses(body);
      expect(paused.equals(whole.bytes), JSON.stringify(body)).toBe(true);
    };
    for (const query of queries) await compare(query);
    await sendGranted(service.url, 'POST /v1/table/wide/delete', {
      body: { predicate: 'id % 100 = 7' },
    });
    await compare(ALL);
  });

  it(`is cut after limits.request_timeout; ${READERS} of them stay below the cache and ${MOST_MIB} MiB`, async () => {
    service = await Service.start({
      config: `cache: { bytes: ${CACHE_MIB}MiB }\nlimits: { request_timeout: ${casesOf(8, 60)}s }\n`,
    });
    await load(service.url, 6, 16);
    const keys = await keysFor(READERS);
    const known = await eventually(async () => {
      const last = keys.at(-1) ?? null;
      const reply = await send(service.url, 'POST /v1/table/wide/describe', { key: last });
      expect(reply.status).toBe(200);
      return keys;
    });
    const sockets = known.flatMap((key) =>
      Array.from({ length: OF_SUBJECT }, () => stalledSocket(service.url, key)),
    );
    const most = sockets.slice(0, READERS);
    try {
      await eventually(async () => expect(await answersCut()).toBe(most.length));
      expect(await memoryOf('VmHWM')).toBeLessThan(CACHE_MIB + MOST_MIB);
    } finally {
      for (const socket of sockets) socket.destroy();
    }
    const again = await send(service.url, 'POST /v1/table/wide/query', { body: ALL });
    expect(again.bytes.byteLength).toBeGreaterThan(6 * 16 * MIB);
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

/** A connection that asks for all rows and reads nothing. */
function stalledSocket(url: string, key: string): Socket {
  const { hostname, port } = new URL(url);
  const body = JSON.stringify(ALL);
  const lines = [
    'POST /v1/table/wide/query HTTP/1.1',
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
