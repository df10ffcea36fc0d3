import { once } from 'node:events';
import { Agent } from 'node:http';
import { connect, type ClientHttp2Session } from 'node:http2';
import { readFile } from 'node:fs/promises';
import { createConnection } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { makeCertificate } from '../support/certificates.ts';
import { eventually } from '../support/eventually.ts';
import { testFolders } from '../support/folder.ts';
import { ADMIN_KEY, Service } from '../support/service.ts';
import { ARROW_STREAM, open, replyOf, send, sendGranted } from './http.ts';
import { goodRows } from './table-bodies.ts';

/** No test waits for it: each ends what holds the drain up. */
const LONG = '600s';

let service: Service;
const freshFolder = testFolders();

afterEach(async () => {
  await service.end('SIGKILL');
  await service.stop();
});

async function start(config: string, ...flags: readonly string[]): Promise<void> {
  service = await Service.start({ config, flags });
}

/** Sends SIGTERM, and waits until it has taken effect. */
async function drain(url = service.url): Promise<void> {
  process.kill(service.pid, 'SIGTERM');
  await eventually(async () => {
    expect((await send(url, 'GET /readyz', { key: null })).status).toBe(503);
  });
}

/** The rest of an upload, which a test lets go. */
function heldUpload() {
  let goOn: () => void = () => undefined;
  const held = new Promise<void>((resolve) => {
    goOn = resolve;
  });
  async function* pieces() {
    yield goodRows.subarray(0, 64);
    await held;
    yield goodRows.subarray(64);
  }
  return { pieces: pieces(), goOn };
}

describe.each([1, 2])('SIGTERM with %i processes', (processes) => {
  it('makes /readyz answer 503 while requests are served, and their connections end', async () => {
    await start(`shutdown: { delay: ${LONG} }\n`, '--processes', String(processes));
    expect((await send(service.url, 'GET /readyz', { key: null })).status).toBe(200);
    const idle = createConnection(Number(new URL(service.url).port), '127.0.0.1');
    await once(idle, 'connect');
    await drain();
    for (const line of ['GET /v1/namespace/$/list', 'GET /healthz', 'GET /readyz']) {
      const agent = new Agent({ keepAlive: true });
      const { status, headers } = await send(service.url, line, { agent });
      expect([line, status, headers.connection]).toEqual([
        line,
        line.endsWith('readyz') ? 503 : 200,
        'close',
      ]);
      agent.destroy();
    }
    expect(idle.destroyed).toBe(false);
  });

  it('closes idle connections after the delay, and ends with 0', async () => {
    await start('shutdown: { delay: 1s }\n', '--processes', String(processes));
    const idle = createConnection(Number(new URL(service.url).port), '127.0.0.1');
    await once(idle, 'connect');
    process.kill(service.pid, 'SIGTERM');
    idle.resume();
    await once(idle, 'close');
    expect(await service.ended()).toBe(0);
  });

  it('lets a request in flight finish, and keeps its record', async () => {
    await start(`shutdown: { grace: ${LONG} }\n`, '--processes', String(processes));
    const { pieces, goOn } = heldUpload();
    const line = 'POST /v1/table/t/create';
    const answer = open(service.url, line, { body: pieces, headers: ARROW_STREAM }).then(replyOf);
    await eventually(async () => {
      const text = (await send(service.url, 'GET /metrics')).text;
      expect(text).toMatch(/^arrowgate_\w*in_flight\w*(\{[^}]*\})? [2-9]/m);
    });
    process.kill(service.pid, 'SIGTERM');
    await eventually(async () => {
      await expect(send(service.url, 'GET /healthz')).rejects.toMatchObject({
        code: 'ECONNREFUSED',
      });
    });
    goOn();
    expect((await answer).status).toBe(200);
    expect(await service.ended()).toBe(0);
    const records = await service.audit();
    expect(records).toContainEqual(
      expect.objectContaining({ operation: 'CreateTable', phase: 'outcome', status: 200 }),
    );
  });

  it('cuts what takes longer than the grace period, and ends with 0', async () => {
    await start('shutdown: { grace: 0s }\n', '--processes', String(processes));
    const { pieces } = heldUpload();
    const line = 'POST /v1/table/t/create';
    const failed = open(service.url, line, { body: pieces, headers: ARROW_STREAM }).then(
      () => 'answered',
      () => 'cut',
    );
    await eventually(async () => {
      const text = (await send(service.url, 'GET /metrics')).text;
      expect(text).toMatch(/^arrowgate_\w*in_flight\w*(\{[^}]*\})? [2-9]/m);
    });
    process.kill(service.pid, 'SIGTERM');
    expect(await failed).toBe('cut');
    expect(await service.ended()).toBe(0);
  });
});

describe('SIGTERM', () => {
  it('is told by the admin listener, too, which stays open as long', async () => {
    await start(`listen: { admin: { port: 0 } }\nshutdown: { delay: ${LONG} }\n`);
    const admin = String(service.said['admin']);
    await drain(admin);
    expect((await send(admin, 'GET /metrics', { key: null })).headers.connection).toBe('close');
    expect((await send(service.url, 'GET /v1/namespace/$/list')).status).toBe(200);
  });

  it('sends GOAWAY to clients of HTTP/2, old and new, whose streams are answered', async () => {
    const made = await makeCertificate(await freshFolder(), 'made', { commonName: 'made' });
    await start(
      `listen: { tls: { cert: ${made.cert}, key: ${made.key} } }\nshutdown: { delay: ${LONG} }\n`,
    );
    const ca = await readFile(made.cert);
    const old = await sessionTo(ca);
    expect(await list(old)).toBe(200);
    const farewell = once(old, 'goaway');
    process.kill(service.pid, 'SIGTERM');
    expect((await farewell)[0]).toBe(0);
    const late = await sessionTo(ca);
    const second = once(late, 'goaway');
    expect(await list(late)).toBe(200);
    expect((await second)[0]).toBe(0);
    for (const session of [old, late]) session.destroy();
  });

  it('refuses a delay that is no duration', async () => {
    await start('');
    const config = 'shutdown: { delay: soon }\n';
    await expect(Service.start({ config })).rejects.toThrow(
      'arrowgate.yaml:1: shutdown.delay is "soon", but must be a duration of at most 24d, such as 30s',
    );
  });

  it('ends at once where nothing is in flight', async () => {
    await start(`shutdown: { grace: ${LONG} }\n`);
    await sendGranted(service.url, 'GET /v1/namespace/$/list');
    expect(await service.end()).toBe(0);
  });
});

async function sessionTo(ca: Buffer): Promise<ClientHttp2Session> {
  const session = connect(service.url, { ca });
  session.on('error', () => undefined);
  await once(session, 'connect');
  return session;
}

async function list(session: ClientHttp2Session): Promise<unknown> {
  const stream = session.request({ ':path': '/v1/namespace/$/list', 'x-api-key': ADMIN_KEY });
  const [headers] = await once(stream, 'response');
  stream.resume();
  await once(stream, 'close');
  return headers[':status'];
}
