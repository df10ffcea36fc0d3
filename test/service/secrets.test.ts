import { once } from 'node:events';
import { readdir, readFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { goodClaims, signingKey, tokenOf } from '../support/identity-provider.ts';
import { ADMIN_KEY, Service } from '../support/service.ts';
import { ARROW_STREAM, send, type Reply, type Sent } from './http.ts';
import { goodRows } from './table-bodies.ts';

/**
 * Whatever proves who somebody is, or signs, is in no audit record, log line, answer or command's
 * output: neither where it is used nor where it is refused, nor when others send it back.
 */

const SIGNING = 'the-key-that-signs-for-the-judge';
const CREDENTIAL = 'the-credential-for-the-backend';
const BEARER = 'the-bearer-for-another-backend';
/** What is sent, and what others answer with. */
const secrets = [ADMIN_KEY, SIGNING, CREDENTIAL, BEARER];

let service: Service;
let judge: Server;
let backend: Server;
const said: string[] = [];
/** What the judge and the backend were told, headers and body. */
const told = { judge: [] as string[], backend: [] as string[] };

/** Answers with everything that it knows. */
async function gossip(into: string[], status: number): Promise<Server> {
  const server = createServer((incoming, response) => {
    void textOf(incoming).then((body) => {
      into.push(`${JSON.stringify(incoming.headers)} ${body}`);
      response.writeHead(status, {
        'content-type': 'application/json',
        'set-cookie': `key=${secrets.join('.')}`,
        'www-authenticate': `Bearer ${secrets.join('.')}`,
      });
      response.end(JSON.stringify({ allow: false, error: secrets.join(' '), code: 16 }));
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return server;
}

async function textOf(incoming: IncomingMessage): Promise<string> {
  const pieces: Buffer[] = [];
  for await (const piece of incoming) pieces.push(piece as Buffer);
  return Buffer.concat(pieces).toString('latin1');
}

const portOf = (server: Server) => (server.address() as AddressInfo).port;

beforeAll(async () => {
  judge = await gossip(told.judge, 200);
  backend = await gossip(told.backend, 401);
  const [outside, far] = [judge, backend].map((one) => `http://127.0.0.1:${portOf(one)}/`);
  const http = `type: http, url: "${far}"`;
  service = await Service.start({
    policy: 'p, role:admin, /**, *, allow\np, user:bob, /far/**, read, allow\n',
    commits: `rules:\n  - { name: outside, tables: [/judged], webhook: { url: "${outside}", secret_env: JUDGE_SECRET } }\n`,
    variables: { JUDGE_SECRET: SIGNING, FAR_KEY: CREDENTIAL, BEARER: `Bearer ${BEARER}` },
    config: `backends:
  - { name: far, ${http}, namespaces: ["/far/**"], credential_env: FAR_KEY }
  - { name: further, ${http}, namespaces: ["/further/**"], credential_env: BEARER }
  - { name: engine, type: embedded, namespaces: ["/**"] }
`,
  });
});

afterAll(async () => {
  await service.stop();
  for (const server of [judge, backend]) {
    server.closeAllConnections();
    server.close();
  }
});

async function ask(line: string, sent: Sent = {}): Promise<Reply> {
  const reply = await send(service.url, line, { body: {}, ...sent });
  said.push(JSON.stringify(reply.headers), reply.bytes.toString('latin1'));
  return reply;
}

async function command(...args: readonly string[]): Promise<string> {
  const { out, err } = await service.command(...args);
  said.push(out, err);
  return out;
}

/** What stands behind the id of a key, underscores of its own included. */
const secretOf = (key: string) => key.split('_').slice(2).join('_');

describe('secrets', () => {
  it('are used where they belong', async () => {
    const judged = await ask('POST /v1/table/judged/create', {
      body: goodRows,
      headers: ARROW_STREAM,
    });
    expect([judged.status, judged.json['code']]).toEqual([400, 20]);
    expect(told.judge.join()).toMatch(/"x-arrowgate-signature":"sha256=[0-9a-f]{64}"/);
    for (const name of ['far', 'further']) {
      expect((await ask(`POST /v1/table/${name}$t/describe`)).status).toBe(503);
    }
    expect(told.backend.join()).toContain(CREDENTIAL);
    expect(told.backend.join()).toContain(`Bearer ${BEARER}`);
  });

  it('are refused where they are wrong, wherever they stand', async () => {
    const key = await service.keyByCommand('bob');
    const token = await tokenOf(await signingKey('one'), goodClaims());
    const wrong = `${key.slice(0, -6)}AAAAAA`;
    const basic = Buffer.from('bob:a-password-of-bob').toString('base64');
    secrets.push(secretOf(key), secretOf(wrong), token.split('.')[2]!, basic);
    secrets.push('a-value-of-the-context', 'a-cookie', 'a-proxy-password', 'a-parameter');
    const describe = 'POST /v1/table/far$t/describe';
    await ask(describe, { key });
    await ask(describe, { key: wrong });
    for (const authorization of [`Bearer ${token}`, `Basic ${basic}`, `Bearer ${key}x`]) {
      expect((await ask(describe, { key: null, headers: { authorization } })).status).toBe(401);
    }
    await ask('POST /v1/table/judged/describe', {
      headers: {
        cookie: 'session=a-cookie',
        'proxy-authorization': 'Basic a-proxy-password',
        'x-service-ctx-password': 'a-value-of-the-context',
        'x-service-ctx-api-key': 'a-value-of-the-context',
      },
    });
    await ask('POST /v1/table/judged/describe?api_key=a-parameter&token=a-parameter');
    expect(secrets).toHaveLength(12);
  });

  it('are in no output of a command, log line, answer or file of the log', async () => {
    expect(await command('config', 'check', '--json')).toContain('"FAR_KEY"');
    await command('keys', 'list');
    expect(await command('audit', 'search', '--json')).toContain('commits.yaml:2');
    await command('audit', 'verify');
    await command('policy', 'unused', '--data', service.data);
    await ask('GET /metrics');
    await ask('GET /readyz');
    await service.end();
    const audit = join(service.data, 'private', 'audit');
    const names = (await readdir(audit, { recursive: true })).filter((name) => /\.\w+$/.test(name));
    const files = await Promise.all(names.map((name) => readFile(join(audit, name), 'latin1')));
    expect(files.join()).toContain('"object":"/judged"');
    const all = [...files, ...said, ...told.judge, service.errors].join('\n');
    const known = secrets.filter((secret) => all.includes(secret));
    expect(known).toEqual([]);
    for (const secret of secrets.filter((each) => ![CREDENTIAL, BEARER].includes(each))) {
      expect(told.backend.join()).not.toContain(secret);
    }
  });
});
