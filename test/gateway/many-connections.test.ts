import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { connect, type ClientHttp2Session } from 'node:http2';
import { connect as connectPlain } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { Certificate } from '../../src/gateway/http/certificate.ts';
import { makeCertificate } from '../support/certificates.ts';
import { eventually } from '../support/eventually.ts';
import { admin, start, type Harness } from './harness.ts';

/* More clients than a listener takes connections. */

const CONNECTIONS = 2;
const DESCRIBE = '/v1/table/prod$t/describe';

let harness: Harness;
const ending: (() => Promise<void> | void)[] = [];

afterEach(async () => {
  for (const end of ending.splice(0)) await end();
  await harness.close();
});

/** Each client keeps its connection, without a further request. */
async function eachIsAnswered(answer: () => Promise<void>): Promise<void> {
  for (let at = 0; at < 3 * CONNECTIONS; at++) await eventually(answer);
}

it('a new client of HTTP/1 gets the place of an idle one', async () => {
  harness = await start({ connections: CONNECTIONS });
  await eachIsAnswered(async () => {
    const socket = connectPlain(Number(harness.url.port), '127.0.0.1');
    ending.push(() => void socket.destroy());
    socket.write('GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n');
    const [bytes] = (await Promise.race([once(socket, 'data'), once(socket, 'end')])) as [unknown];
    expect(String(bytes)).toMatch(/^HTTP.1.1 200 /);
  });
});

it('a new client of HTTP/2 gets the place of an idle one', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'arrowgate-connections-'));
  const made = await makeCertificate(folder, 'own', { commonName: 'own' });
  const certificate = new Certificate({ ...made, clientCa: null }, 1000);
  const ca = await readFile(made.cert);
  ending.push(async () => {
    certificate.close();
    await rm(folder, { recursive: true });
  });
  harness = await start({ connections: CONNECTIONS, certificate });
  await eachIsAnswered(async () => {
    const session = connect(harness.url, { ca });
    session.on('error', () => undefined);
    ending.unshift(() => session.destroy());
    expect(await statusOn(session)).toBe(200);
  });
});

async function statusOn(session: ClientHttp2Session): Promise<unknown> {
  const sent = session.request({ ':method': 'POST', ':path': DESCRIBE, ...admin });
  sent.resume();
  sent.end();
  const [headers] = (await once(sent, 'response')) as [Record<string, unknown>];
  await once(sent, 'close');
  return headers[':status'];
}
