import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { connect, createSecureServer } from 'node:http2';
import { createServer, request, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  clientCertificate,
  type ClientSubject,
} from '../../src/gateway/identity/client-certificate.ts';
import { FailureLimit } from '../../src/gateway/identity/failure-limit.ts';
import { Identification } from '../../src/gateway/identity/identification.ts';
import { updateKeys } from '../../src/gateway/identity/key-file.ts';
import { KeyRing } from '../../src/gateway/identity/key-ring.ts';
import { makeKey } from '../../src/gateway/identity/keys.ts';
import { Tokens } from '../../src/gateway/identity/tokens.ts';
import { makeCertificate, type MadeCertificate } from '../support/certificates.ts';

const now = new Date();
const job = makeKey({ subject: 'user:job', roles: [], expires: null }, now);
const bob = makeKey({ subject: 'user:bob', roles: [], expires: null }, now);

let folder: string;
let authority: MadeCertificate;
let known: MadeCertificate;
let stranger: MadeCertificate;
let keys: KeyRing;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'arrowgate-tls-'));
  authority = await makeCertificate(folder, 'authority', { commonName: 'authority' });
  const names = 'DNS:job.example,URI:spiffe://example.com/job';
  known = await makeCertificate(folder, 'known', { commonName: 'job', names, authority });
  stranger = await makeCertificate(folder, 'stranger', { commonName: 'job', names });
  const path = join(folder, 'keys.json');
  await updateKeys(path, () => [job.stored, bob.stored]);
  keys = new KeyRing(path, undefined, () => undefined);
});

afterAll(() => rm(folder, { recursive: true }));

/** A server that names the caller, or says why there is none. */
async function serve(clientSubject: ClientSubject | undefined): Promise<Server> {
  const tokens = new Tokens([], { log: pino({ level: 'silent' }) });
  const failures = new FailureLimit(null);
  const subject = clientSubject === undefined ? {} : { clientSubject };
  const identification = new Identification({ keys, tokens, failures, ...subject });
  const server = createServer({
    ...(await files(authority)),
    ca: await readFile(authority.cert),
    requestCert: true,
    rejectUnauthorized: false,
  });
  server.on('request', (incoming, response) => {
    Promise.resolve()
      .then(() => identification.principalOf({ incoming, sourceIp: '' }))
      .then(
        (principal) => response.end(JSON.stringify(principal)),
        (error: Error) => response.end(error.message),
      );
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return server;
}

async function files(
  made: MadeCertificate,
): Promise<{ readonly cert: Buffer; readonly key: Buffer }> {
  return { cert: await readFile(made.cert), key: await readFile(made.key) };
}

async function answer(
  clientSubject: ClientSubject | undefined,
  client: MadeCertificate | undefined,
  headers: Readonly<Record<string, string>> = {},
): Promise<string> {
  const server = await serve(clientSubject);
  const { port } = server.address() as AddressInfo;
  const own = client === undefined ? {} : await files(client);
  const outgoing = request({ port, host: '127.0.0.1', rejectUnauthorized: false, headers, ...own });
  outgoing.end();
  const [incoming] = await once(outgoing, 'response');
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk);
  server.closeAllConnections();
  server.close();
  return Buffer.concat(chunks).toString();
}

const nothing = 'a key is needed, in the header x-api-key or as "Authorization: Bearer"';
const two = 'the request carries credentials of two principals';

describe('a client certificate', () => {
  it('of a trusted authority names its owner', async () => {
    expect(JSON.parse(await answer('cn', known))).toEqual({
      subject: 'user:job',
      groups: [],
      roles: [],
      credential: { kind: 'certificate', subject: 'job' },
    });
    expect(JSON.parse(await answer('san_uri', known))).toMatchObject({
      subject: 'user:spiffe%3A%2F%2Fexample.com%2Fjob',
    });
  });

  it('names its owner over HTTP/2 too', async () => {
    const server = createSecureServer({
      ...(await files(authority)),
      ca: await readFile(authority.cert),
      requestCert: true,
      rejectUnauthorized: false,
    });
    server.on('request', (incoming, response) => {
      response.end(String(clientCertificate(incoming.socket)?.subject.CN ?? 'nobody'));
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const told = [];
    for (const client of [known, stranger]) {
      const session = connect(`https://127.0.0.1:${port}`, {
        rejectUnauthorized: false,
        ...(await files(client)),
      });
      const chunks: Buffer[] = [];
      for await (const chunk of session.request()) chunks.push(chunk);
      told.push(Buffer.concat(chunks).toString());
      session.close();
    }
    expect(told).toEqual(['job', 'nobody']);
    server.close();
  });

  it('names nobody when it is of another authority, missing, or not asked for', async () => {
    expect(await answer('cn', stranger)).toBe(nothing);
    expect(await answer('cn', undefined)).toBe(nothing);
    expect(await answer(undefined, known)).toBe(nothing);
  });

  it('beside a key has to be of the same principal', async () => {
    expect(JSON.parse(await answer('cn', known, { 'x-api-key': job.text }))).toMatchObject({
      subject: 'user:job',
    });
    expect(await answer('cn', known, { 'x-api-key': bob.text })).toBe(two);
    expect(await answer('san_uri', known, { 'x-api-key': job.text })).toBe(two);
    expect(await answer('cn', stranger, { 'x-api-key': bob.text })).toContain('user:bob');
  });
});
