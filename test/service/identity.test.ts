import { readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readKeyUses } from '../../src/gateway/identity/key-use.ts';
import { folderUses } from '../../src/gateway/identity/use-board.ts';
import {
  goodClaims,
  IdentityProvider,
  signingKey,
  tokenOf,
  type SigningKey,
} from '../support/identity-provider.ts';
import { ADMIN_KEY, Service } from '../support/service.ts';
import { send, type Reply } from './http.ts';

const POLICY = `p, role:admin, /**, *, allow
g, user:admin, role:admin
p, user:corp%3Aann, /ns/**, describe, allow
p, group:corp%3Adata, /ns/**, list, allow
p, role:reader, /ns/**, read, allow
p, role:reader, /ns/**, describe, allow
p, role:reader, /ns/**, list, allow
`;

const DESCRIBE = 'POST /v1/namespace/ns/describe';
const LIST = 'GET /v1/namespace/ns/list';

let service: Service;
let provider: IdentityProvider;
let key: SigningKey;
/** The tokens and keys that were sent. */
const secrets: string[] = [];

beforeAll(async () => {
  key = await signingKey('one');
  provider = await IdentityProvider.start(key);
  const config = 'trusted_proxies: [127.0.0.0/8]\nlimits: { failed_identifications: 5 }\n';
  service = await Service.start({ policy: POLICY, config });
  expect((await send(service.url, 'POST /v1/namespace/ns/create', { body: {} })).status).toBe(200);
});

afterAll(async () => {
  await service.stop();
  await provider.stop();
});

function issuers(more = ''): string {
  return `issuers:
  - name: corp
    issuer: ${provider.issuer}
    audience: catalog
    jwks_uri: ${provider.uri}
    algorithms: [ES256]
    subject_prefix: 'corp:'
    group_prefix: 'corp:'
${more}`;
}

/** Puts a file into the policy folder as one would: under another name first. */
async function place(name: string, text: string): Promise<void> {
  const path = join(service.policies, name);
  await writeFile(join(service.folder, name), text);
  await rename(join(service.folder, name), path);
}

let addresses = 0;

/** Another network for each request: what one test does wrong does not keep the others away. */
function elsewhere(): string {
  addresses++;
  return `198.18.${addresses}.1`;
}

async function withToken(token: string, line = DESCRIBE): Promise<Reply> {
  secrets.push(token.slice(token.lastIndexOf('.') + 1));
  const headers = { authorization: `Bearer ${token}`, 'x-forwarded-for': elsewhere() };
  return send(service.url, line, { key: null, headers });
}

async function withKey(text: string, address = elsewhere()): Promise<Reply> {
  secrets.push(text.slice(-43));
  return send(service.url, DESCRIBE, { key: text, headers: { 'x-forwarded-for': address } });
}

async function readiness(): Promise<Readonly<Record<string, unknown>>> {
  return (await send(service.url, 'GET /readyz')).json;
}

const until = (check: () => Promise<unknown>) => expect.poll(check);

describe('issuers.yaml', () => {
  it('is in force without a restart, by subject and by group', async () => {
    const token = await tokenOf(key, goodClaims({ groups: ['data'] }));
    expect((await withToken(token)).status).toBe(401);
    await place('issuers.yaml', issuers());
    await until(async () => (await withToken(token)).status).toBe(200);
    expect((await withToken(token, LIST)).status).toBe(200);
    const alone = await tokenOf(key);
    expect((await withToken(alone)).status).toBe(200);
    const stranger = await withToken(await tokenOf(key, goodClaims({ sub: 'bob' })));
    expect([stranger.status, stranger.json['code']]).toEqual([403, 15]);
    expect((await withToken(await tokenOf(await signingKey('one')))).json['error']).toBe(
      'the signature of the token is wrong',
    );
    expect(provider.asked).toBe(1);
  });

  it('that is refused leaves the last good one in force, and the service degraded', async () => {
    const token = await tokenOf(key);
    await place('issuers.yaml', issuers('    jwks: x\n'));
    await until(async () => (await readiness())['status']).toBe('degraded');
    expect(JSON.stringify(await readiness())).toContain('issuers.yaml:9: unknown key');
    expect((await withToken(token)).status).toBe(200);
    const check = await service.command('policy', 'check');
    expect([check.code, check.out]).toEqual([
      1,
      expect.stringMatching(/^issuers\.yaml:9: unknown key "jwks": there are name, issuer, /),
    ]);
    await place('issuers.yaml', issuers());
    await until(async () => (await readiness())['status']).toBe('ok');
  });

  it('whose issuer is away makes its tokens unavailable until it is back', async () => {
    const token = await tokenOf(key);
    expect((await withToken(token)).status).toBe(200);
    await place('issuers.yaml', issuers().replace('/jwks', '/other'));
    provider.respond = (_, response) => response.writeHead(500).end();
    await until(async () => (await withToken(token)).status).toBe(503);
    expect(JSON.stringify(await readiness())).toContain('the answer has status 500');
    provider.respond = undefined;
    await until(async () => (await withToken(token)).status).toBe(200);
    await until(async () => (await readiness())['status']).toBe('ok');
  });
});

describe('keys of a running service', () => {
  it('are narrowed by their scopes, rotate with an overlap, and are listed with their last use', async () => {
    const make = ['keys', 'create', '--subject', 'job', '--role', 'reader', '--json'];
    const made = await service.command(...make, '--scope', 'describe:/elsewhere');
    const narrow = JSON.parse(made.out) as { readonly key: string };
    expect((await withKey(narrow.key)).status).toBe(403);
    const old = await service.key('job', 'reader');
    expect((await withKey(old)).status).toBe(200);
    const id = old.split('_')[1]!;
    const rotated = await service.command('keys', 'rotate', id, '--overlap', '24h', '--json');
    const next = JSON.parse(rotated.out) as { readonly key: string };
    expect([(await withKey(old)).status, (await withKey(next.key)).status]).toEqual([200, 200]);
    await service.command('keys', 'revoke', id);
    await until(async () => (await withKey(old)).status).toBe(401);
    expect((await withKey(old)).json['error']).toBe(`the key ${id} is revoked`);
    const path = join(service.data, 'private', 'keys.json');
    const before = await readFile(path, 'utf8');
    const since = new Date().toISOString();
    expect((await withKey(next.key)).status).toBe(200);
    const used = next.key.split('_')[1]!;
    const uses = join(service.data, 'private', 'key-uses');
    await until(async () => ((await readKeyUses(folderUses(uses))).get(used) ?? '') >= since).toBe(
      true,
    );
    expect(await readFile(path, 'utf8')).toBe(before);
    const keys = JSON.parse((await service.command('keys', 'list', '--json')).out);
    const told = keys.map((each: Record<string, unknown>) => [each['id'], each['state']]);
    expect(told.slice(1)).toEqual([
      [id, 'revoked'],
      [used, 'active'],
    ]);
    expect(keys[2].last_used >= since).toBe(true);
  });
});

describe('wrong credentials', () => {
  it('keep their address away for a while, and nobody else', async () => {
    const guess = `agk_aaaaaaaa_${'x'.repeat(43)}`;
    const statuses = [];
    while (statuses.at(-1) !== 429) statuses.push((await withKey(guess, '203.0.113.7')).status);
    expect(statuses.slice(0, 5)).toEqual([401, 401, 401, 401, 401]);
    const limited = await withKey(ADMIN_KEY, '203.0.113.7');
    expect([limited.status, limited.json['code']]).toEqual([429, 21]);
    expect(limited.headers).toMatchObject({
      'retry-after': expect.stringMatching(/^\d+$/),
      'x-arrowgate-decision': 'limited',
    });
    expect((await withKey(ADMIN_KEY, '203.0.113.8')).status).toBe(200);
    await until(async () => {
      const limitedOnes = (await service.audit()).filter((each) => each['decision'] === 'limited');
      return limitedOnes.at(-1);
    }).toMatchObject({ source_ip: '203.0.113.7', subject: null, credential: null });
  });
});

describe('what a service writes', () => {
  it('holds no key and no token that it was sent', async () => {
    await service.end();
    const written = service.errors + JSON.stringify(await service.audit());
    const folder = join(service.data, 'private');
    const stored = await readFile(join(folder, 'keys.json'), 'utf8');
    expect(new Set(secrets).size).toBeGreaterThan(8);
    for (const secret of new Set(secrets)) {
      expect(written).not.toContain(secret);
      expect(stored).not.toContain(secret);
    }
  });
});
