import { readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tableFromIPC } from 'apache-arrow';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { open, send, type Reply } from '../service/http.ts';
import { ADMIN_KEY, Service } from '../support/service.ts';
import { eventually } from '../support/eventually.ts';

/** The console over http: sessions, refusals, static files, and what its API answers. */

const POLICY = `p, role:admin, /**, *, allow
p, user:eve, /**, audit, allow
p, user:bob, /prod/**, read, allow
p, user:carol, /prod/**, read, allow
`;

let service: Service;
let eve: string;
let bob: string;
let carol: string;

beforeAll(async () => {
  service = await Service.start({ policy: POLICY });
  eve = await service.keyByCommand('eve');
  bob = await service.keyByCommand('bob');
  carol = await service.keyByCommand('carol');
  await send(service.url, 'POST /v1/namespace/prod/create', { body: {} });
  await send(service.url, 'POST /v1/table/prod$t/count_rows', { body: {}, key: carol });
  await send(service.url, 'POST /v1/table/hr$t/count_rows', { body: {}, key: carol });
});

afterAll(() => service?.stop());

const JSON_TYPE = { 'content-type': 'application/json' };

function signIn(body: unknown, headers: Readonly<Record<string, string>> = {}): Promise<Reply> {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  const all = { ...JSON_TYPE, ...headers };
  return send(service.url, 'POST /console/session', { body: text, key: null, headers: all });
}

/** The cookie of a new session, as a browser sends it. */
async function cookieOf(key: string): Promise<string> {
  const { status, headers, text } = await signIn({ key });
  expect([status, text]).toEqual([200, expect.stringContaining('subject')]);
  return String(headers['set-cookie']).split(';')[0]!;
}

function api(path: string, cookie: string, headers: Readonly<Record<string, string>> = {}) {
  const all = { cookie, ...headers };
  return send(service.url, `GET /console/api/${path}`, { key: null, headers: all });
}

describe('a session', () => {
  it('gives a cookie that no script and no other site gets', async () => {
    const { headers } = await signIn({ key: eve });
    const [cookie] = headers['set-cookie'] ?? [];
    expect(cookie).toMatch(
      /^arrowgate-console=[\w-]{43}; Path=\/console\/; HttpOnly; SameSite=Strict; Max-Age=28800$/,
    );
    expect(headers['cache-control']).toBe('no-store');
  });

  it('is who signed in', async () => {
    const { json } = await api('me', await cookieOf(eve));
    expect(json).toMatchObject({ subject: 'user:eve', credential: { kind: 'key' } });
  });

  it('ends when its caller signs out', async () => {
    const cookie = await cookieOf(eve);
    const out = await send(service.url, 'DELETE /console/session', {
      key: null,
      headers: { cookie },
    });
    expect(out.status).toBe(204);
    expect(String(out.headers['set-cookie'])).toContain('Max-Age=0');
    expect(await refusal(api('me', cookie))).toEqual([
      401,
      16,
      'the session has ended: sign in again',
    ]);
  });

  it('outlives a restart, and ends with its key', async () => {
    const mallory = await service.keyByCommand('eve');
    const cookie = await cookieOf(mallory);
    await service.end();
    await service.restart();
    expect((await api('me', cookie)).status).toBe(200);
    const id = mallory.split('_')[1]!;
    expect((await service.command('keys', 'revoke', id)).code).toBe(0);
    await eventually(async () => {
      expect(await refusal(api('me', cookie))).toEqual([401, 16, `the key ${id} is revoked`]);
    });
  });

  it('keeps no credential on disk that could be used without the cookie', async () => {
    const cookie = await cookieOf(eve);
    const folder = `${service.data}/private/store/sessions`;
    const texts = await Promise.all(
      (await readdir(folder)).map((name) => readFile(`${folder}/${name}`, 'utf8')),
    );
    expect(texts.length).toBeGreaterThan(0);
    const secret = cookie.split('=')[1]!;
    for (const text of texts) {
      expect(text).not.toContain(eve.split('_').slice(2).join('_'));
      expect(text).not.toContain(secret);
    }
  });
});

describe('a sign-in is refused', () => {
  const rows: readonly (readonly [string, () => Promise<Reply>, number, number, string])[] = [
    [
      'with an unknown key',
      () => signIn({ key: 'agk_aaaaaaaaaaaa_x' }),
      401,
      16,
      'the credential is not known',
    ],
    [
      'without the right to audit',
      () => signIn({ key: bob }),
      403,
      15,
      'user:bob may not QueryTable on /system/audit',
    ],
    [
      'from another site',
      () => signIn({ key: eve }, { 'sec-fetch-site': 'cross-site' }),
      403,
      15,
      'requests from other sites are refused',
    ],
    [
      'from a neighbour of its site',
      () => signIn({ key: eve }, { 'sec-fetch-site': 'same-site' }),
      403,
      15,
      'requests from other sites are refused',
    ],
    [
      'from another origin',
      () => signIn({ key: eve }, { origin: 'https://evil.example' }),
      403,
      15,
      'requests from other sites are refused',
    ],
    [
      'from another port',
      () => signIn({ key: eve }, { origin: 'http://127.0.0.1:1' }),
      403,
      15,
      'requests from other sites are refused',
    ],
    [
      'from no origin at all',
      () => signIn({ key: eve }, { origin: 'null' }),
      403,
      15,
      'requests from other sites are refused',
    ],
    [
      'over plain http under a foreign name',
      () => signIn({ key: eve }, { host: 'rebound.example' }),
      403,
      15,
      'over plain http, the console works on this machine only',
    ],
    [
      'as a form',
      () => signIn(`key=${eve}`, { 'content-type': 'application/x-www-form-urlencoded' }),
      400,
      13,
      'the body must be {"key"',
    ],
    [
      'with two credentials',
      () => signIn({ key: eve, token: eve }),
      400,
      13,
      'the body must be {"key"',
    ],
    ['with a number', () => signIn({ key: 1 }), 400, 13, 'the body must be {"key"'],
    ['with a line break', () => signIn({ key: 'a\r\nb' }), 400, 13, 'the body must be {"key"'],
    ['with no JSON', () => signIn('{'), 400, 13, 'the body must be {"key"'],
    [
      'with a body that is too large',
      () => signIn({ key: 'x'.repeat(40_000) }),
      400,
      13,
      'the body is larger than 32768 bytes',
    ],
  ];
  it.each(rows)('%s', async (_name, ask, status, code, sentence) => {
    const reply = await ask();
    expect(reply.headers['set-cookie']).toBeUndefined();
    expect([reply.status, reply.json['code'], reply.json['error']]).toEqual([
      status,
      code,
      expect.stringContaining(sentence),
    ]);
  });
});

describe('a call of the API is refused', () => {
  const rows: readonly (readonly [string, () => Promise<Reply>, number, number, string])[] = [
    ['without a session', () => api('me', ''), 401, 16, 'a key is needed'],
    [
      'with an invented session',
      () => api('me', `arrowgate-console=${'A'.repeat(43)}`),
      401,
      16,
      'the session has ended',
    ],
    [
      'for another site',
      async () => api('me', await cookieOf(eve), { 'sec-fetch-site': 'cross-site' }),
      403,
      15,
      'requests from other sites',
    ],
    [
      'under a foreign name',
      async () => api('me', await cookieOf(eve), { host: 'rebound.example' }),
      403,
      15,
      'over plain http',
    ],
    [
      'with a key that may not audit',
      () => send(service.url, 'GET /console/api/requests', { key: bob }),
      403,
      15,
      'user:bob may not',
    ],
    [
      'at an unknown path',
      () => send(service.url, 'GET /console/api/nothing'),
      404,
      0,
      'there is nothing at /console/api/nothing',
    ],
    [
      'with another method',
      () => send(service.url, 'POST /console/api/me'),
      405,
      0,
      'POST is not a method',
    ],
    [
      'with an unknown decision',
      () => askEve('requests?decision=maybe'),
      400,
      13,
      'decision is "maybe", but must be one of allow',
    ],
    [
      'with an unknown operation',
      () => askEve('requests?operation=querytable'),
      400,
      13,
      'write QueryTable',
    ],
    [
      'with a backend that can have no such name',
      () => askEve('requests?backend=em%20bedded'),
      400,
      13,
      'backend is "em bedded", but must be the name of a backend such as embedded',
    ],
    ['with a bad object', () => askEve('requests?object=prod'), 400, 13, 'object is "prod": '],
    ['with a bad status', () => askEve('requests?status=9xx'), 400, 13, 'status is "9xx"'],
    ['with a bad time', () => askEve('requests?since=noon'), 400, 13, 'since is "noon"'],
    [
      'with an empty period',
      () => askEve('requests?since=1h&until=2h'),
      400,
      13,
      'which is not before until',
    ],
    [
      'with a parameter twice',
      () => askEve('requests?subject=a&subject=b'),
      400,
      13,
      'the parameter subject may be given once',
    ],
    ['with a bad place', () => askEve('requests?after=1'), 400, 13, 'the parameter after'],
    ['with a bad limit', () => askEve('requests?limit=1000'), 400, 13, 'limit is "1000"'],
    [
      'for an unknown decision id',
      () => askEve('request?decision=abc'),
      400,
      13,
      'the audit log has no decision abc',
    ],
    [
      'for counts of a text',
      () => askEve('traffic?text=x'),
      400,
      13,
      'requests with a text, a column, a review or a canary are found, but not counted',
    ],
    [
      'for a verdict on no action',
      () => askEve('explain?subject=bob&action=eat&object=/prod'),
      400,
      13,
      'action is "eat"',
    ],
    [
      'for a verdict on no path',
      () => askEve('explain?subject=bob&action=read&object=prod'),
      400,
      13,
      'object is "prod"',
    ],
    [
      'for an unknown file',
      () => askEve('export?format=xls'),
      400,
      13,
      'format must be one of csv, json, arrow',
    ],
    ['for following a period', () => askEve('follow?since=1h'), 400, 13, 'neither since nor until'],
  ];
  it.each(rows)('%s', async (_name, ask, status, code, sentence) => {
    const { status: answered, json } = await ask();
    expect([answered, json['code'], json['error']]).toEqual([
      status,
      code,
      expect.stringContaining(sentence),
    ]);
  });
});

function askEve(path: string): Promise<Reply> {
  return send(service.url, `GET /console/api/${path}`, { key: eve });
}

async function refusal(asked: Promise<Reply>): Promise<readonly unknown[]> {
  const { status, json } = await asked;
  return [status, json['code'], json['error']];
}

interface Found {
  readonly requests: readonly Record<string, unknown>[];
  readonly next: string | null;
}

async function found(query: string): Promise<Found> {
  const { json } = await askEve(`requests?${query}`);
  return json as unknown as Found;
}

describe('the trail', () => {
  it('finds requests by every filter, newest first', async () => {
    const { requests } = await found('subject=carol');
    expect(requests.map(({ object, decision }) => [object, decision])).toEqual([
      ['/hr/t', 'deny'],
      ['/prod/t', 'allow'],
    ]);
    const queries = [
      'object=/hr/**',
      'decision=deny&subject=user:carol',
      'status=403&subject=carol',
      'text=%2Fhr%2Ft',
    ];
    for (const query of queries) {
      const { requests } = await found(`${query}&operation=CountTableRows`);
      expect([query, requests.map(({ object }) => object)]).toEqual([query, ['/hr/t']]);
    }
    expect((await found('operation=read&subject=carol&until=1h')).requests).toEqual([]);
  });

  it('pages without gaps and repeats', async () => {
    const all = await found('until=0s&limit=200');
    const until = new Date().toISOString();
    const whole = await found(`until=${until}&limit=200`);
    expect(all.next).toBeNull();
    const seen: unknown[] = [];
    for (let after: string | null = ''; after !== null;) {
      const page: Found = await found(
        `until=${until}&limit=3${after === '' ? '' : `&after=${after}`}`,
      );
      seen.push(...page.requests.map((each) => each['decision_id']));
      after = page.next;
    }
    expect(seen).toEqual(whole.requests.map((each) => each['decision_id']));
    expect(new Set(seen).size).toBe(seen.length);
  });

  it('explains a request by the line that decided', async () => {
    const { requests } = await found('subject=carol&decision=allow');
    const [{ decision_id, began } = {}] = requests;
    const decision = `decision=${String(decision_id)}`;
    for (const query of [`${decision}&began=${String(began)}`, decision]) {
      const { json } = await askEve(`request?${query}`);
      expect(json).toMatchObject({
        explanation: { line: 'p, user:carol, /prod/**, read, allow', policy_kept: true },
        excerpt: { rule: 'policy.csv:4', number: 4, first: 1 },
      });
    }
  });

  it('is recorded like any other request, with what was looked for', async () => {
    const { requests } = await found('subject=carol');
    expect(requests).toHaveLength(2);
    const records = (await service.audit()).filter(
      ({ context, phase }) =>
        phase === 'outcome' &&
        (context as Record<string, string>)['console'] === 'requests?subject=carol',
    );
    expect(records.at(-1)).toMatchObject({
      subject: 'user:eve',
      operation: 'QueryTable',
      object: '/system/audit',
      decision: 'allow',
      rule: 'policy.csv:2',
    });
  });

  it('counts requests over time', async () => {
    const { json } = await askEve('traffic?since=1h&subject=carol');
    expect(json['total']).toMatchObject({ requests: 2, denied: 1, failed: 0 });
    expect(json['steps']).toHaveLength(60);
    expect(json['values']).toMatchObject({
      operation: [{ value: 'CountTableRows', requests: 2, denied: 1 }],
      decision: expect.arrayContaining([expect.objectContaining({ value: 'deny', requests: 1 })]),
    });
  });

  it('counts the requests of a backend', async () => {
    const of = async (backend: string) => {
      const { json } = await askEve(`traffic?since=1h&subject=carol&backend=${backend}`);
      return (json['total'] as { readonly requests: number }).requests;
    };
    expect([await of('embedded'), await of('elsewhere')]).toEqual([2, 0]);
  });

  it('finds the requests of a backend, and says which may be meant', async () => {
    const of = async (backend: string) => {
      const { json } = await askEve(`requests?since=1h&subject=carol&backend=${backend}`);
      return [(json['requests'] as readonly unknown[]).length, json['hint']];
    };
    expect(await of('embedded')).toEqual([2, null]);
    expect(await of('embeded')).toEqual([
      0,
      'no request was for the backend embeded: did you mean embedded?',
    ]);
    expect(await of('west')).toEqual([
      0,
      'no request was for the backend west: requests were for embedded',
    ]);
  });

  it('is exported as CSV and as JSON', async () => {
    const csv = await askEve('export?subject=carol');
    expect(csv.headers['content-type']).toBe('text/csv; charset=utf-8');
    const [heading, ...lines] = csv.text.trimEnd().split('\r\n');
    expect(heading).toMatch(/^began,subject,credential,/);
    expect(lines.map((line) => line.split(',')[1])).toEqual(['user:carol', 'user:carol']);
    const json = await askEve('export?subject=carol&format=json');
    const records = json.text
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as object);
    expect(records).toMatchObject([{ decision: 'deny' }, { decision: 'allow' }]);
  });

  it('is exported as Arrow', async () => {
    const arrow = await askEve('export?subject=carol&format=arrow');
    expect(arrow.headers['content-type']).toBe('application/vnd.apache.arrow.stream');
    const table = tableFromIPC(arrow.bytes);
    expect(table.numRows).toBe(2);
    expect([...table.getChild('decision')!]).toEqual(['deny', 'allow']);
    const none = await askEve('export?subject=nobody&format=arrow');
    expect(tableFromIPC(none.bytes).numRows).toBe(0);
  });

  it('is followed until the session ends', async () => {
    const cookie = await cookieOf(eve);
    const path = 'GET /console/api/follow?subject=bob';
    const answer = await open(service.url, path, { key: null, headers: { cookie } });
    let text = '';
    answer.setEncoding('utf8').on('data', (piece: string) => (text += piece));
    const ended = new Promise((resolve) => answer.once('end', resolve));
    await eventually(async () => {
      await send(service.url, 'POST /v1/table/prod$t/count_rows', { body: {}, key: bob });
      expect(text).toContain('"subject":"user:bob"');
    });
    await send(service.url, 'DELETE /console/session', { key: null, headers: { cookie } });
    await ended;
  });

  it('says what the policy in force decides', async () => {
    const allowed = await askEve('explain?subject=bob&action=QueryTable&object=/prod/t');
    expect(allowed.json).toMatchObject({
      verdict: { allowed: true, rule: 'policy.csv:3' },
      line: 'p, user:bob, /prod/**, read, allow',
    });
    const denied = await askEve('explain?subject=bob&action=QueryTable&object=/hr/t');
    expect(denied.json).toMatchObject({
      verdict: { allowed: false },
      nearest: { rule: 'policy.csv:3', text: expect.stringContaining('does not match /hr/t') },
    });
  });

  it('shows why the service is not ready only with the right to manage', async () => {
    const auditor = await askEve('state');
    expect(auditor.json['ready']).toEqual({ status: expect.any(String) });
    const admin = await send(service.url, 'GET /console/api/state', { key: ADMIN_KEY });
    expect(admin.json['ready']).toMatchObject({ parts: expect.any(Array) });
  });
});

describe('static files', () => {
  const get = (path: string, headers: Readonly<Record<string, string>> = {}) =>
    send(service.url, `GET ${path}`, { key: null, headers });

  it('are answered to anyone, under a strict policy', async () => {
    const { status, headers, text } = await get('/console/');
    expect([status, headers['content-type']]).toEqual([200, 'text/html; charset=utf-8']);
    const policy = String(headers['content-security-policy']);
    expect(policy).toContain("default-src 'none'");
    expect(policy).not.toContain('unsafe');
    expect(headers).toMatchObject({
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
      'cache-control': 'no-cache',
    });
    expect(text).not.toMatch(/https?:\/\//);
    expect(text).not.toMatch(/<script(?![^>]*src=)/);
  });

  it('are kept by browsers', async () => {
    const { headers, text } = await get('/console/');
    const again = await get('/console/', { 'if-none-match': String(headers.etag) });
    expect([again.status, again.bytes.length]).toEqual([304, 0]);
    const [, script] = /src="([^"]+\.js)"/.exec(text) ?? [];
    const asset = await get(script!, { 'accept-encoding': 'gzip' });
    expect(asset.headers).toMatchObject({
      'content-encoding': 'gzip',
      'cache-control': 'public, max-age=31536000, immutable',
    });
    expect(asset.bytes.length).toBeLessThan(250_000);
  });

  it.each([
    ['/console', 308],
    ['/console/trail?subject=bob', 200],
    ['/console/request/abc-1', 200],
    ['/console/integrity', 200],
    ['/console/nothing', 404],
    ['/console/assets/../../cli/main.js', 404],
    ['/console/%2e%2e/cli/main.js', 404],
    ['/console/assets/nothing.js', 404],
  ])('%s is answered %d', async (path, status) => {
    expect((await get(path)).status).toBe(status);
  });
});

describe('a caller who sees a part of the log only', () => {
  it('cannot sign in, and ends what is open', async () => {
    const cookie = await cookieOf(eve);
    const path = 'GET /console/api/follow';
    const answer = await open(service.url, path, { key: null, headers: { cookie } });
    const ended = new Promise((resolve) => answer.resume().once('end', resolve));
    const file = `${service.policies}/restrictions.yaml`;
    const own = `{ name: own-records, tables: [/system/audit], subjects: ["user:eve"], rows: "subject = principal.subject" }`;
    await writeFile(file, `restrictions:\n  - ${own}\n`);
    try {
      await ended;
      await eventually(async () => {
        const { status, json } = await signIn({ key: eve });
        expect([status, json['code'], json['error']]).toEqual([
          403,
          15,
          'the restriction own-records shows user:eve a part of /system/audit only: query that table instead',
        ]);
      });
      expect((await api('requests', cookie)).status).toBe(403);
    } finally {
      await rm(file);
    }
  });
});

describe('behind a trusted proxy', () => {
  let proxied: Service;
  const tls = {
    'x-forwarded-for': '203.0.113.9',
    'x-forwarded-proto': 'https',
    host: 'gate.example',
  };
  const post = (headers: Readonly<Record<string, string>>) =>
    send(proxied.url, 'POST /console/session', {
      body: JSON.stringify({ key: ADMIN_KEY }),
      key: null,
      headers: { ...JSON_TYPE, ...headers },
    });

  beforeAll(async () => {
    proxied = await Service.start({ config: 'trusted_proxies: [127.0.0.1]\n' });
  });
  afterAll(() => proxied?.stop());

  it('gives a cookie for this host and TLS alone', async () => {
    const { status, headers } = await post({ ...tls, origin: 'https://gate.example' });
    expect(status).toBe(200);
    const [cookie = ''] = headers['set-cookie'] ?? [];
    expect(cookie).toMatch(
      /^__Host-arrowgate-console=[\w-]{43}; Path=\/; Secure; HttpOnly; SameSite=Strict; Max-Age=28800$/,
    );
    const [pair = ''] = cookie.split(';');
    const me = (line: Readonly<Record<string, string>>) =>
      send(proxied.url, 'GET /console/api/me', { key: null, headers: { ...line, cookie: pair } });
    expect((await me(tls)).json).toMatchObject({ subject: 'user:admin' });
    // The cookie counts under the console alone, and over TLS alone.
    const table = { key: null, headers: { ...tls, cookie: pair }, body: {} };
    expect((await send(proxied.url, 'POST /v1/table/t/describe', table)).status).toBe(401);
    expect((await me({})).status).toBe(401);
  });

  const refusals: readonly (readonly [string, Readonly<Record<string, string>>, string])[] = [
    ['over plain http from elsewhere', { 'x-forwarded-for': '203.0.113.9' }, 'over plain http'],
    ['from an origin without TLS', { ...tls, origin: 'http://gate.example' }, 'other sites'],
    ['from another host', { ...tls, origin: 'https://evil.example' }, 'other sites'],
  ];
  it.each(refusals)('refuses a sign-in %s', async (_name, headers, sentence) => {
    const { status, json } = await post(headers);
    expect([status, json['error']]).toEqual([403, expect.stringContaining(sentence)]);
  });
});
