import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { send, type Reply } from '../service/http.ts';
import { ADMIN_KEY, Service } from '../support/service.ts';
import { eventually } from '../support/eventually.ts';

/** Keys over the API of the console: who may see and change them, what the log says, and what each change does. */

const POLICY = `p, role:admin, /**, *, allow
p, user:eve, /**, audit, allow
p, user:mia, /**, *, allow
p, user:meg, /**, manage, allow
p, role:reader, /prod/**, read, allow
`;

interface Listed {
  readonly keys: readonly Readonly<Record<string, unknown>>[];
  readonly total: number;
  readonly next: number | null;
  readonly may_manage: boolean;
}

let service: Service;
let eve: string;
let mia: string;
let meg: string;

beforeAll(async () => {
  service = await Service.start({ policy: POLICY });
  eve = await service.keyByCommand('eve');
  mia = await service.keyByCommand('mia');
  meg = await service.keyByCommand('meg');
});

afterAll(() => service?.stop());

const JSON_TYPE = { 'content-type': 'application/json' };

function list(key: string): Promise<Reply> {
  return send(service.url, 'GET /console/api/keys', { key });
}

async function listed(key: string, query = ''): Promise<Listed> {
  const { status, text } = await send(service.url, `GET /console/api/keys${query}`, { key });
  expect(status).toBe(200);
  return JSON.parse(text) as Listed;
}

function change(name: string, body: unknown, key: string | null = mia): Promise<Reply> {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  return send(service.url, `POST /console/api/keys/${name}`, {
    key,
    body: text,
    headers: JSON_TYPE,
  });
}

async function made(body: object): Promise<{ readonly id: string; readonly key: string }> {
  const { status, json } = await change('create', body);
  expect(status).toBe(200);
  return { id: String(json['id']), key: String(json['key']) };
}

function idOf(key: string): string {
  return key.split('_')[1]!;
}

async function statusWith(key: string): Promise<number> {
  const { status } = await send(service.url, 'POST /v1/table/prod$t/count_rows', { body: {}, key });
  return status;
}

describe('the list', () => {
  it('has every key without its secret or hash', async () => {
    await made({ subject: 'zoe', roles: ['reader'], scopes: ['read:/prod/**'], expires: '90d' });
    const { text } = await list(eve);
    const { keys, total, next, may_manage } = await listed(eve);
    expect([total, next, may_manage]).toEqual([keys.length, null, false]);
    expect(keys.map(({ subject }) => subject)).toEqual(
      expect.arrayContaining(['user:eve', 'user:mia', 'user:zoe']),
    );
    expect(keys.find(({ subject }) => subject === 'user:zoe')).toMatchObject({
      roles: ['role:reader'],
      scopes: ['read:/prod/**'],
      state: 'active',
      revoked: null,
      last_used: null,
    });
    for (const secret of [eve, mia]) expect(text).not.toContain(secret.slice(-30));
    expect(text).not.toContain('hash');
  });

  it('is filtered by text and by state', async () => {
    const { keys } = await listed(eve, '?text=user:eve&state=active');
    expect(keys.map(({ id }) => id)).toEqual([idOf(eve)]);
    expect((await listed(eve, '?text=user:eve&state=revoked')).total).toBe(0);
  });

  it('tells when a key was used last', async () => {
    await eventually(async () => {
      const { keys } = await listed(eve, `?text=${idOf(eve)}`);
      expect(keys[0]?.['last_used']).toMatch(/^20\d\d-/);
    });
  });

  it('says to whom may manage that they may', async () => {
    expect((await listed(mia)).may_manage).toBe(true);
  });
});

describe('a new key', () => {
  it('works, and its text is in no record', async () => {
    const { id, key } = await made({ subject: 'ann', roles: ['reader'] });
    expect(key).toMatch(new RegExp(`^agk_${id}_[\\w-]{43}$`));
    await eventually(async () => expect(await statusWith(key)).not.toBe(401));
    const records = await service.audit();
    expect(JSON.stringify(records)).not.toContain(key.slice(-30));
    const acts = records.filter(
      ({ operation, context }) =>
        operation === 'KeysCreate' && (context as Record<string, string>)['id'] === id,
    );
    const shared = { subject: 'user:mia', credential: idOf(mia), source_ip: '127.0.0.1' };
    expect(acts).toMatchObject([
      { ...shared, phase: 'attempt' },
      { ...shared, phase: 'outcome', decision: 'allow', context: { roles: 'role:reader' } },
    ]);
    const request = (acts[0]!['context'] as Record<string, string>)['console'];
    await eventually(async () => {
      const all = await service.audit();
      expect(all.filter(({ decision_id }) => decision_id === request)).toMatchObject([
        { operation: 'QueryTable', object: '/system/audit', context: { console: 'keys/create' } },
        { status: 200, rights: [{ action: 'manage', objects: ['/'] }] },
      ]);
    });
    const { json } = await send(service.url, 'GET /console/api/keys/makers', { key: eve });
    expect(json).toMatchObject({ [id]: { subject: 'user:mia' } });
  });
});

describe('a rotation', () => {
  it('makes a successor, and gives the old key an end', async () => {
    const old = await made({ subject: 'ben', roles: ['reader'] });
    const { json } = await change('rotate', { id: old.id, overlap: '1h' });
    const id = String(json['id']);
    expect([json['subject'], id === old.id]).toEqual(['user:ben', false]);
    await eventually(async () => expect(await statusWith(String(json['key']))).not.toBe(401));
    const { keys } = await listed(eve, `?text=${old.id}`);
    expect(keys[0]?.['expires']).toMatch(/^20/);
    const { json: makers } = await send(service.url, 'GET /console/api/keys/makers', { key: eve });
    expect(makers).toMatchObject({ [id]: { subject: 'user:mia' } });
  });
});

describe('a revocation', () => {
  it('ends the key, and the sessions of its owner', async () => {
    const auditor = await made({ subject: 'eve' });
    await eventually(async () => expect((await list(auditor.key)).status).toBe(200));
    const session = await send(service.url, 'POST /console/session', {
      key: null,
      body: JSON.stringify({ key: auditor.key }),
      headers: JSON_TYPE,
    });
    const cookie = String(session.headers['set-cookie']).split(';')[0]!;
    expect((await change('revoke', { id: auditor.id })).json).toEqual({ revoked: auditor.id });
    await eventually(async () => {
      const { status } = await send(service.url, 'GET /console/api/keys', {
        key: null,
        headers: { cookie },
      });
      expect(status).toBe(401);
    });
    const again = await change('revoke', { id: auditor.id });
    expect([again.status, again.json]).toMatchObject([
      400,
      { error: `the key ${auditor.id} is revoked already` },
    ]);
  });
});

describe('refusals', () => {
  it.each([
    ['create', '{', 'the body must be {"subject"'],
    ['create', [], 'the body must be {"subject"'],
    ['create', { subject: 1 }, 'the body must be {"subject"'],
    ['create', { subject: 'a', role: 'b' }, 'the body must be {"subject"'],
    ['create', { subject: 'a', roles: 'b' }, 'the body must be {"subject"'],
    ['create', { subject: 'role:a' }, 'role:a is a role, but a user is needed'],
    ['create', { subject: '' }, 'a name is empty'],
    ['create', { subject: 'a', scopes: ['read'] }, 'the scope read is not written ACTION:PATTERN'],
    ['create', { subject: 'a', scopes: ['fly:/**'] }, 'unknown action "fly" in a scope'],
    ['create', { subject: 'a', expires: 'soon' }, 'expires is "soon", but must be a duration'],
    ['create', { subject: 'a', expires: '9999999d' }, 'of at most 365250d'],
    ['rotate', {}, 'the body must be {"id"'],
    ['rotate', { id: 'nosuchkey' }, 'there is no key nosuchkey'],
    ['rotate', { id: 'nosuchkey', overlap: 5 }, 'overlap is 5, but must be a duration'],
    ['revoke', { id: 'nosuchkey' }, 'there is no key nosuchkey'],
    ['revoke', { id: 'nosuchkey', now: true }, 'the body must be {"id"'],
  ])('%s of %j', async (name, body, sentence) => {
    const { total } = await listed(eve);
    const { status, json } = await change(name, body);
    expect([status, json]).toMatchObject([
      400,
      { code: 13, error: expect.stringContaining(sentence) },
    ]);
    expect((await listed(eve)).total).toBe(total);
  });

  it.each(['create', 'rotate', 'revoke'])('%s without the right to manage', async (name) => {
    const { status, json } = await change(name, { id: idOf(eve) }, eve);
    expect([status, json]).toMatchObject([403, { code: 15 }]);
  });

  it('a caller with the right to manage but not to audit', async () => {
    expect((await change('revoke', { id: idOf(eve) }, meg)).status).toBe(403);
    expect((await list(meg)).status).toBe(403);
  });

  it('nobody, a GET of a change, and another type of body', async () => {
    expect((await change('revoke', { id: idOf(eve) }, null)).status).toBe(401);
    const got = await send(service.url, 'GET /console/api/keys/revoke', { key: mia });
    expect([got.status, got.headers['allow']]).toEqual([405, 'POST']);
    const plain = await send(service.url, 'POST /console/api/keys/revoke', {
      key: mia,
      body: JSON.stringify({ id: idOf(eve) }),
      headers: { 'content-type': 'text/plain' },
    });
    expect(plain.status).toBe(400);
  });

  it.each([
    ['another origin', { origin: 'https://evil.example' }],
    ['another site', { 'sec-fetch-site': 'cross-site' }],
    ['another port of the site', { 'sec-fetch-site': 'same-site' }],
  ])('a session from %s', async (_name, headers) => {
    const { headers: given } = await send(service.url, 'POST /console/session', {
      key: null,
      body: JSON.stringify({ key: ADMIN_KEY }),
      headers: JSON_TYPE,
    });
    const cookie = String(given['set-cookie']).split(';')[0]!;
    const { status, json } = await send(service.url, 'POST /console/api/keys/revoke', {
      key: null,
      body: JSON.stringify({ id: idOf(eve) }),
      headers: { ...JSON_TYPE, cookie, ...headers },
    });
    expect([status, json]).toMatchObject([
      403,
      { error: expect.stringContaining('requests from other sites are refused') },
    ]);
    expect((await list(eve)).status).toBe(200);
  });
});
