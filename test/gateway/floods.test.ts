import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { connect } from 'node:http2';
import { tmpdir } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { join } from 'node:path';
import { connect as connectTls, type TLSSocket } from 'node:tls';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Certificate } from '../../src/gateway/http/certificate.ts';
import { makeCertificate, type MadeCertificate } from '../support/certificates.ts';
import { Http2Frames, type FrameSource, floods } from '../support/http2-frames.ts';
import { admin, start, type Harness } from './harness.ts';

let folder: string;
let made: MadeCertificate;
let certificate: Certificate;
let harness: Harness;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'arrowgate-floods-'));
  made = await makeCertificate(folder, 'own', { commonName: 'own' });
  certificate = new Certificate({ ...made, clientCa: null }, 1000);
  harness = await start({
    certificate,
    handle: async ({ body }) => {
      let bytes = 0;
      for await (const chunk of body) bytes += chunk.byteLength;
      return { status: 200, contentType: 'application/json', body: String(bytes) };
    },
  });
});

afterAll(async () => {
  await harness.close();
  certificate.close();
  await rm(folder, { recursive: true });
});

async function socketTo(): Promise<TLSSocket> {
  const socket = connectTls({
    port: Number(harness.url.port),
    host: '127.0.0.1',
    ca: await readFile(made.cert),
    ALPNProtocols: ['h2'],
  });
  await once(socket, 'secureConnect');
  return socket;
}

/** Sends frames until the connection ends. */
async function flood(next: FrameSource): Promise<Http2Frames> {
  const frames = new Http2Frames(await socketTo());
  await frames.sendUntilEnd(next);
  return frames;
}

describe('a connection of HTTP/2 is ended by a flood of', () => {
  it.each(['PRIORITY', 'WINDOW_UPDATE', 'SETTINGS'] as const)(
    '%s frames, with ENHANCE_YOUR_CALM',
    async (kind) => {
      const { goaway } = await flood(floods[kind]);
      expect(goaway).toBe(0x0b);
    },
  );

  it.each(['PING', 'empty DATA', 'CONTINUATION', 'RST_STREAM'] as const)(
    '%s frames',
    async (kind) => {
      const { ended } = await flood(floods[kind]);
      expect(ended).toBe(true);
    },
  );

  it('any kind, and the next look at all connections finds nothing amiss', async () => {
    await flood(floods.RST_STREAM);
    await sleep(600);
    const session = connect(harness.url, { ca: await readFile(made.cert) });
    await once(session, 'connect');
    session.close();
  });
});

it('a client that uploads, downloads and cancels is no flood', async () => {
  const session = connect(harness.url, { ca: await readFile(made.cert) });
  const piece = Buffer.alloc(1000);
  const path = '/v1/table/prod$t/insert';
  const sent = session.request({ ':method': 'POST', ':path': path, ...admin });
  const chunks: Buffer[] = [];
  sent.on('data', (chunk: Buffer) => chunks.push(chunk));
  for (let count = 0; count < 20_000; count++) {
    if (!sent.write(piece)) await once(sent, 'drain');
  }
  for (let count = 0; count < 100; count++) {
    const cancelled = session.request({ ':method': 'POST', ':path': path, ...admin });
    cancelled.on('error', () => undefined);
    cancelled.write('x');
    setImmediate(() => cancelled.close(8));
  }
  sent.end();
  await once(sent, 'close');
  expect(Buffer.concat(chunks).toString()).toBe('20000000');
  expect(session.destroyed).toBe(false);
  session.close();
});
