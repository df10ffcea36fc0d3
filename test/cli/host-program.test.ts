import { once } from 'node:events';
import { cp, mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createGateway, type EmbeddedGateway } from '../../src/cli/create-gateway.ts';
import type { AccessDecision } from '../../src/gateway/forward-auth.ts';
import { searchRequests } from '../../src/audit/search/search.ts';
import { eventually } from '../support/eventually.ts';
import { goodRows } from '../service/table-bodies.ts';

const KEY = 'an-administrator-key-for-tests';
const shipped = new URL('../../policies', import.meta.url).pathname;

let folder: string;
let gateway: EmbeddedGateway;
let url: string;
const server = createServer((request, response) => {
  const [method, path] = String(request.headers['x-question'] ?? '').split(' ');
  if (method === undefined || path === undefined) return gateway.listener(request, response);
  gateway.authorize(request, { method, path }).then(
    (decision) => response.end(JSON.stringify(decision)),
    (error: unknown) => response.writeHead(500).end(String(error)),
  );
});
const logged: string[] = [];

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'arrowgate-host-'));
  await cp(shipped, join(folder, 'policies'), { recursive: true });
  gateway = await createGateway({
    config: { data: join(folder, 'data'), policies: join(folder, 'policies'), workers: 0 },
    adminKey: KEY,
    log: pino({ level: 'error' }, { write: (line) => void logged.push(line) }),
    identify: async ({ headers }) => {
      const given = headers['x-host-identity'];
      if (given === 'broken') throw new Error('the directory is unavailable');
      return typeof given === 'string' ? JSON.parse(given) : undefined;
    },
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const body = Buffer.from(goodRows);
  const made = await fetch(`${url}/v1/table/t/create`, {
    method: 'POST',
    headers: { 'x-api-key': KEY },
    body,
  });
  expect(made.status).toBe(200);
});

afterAll(async () => {
  server.closeAllConnections();
  server.close();
  await gateway.close();
  await rm(folder, { recursive: true });
});

/** The headers of a caller whom the program has authenticated. */
function as(identity: object | string): Record<string, string> {
  const text = typeof identity === 'string' ? identity : JSON.stringify(identity);
  return { 'x-host-identity': text };
}

async function count(headers: Record<string, string>) {
  const line = `${url}/v1/table/t/count_rows`;
  const reply = await fetch(line, { method: 'POST', headers, body: '{}' });
  return { status: reply.status, text: await reply.text(), headers: reply.headers };
}

/** The record of a request, once it is in the log. */
function recordOf(decisionId: string) {
  return eventually(() => foundRecord(decisionId));
}

async function foundRecord(decisionId: string) {
  for await (const found of searchRequests(join(folder, 'data/private/audit'), {})) {
    const [first] = found.filter(({ record }) => record.decision_id === decisionId);
    if (first !== undefined) return first.record;
  }
  throw new Error(`no record of ${decisionId}`);
}

async function ask(question: string, headers: Record<string, string>): Promise<AccessDecision> {
  const reply = await fetch(url, { headers: { ...headers, 'x-question': question } });
  return (await reply.json()) as AccessDecision;
}

describe('a caller whom the surrounding program has authenticated', () => {
  it('is decided by the policy, and recorded', async () => {
    const allowed = await count(as({ subject: 'ann', roles: ['reader'], groups: ['data'] }));
    expect([allowed.status, allowed.text]).toEqual([200, '3']);
    const record = await recordOf(allowed.headers.get('x-arrowgate-decision-id')!);
    expect(record).toMatchObject({
      subject: 'user:ann',
      credential: 'host',
      principal: { groups: ['group:data'], roles: ['role:reader'] },
    });
    const denied = await count(as({ subject: 'bob' }));
    expect([denied.status, denied.headers.get('x-arrowgate-decision')]).toEqual([403, 'deny']);
  });

  it('goes before a key in the same request', async () => {
    expect((await count({ ...as({ subject: 'bob' }), 'x-api-key': KEY })).status).toBe(403);
  });

  it('needs a credential of the gateway if the program names nobody', async () => {
    expect((await count({ 'x-api-key': KEY })).status).toBe(200);
    expect((await count({})).status).toBe(401);
    expect((await count(as('null'))).status).toBe(401);
  });

  it.each<[string, object | string, string]>([
    ['no subject', {}, 'must have texts of 1 to 512 characters as subject'],
    ['an empty subject', { subject: '' }, 'must have texts of 1 to 512 characters as subject'],
    ['a number', { subject: 7 }, 'must have texts of 1 to 512 characters as subject'],
    ['half a surrogate', { subject: '\ud800' }, 'has subject that are not valid Unicode'],
    ['a text as groups', { subject: 'a', groups: 'b' }, 'must have a list as groups'],
    ['an empty role', { subject: 'a', roles: [''] }, 'must have texts of 1 to 512'],
    ['a capital in the context', { subject: 'a', context: { R: 'eu' } }, 'under keys of 1 to 64'],
    ['a number in the context', { subject: 'a', context: { r: 1 } }, 'must have texts as context'],
    ['an unknown member', { subject: 'a', role: 'b' }, 'has the unknown member role'],
    ['a failing program', 'broken', 'the directory is unavailable'],
  ])('is refused for %s', async (_, identity, sentence) => {
    logged.length = 0;
    const refused = await count({ ...as(identity), 'x-api-key': KEY });
    expect([refused.status, JSON.parse(refused.text)]).toMatchObject([
      500,
      { code: 18, error: 'internal error' },
    ]);
    expect(logged.join('')).toContain(sentence);
  });
});

describe('gateway.authorize', () => {
  it('decides without sending, and records the decision', async () => {
    const query = 'POST /v1/table/t/query';
    const allowed = await ask(query, as({ subject: 'ann', roles: ['reader'] }));
    expect(allowed).toMatchObject({
      allowed: true,
      status: 200,
      subject: 'user:ann',
      reason: null,
    });
    expect(await recordOf(allowed.decisionId)).toMatchObject({
      operation: 'QueryTable',
      object: '/t',
      decision: 'allow',
      backend: null,
    });
    const denied = await ask('POST /v1/table/t/drop', as({ subject: 'ann', roles: ['reader'] }));
    expect(denied).toMatchObject({
      allowed: false,
      status: 403,
      subject: 'user:ann',
      reason: 'user:ann may not DropTable on /t',
    });
    expect(await recordOf(denied.decisionId)).toMatchObject({ decision: 'deny' });
    expect((await count({ 'x-api-key': KEY })).text).toBe('3');
  });

  it.each([
    ['GET /elsewhere', 406, 'no such operation: GET /elsewhere'],
    ['POST nowhere', 400, ''],
    ['POST /v1/table/%zz/query', 400, ''],
  ])('refuses %s', async (question, status, sentence) => {
    const decision = await ask(question, { 'x-api-key': KEY });
    expect(decision).toMatchObject({ allowed: false, status });
    expect(decision.reason).toContain(sentence);
  });

  it('refuses callers without a credential', async () => {
    expect(await ask('POST /v1/table/t/query', {})).toMatchObject({
      allowed: false,
      status: 401,
      subject: null,
    });
  });

  it('lets the program see what it put on the request', async () => {
    const seen: (string | undefined)[] = [];
    const own = await createGateway({
      config: { data: join(folder, 'own'), policies: join(folder, 'policies'), workers: 0 },
      log: pino({ level: 'silent' }),
      identify: (request) => {
        const { user } = request as IncomingMessage & { user?: string };
        seen.push(user);
        return user === undefined ? null : { subject: user, roles: ['admin'] };
      },
    });
    const guarded = createServer((request, response) => {
      Object.assign(request, { user: 'eve' });
      void own
        .authorize(request, { method: 'POST', path: '/v1/table/t/describe' })
        .then(({ subject, allowed }) => response.end(`${subject} ${allowed}`));
    });
    await once(guarded.listen(0, '127.0.0.1'), 'listening');
    const { port } = guarded.address() as AddressInfo;
    expect(await (await fetch(`http://127.0.0.1:${port}`)).text()).toBe('user:eve true');
    expect(seen).toEqual(['eve']);
    guarded.closeAllConnections();
    guarded.close();
    await own.close();
    const first = await readFile(join(folder, 'own/private/initial-admin-key'), 'utf8');
    expect(first).toMatch(/^agk_/);
  });
});
