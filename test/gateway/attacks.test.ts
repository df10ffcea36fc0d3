import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { connect } from 'node:net';
import {
  exportSPKI,
  FlattenedSign,
  generateKeyPair,
  importJWK,
  SignJWT,
  type JWTPayload,
} from 'jose';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Issuer } from '../../src/policy/settings/issuer.ts';
import {
  goodClaims,
  IdentityProvider,
  secondsFromNow,
  signingKey,
  tokenOf,
  type SigningKey,
} from '../support/identity-provider.ts';
import { admin, ask, json, start, type Harness, type Reply, type Setup } from './harness.ts';

const POLICY = `p, role:admin, /**, *, allow
p, user:ann, /prod/**, read, allow
p, user:ann, /prod/hr/**, *, deny
`;
const QUERY = '/v1/table/prod$sales/query';

let provider: IdentityProvider;
let key: SigningKey;
let harness: Harness;
/** Everything secret that a test has sent: none of it may be found anywhere. */
let secrets: string[];

beforeAll(async () => {
  key = await signingKey('one', 'RS256');
  provider = await IdentityProvider.start(key);
});

afterAll(() => provider.stop());

beforeEach(() => {
  secrets = [];
});

afterEach(async () => {
  const written = [...harness.logged, stringify(harness.audit.records)].join('\n');
  await harness.close();
  for (const secret of secrets) expect(written).not.toContain(secret);
});

function stringify(value: unknown): string {
  return JSON.stringify(value, (_, inner: unknown) =>
    typeof inner === 'bigint' ? String(inner) : inner,
  );
}

async function open(setup: Setup = {}): Promise<void> {
  const corp: Issuer = {
    name: 'corp',
    issuer: provider.issuer,
    audiences: ['catalog'],
    keys: { kind: 'uri', uri: provider.uri },
    algorithms: ['RS256'],
    subjectClaim: 'sub',
    groupsClaim: 'groups',
    subjectPrefix: '',
    groupPrefix: '',
    clockTolerance: 5,
  };
  harness = await start({ policy: POLICY, issuers: [corp], ...setup });
}

async function withToken(token: string, path = QUERY): Promise<Reply> {
  secrets.push(token.split('.').at(-1) || token);
  const reply = await ask(harness, path, { headers: { authorization: `Bearer ${token}` } });
  expect(reply.text).not.toContain(token);
  return reply;
}

function encoded(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url');
}

/** A token with these bytes for a signature. */
function forged(header: object, payload: object, signature = ''): string {
  return `${encoded(header)}.${encoded(payload)}.${signature}`;
}

function without(claim: string): JWTPayload {
  return Object.fromEntries(Object.entries(goodClaims()).filter(([name]) => name !== claim));
}

const wrongKey = 'the token is signed by no key of its issuer';
const wrongAlgorithm = 'the algorithm of the token is not one that its issuer may use';
const wrongSignature = 'the signature of the token is wrong';

describe('a good token', () => {
  it('is believed, and its request is recorded with its subject and its issuer', async () => {
    await open();
    const reply = await withToken(await tokenOf(key));
    expect([reply.status, reply.headers['x-arrowgate-decision']]).toEqual([200, 'allow']);
    expect(harness.audit.outcomes()).toMatchObject([
      { subject: 'user:ann', credential: 'https://idp.example.com', decision: 'allow' },
    ]);
  });
});

describe('a forged token', () => {
  const attacks: Readonly<Record<string, readonly [make: () => Promise<string>, told: string]>> = {
    'alg none': [async () => forged({ alg: 'none' }, goodClaims()), wrongAlgorithm],
    'alg none with the name of a key': [
      async () => forged({ alg: 'none', kid: 'one' }, goodClaims()),
      wrongAlgorithm,
    ],
    'alg None in other letters': [
      async () => forged({ alg: 'nOnE' }, goodClaims()),
      wrongAlgorithm,
    ],
    'no alg at all': [async () => forged({}, goodClaims(), 'AAAA'), 'the token cannot be verified'],
    'key confusion: the public key as a shared secret': [
      async () => {
        const publicKey = await importJWK(key.shown, 'RS256', { extractable: true });
        if (publicKey instanceof Uint8Array) throw new Error('not a public key');
        const input = forged({ alg: 'HS256', kid: 'one' }, goodClaims()).slice(0, -1);
        const mac = createHmac('sha256', await exportSPKI(publicKey)).update(input);
        return `${input}.${mac.digest('base64url')}`;
      },
      wrongAlgorithm,
    ],
    'an algorithm of public keys that the issuer does not use': [
      async () => {
        const { privateKey } = await generateKeyPair('ES256');
        return new SignJWT(goodClaims())
          .setProtectedHeader({ alg: 'ES256', kid: 'one' })
          .sign(privateKey);
      },
      wrongAlgorithm,
    ],
    'kid injection: a path': [
      () => tokenOf(key, goodClaims(), { kid: '../../../../dev/null' }),
      wrongKey,
    ],
    'kid injection: a statement': [
      () => tokenOf(key, goodClaims(), { kid: "one' OR '1'='1" }),
      wrongKey,
    ],
    'kid injection: a member of every object': [
      () => tokenOf(key, goodClaims(), { kid: '__proto__' }),
      wrongKey,
    ],
    'kid that is no text': [() => tokenOf(key, goodClaims(), { kid: ['one'] }), wrongKey],
    'somebody else’s key under the name of a good one': [
      async () => tokenOf(await signingKey('one', 'RS256')),
      wrongSignature,
    ],
    'a key of its own in jwk': [
      async () => {
        const mine = await signingKey('one', 'RS256');
        return tokenOf(mine, goodClaims(), { jwk: mine.shown });
      },
      wrongSignature,
    ],
    'a payload that was changed': [
      async () => {
        const [header, , signature] = (await tokenOf(key)).split('.');
        return `${header}.${encoded(goodClaims({ sub: 'admin' }))}.${signature}`;
      },
      wrongSignature,
    ],
    'no signature': [
      async () => `${(await tokenOf(key)).split('.').slice(0, 2).join('.')}.`,
      wrongSignature,
    ],
    expired: [
      () => tokenOf(key, goodClaims({ exp: secondsFromNow(-60) })),
      'the token has expired',
    ],
    'without an end': [() => tokenOf(key, without('exp')), 'the token has no claim exp'],
    'with an end that is text': [
      () => tokenOf(key, JSON.parse(JSON.stringify({ ...goodClaims(), exp: '9999999999' }))),
      'the claim exp of the token has a wrong value',
    ],
    'not yet valid': [
      () => tokenOf(key, goodClaims({ nbf: secondsFromNow(60) })),
      'the token is not valid yet',
    ],
    'wrong audience': [
      () => tokenOf(key, goodClaims({ aud: ['Catalog', 'catalog2'] })),
      'the token is for another audience',
    ],
    'without an audience': [() => tokenOf(key, without('aud')), 'the token has no claim aud'],
    'unknown issuer': [
      () => tokenOf(key, goodClaims({ iss: 'https://evil.example.com' })),
      'the issuer of the token is not configured',
    ],
    'without an issuer': [() => tokenOf(key, without('iss')), 'the token has no claim iss'],
    'an issuer that is a list': [
      async () => forged({ alg: 'RS256' }, { ...goodClaims(), iss: [provider.issuer] }, 'AAAA'),
      'the token has no claim iss',
    ],
    'the issuer of a good token without its signature': [
      async () => forged({ alg: 'RS256', kid: 'one' }, goodClaims(), 'AAAA'),
      wrongSignature,
    ],
    'an extension that must be understood': [
      () => tokenOf(key, goodClaims(), { crit: ['x'], x: true }),
      'the token cannot be verified',
    ],
    'a payload that is not encoded': [
      async () => {
        const header = { alg: 'RS256', kid: 'one', b64: false, crit: ['b64'] };
        const signed = new FlattenedSign(Buffer.from(encoded(goodClaims())));
        const jws = await signed.setProtectedHeader(header).sign(key.secret);
        return `${jws.protected}.${encoded(goodClaims())}.${jws.signature}`;
      },
      'the token cannot be verified',
    ],
    'no JSON': [async () => 'AAAA.AAAA.AAAA', 'the token cannot be read'],
    'a token of ten thousand groups': [
      async () =>
        forged({ alg: 'RS256', kid: 'one' }, { ...goodClaims(), groups: 'x'.repeat(13_000) }),
      'the token has more than 16384 characters',
    ],
  };

  it('of every kind is 401, told without a word of the token', async () => {
    await open({ headerBytes: 65_536 });
    const told: Record<string, unknown> = {};
    const expected: Record<string, unknown> = {};
    for (const [name, [make, sentence]] of Object.entries(attacks)) {
      const reply = await withToken(await make());
      const { headers } = reply;
      told[name] = [reply.status, json(reply)['error'], headers['x-arrowgate-decision']];
      expected[name] = [401, sentence, 'unauthenticated'];
      expect(headers['www-authenticate']).toBe('Bearer realm="arrowgate"');
    }
    expect(told).toEqual(expected);
    expect(harness.events.filter((event) => event.startsWith('handle'))).toEqual([]);
  });

  it('with an address for keys in it has nothing fetched from there', async () => {
    await open();
    const evil = await IdentityProvider.start(await signingKey('evil', 'RS256'));
    try {
      const [mine] = evil.keys;
      for (const header of [{ jku: evil.uri }, { x5u: evil.uri }, { x5c: ['AAAA'] }]) {
        const reply = await withToken(await tokenOf(mine!, goodClaims(), header));
        expect([reply.status, json(reply)['error']]).toEqual([401, wrongKey]);
      }
      expect(evil.asked).toBe(0);
    } finally {
      await evil.stop();
    }
  });

  it('that is larger than headers may be is 431 or 400 before anybody reads it', async () => {
    await open();
    const reply = await withToken(forged({ alg: 'RS256' }, { x: 'x'.repeat(40_000) }, 'AAAA'));
    expect([400, 431]).toContain(reply.status);
    expect(harness.audit.records).toEqual([]);
  });
});

describe('two credentials', () => {
  const two = 'the request carries credentials of two principals';

  it('that disagree are 401, in whatever order and kind', async () => {
    await open();
    const [ann, bob] = [await harness.key({}), await harness.key({ subject: 'user:bob' })];
    const token = await tokenOf(key, goodClaims({ sub: 'alice' }));
    secrets.push(ann, bob, token);
    for (const headers of [
      { 'x-api-key': bob, authorization: `Bearer ${ann}` },
      { 'x-api-key': bob, authorization: `Bearer ${token}` },
      { ...admin, authorization: `Bearer ${token}` },
    ]) {
      const reply = await ask(harness, QUERY, { headers });
      expect([reply.status, json(reply)['error']]).toEqual([401, two]);
    }
    const agreeing = { 'x-api-key': ann, authorization: `Bearer ${token}` };
    expect((await ask(harness, QUERY, { headers: agreeing })).status).toBe(403);
  });

  it('in two headers of one name are 400', async () => {
    await open();
    const alice = await harness.key({});
    secrets.push(alice);
    for (const lines of [
      [`x-api-key: ${alice}`, `x-api-key: ${alice}`],
      [`x-api-key: ${alice}`, `X-API-KEY: other`],
      [`authorization: Bearer ${alice}`, `Authorization: Bearer other`],
    ]) {
      const answer = await raw(`POST ${QUERY} HTTP/1.1`, 'host: h', ...lines);
      expect(answer).toMatch(/^HTTP\/1\.1 400 /);
      expect(answer).toMatch(/the header (x-api-key|authorization) is given more than once/);
    }
  });

  it('joined by a comma in one header are none', async () => {
    await open();
    const alice = await harness.key({});
    const reply = await ask(harness, QUERY, { headers: { 'x-api-key': `${alice}, ${alice}` } });
    expect([reply.status, json(reply)['error']]).toEqual([401, 'the credential is not known']);
  });

  it('in the body are none at all', async () => {
    await open();
    const alice = await harness.key({});
    const body = JSON.stringify({ identity: { api_key: alice, auth_token: alice } });
    const reply = await ask(harness, QUERY, { body });
    expect(reply.status).toBe(401);
    const disagreeing = await ask(harness, '/v1/table/prod$hr$pay/query', {
      body: JSON.stringify({ identity: { api_key: 'the-administrator' } }),
      headers: { 'x-api-key': alice },
    });
    expect(disagreeing.status).toBe(403);
  });
});

async function raw(...lines: readonly string[]): Promise<string> {
  const socket = connect(Number(harness.url.port), harness.url.hostname);
  let text = '';
  socket.setEncoding('latin1').on('data', (more: string) => {
    text += more;
  });
  socket.write([...lines, 'content-length: 0', 'connection: close', '', ''].join('\r\n'), 'latin1');
  await once(socket, 'close');
  return text;
}

describe('a route that could be read in two ways', () => {
  const denied = 403;
  const unclear = 400;

  it.each([
    ['the delimiter of the client', '/v1/table/prod.hr.pay/query?delimiter=.', denied],
    ['a delimiter of several characters', '/v1/table/prod--hr--pay/query?delimiter=--', denied],
    ['a delimiter that is encoded', '/v1/table/prod%2Fhr%2Fpay/query?delimiter=%2F', denied],
    ['the delimiter encoded in the route', '/v1/table/prod%24hr%24pay/query', denied],
    ['letters encoded without need', '/v1/table/%70rod$%68r$pay/query', denied],
    ['two delimiters', '/v1/table/prod.hr.pay/query?delimiter=.&delimiter=$', unclear],
    ['an empty delimiter', '/v1/table/prod$hr$pay/query?delimiter=', unclear],
    ['an empty segment', '/v1/table/prod$$hr$pay/query', unclear],
    ['a delimiter at the end', '/v1/table/prod$hr$pay$/query', unclear],
    ['path traversal in an id', '/v1/table/prod$sales$..$hr$pay/query', unclear],
    ['path traversal in the path', '/v1/table/prod$sales/../prod$hr$pay/query', unclear],
    ['path traversal, encoded', '/v1/table/prod$sales%2F..%2F..%2Fhr/query?delimiter=%2F', unclear],
    ['a dot alone', '/v1/table/prod$.$hr$pay/query', unclear],
    ['overlong UTF-8', '/v1/table/prod$%C0%AE%C0%AE$hr$pay/query', unclear],
    ['half a character in UTF-8', '/v1/table/prod$%ED%A0%80/query', unclear],
    ['a control character', '/v1/table/prod$hr%00$pay/query', unclear],
    ['a line break', '/v1/table/prod$hr%0D%0Aset-cookie:x/query', unclear],
    ['an encoding that is cut short', '/v1/table/prod$hr%2/query', unclear],
  ])('by %s is denied or refused: %s', async (_, path, status) => {
    await open();
    const alice = await harness.key({ subject: 'user:ann' });
    const reply = await ask(harness, path, { headers: { 'x-api-key': alice } });
    expect(reply.status).toBe(status);
    expect(harness.events.filter((event) => event.startsWith('handle'))).toEqual([]);
    expect(reply.headers['set-cookie']).toBeUndefined();
  });

  it('by double encoding is another name, which nothing denies', async () => {
    const asked: string[][] = [];
    await open({
      handle: ({ object }) => {
        asked.push([...object]);
        return { status: 200, contentType: 'application/json', body: '{}' };
      },
    });
    const alice = await harness.key({ subject: 'user:ann' });
    const path = '/v1/table/prod$%2568r/query';
    expect((await ask(harness, path, { headers: { 'x-api-key': alice } })).status).toBe(200);
    expect(asked).toEqual([['prod', '%68r']]);
  });
});

describe('injection', () => {
  it('of policy through a subject is a name that no line is about', async () => {
    await open();
    for (const sub of [
      'ann, /prod/hr/**, *, allow\np, user:ann',
      '*',
      'x"\n g, user:x, role:admin',
      'role:admin',
      'ann ',
      'ANN',
    ]) {
      const reply = await withToken(await tokenOf(key, goodClaims({ sub })));
      expect([sub, reply.status]).toEqual([sub, 403]);
      const { subject } = harness.audit.outcomes().at(-1)!;
      expect(subject).toBe(`user:${encodeURIComponent(sub).replaceAll('*', '%2A')}`);
    }
  });

  it('of policy through the name of a table is a name that no line is about', async () => {
    await open();
    const alice = await harness.key({ subject: 'user:ann' });
    for (const name of ['sales, /prod/hr/**', '"*"', '**', 'a\u2028b', "' or 1=1"]) {
      const id = `hr$${encodeURIComponent(name)}`;
      const reply = await ask(harness, `/v1/table/${id}/query`, {
        headers: { 'x-api-key': alice },
      });
      expect([name, reply.status]).toEqual([name, 403]);
    }
  });

  it('of headers through the context never reaches the answer', async () => {
    await open();
    const answer = await raw(
      `POST ${QUERY} HTTP/1.1`,
      'host: h',
      'x-service-ctx-team: a%0d%0aset-cookie: x',
      'x-request-id: a%0d%0aset-cookie:x',
    );
    expect(answer).toMatch(/^HTTP\/1\.1 401 /);
    expect(answer.toLowerCase()).not.toMatch(/^set-cookie/m);
    const bare = await raw(
      `POST ${QUERY} HTTP/1.1`,
      'host: h',
      'x-service-ctx-team: a\rset-cookie: x',
    );
    expect(bare).toMatch(/^HTTP\/1\.1 400 /);
  });

  it('of lines into the log and the audit log stays one line', async () => {
    await open({
      handle: () => {
        throw new Error('it broke\n{"level":30,"msg":"all is well"}');
      },
    });
    const headers = {
      ...admin,
      'user-agent': 'x"}{"decision":"allow"',
      'x-service-ctx-a': '\u2028{}',
    };
    const sent = Buffer.from(headers['x-service-ctx-a']).toString('latin1');
    await ask(harness, QUERY, { headers: { ...headers, 'x-service-ctx-a': sent } });
    expect(harness.logged.every((line) => line.trimEnd().split('\n').length === 1)).toBe(true);
    expect(harness.audit.outcomes()).toMatchObject([
      { user_agent: 'x"}{"decision":"allow"', context: { a: '\u2028{}' }, decision: 'allow' },
    ]);
  });
});

describe('a denied caller', () => {
  it('learns nothing about what exists', async () => {
    const there = new Set(['pay']);
    await open({
      handle: ({ object }) => ({
        status: there.has(object.at(-1) ?? '') ? 200 : 404,
        contentType: 'application/json',
        body: '{}',
      }),
    });
    const alice = await harness.key({ subject: 'user:ann' });
    const answers: { name: string; status: number; text: string; length: number }[] = [];
    for (const name of ['pay', 'gap']) {
      for (const operation of ['query', 'describe', 'drop', 'exists', 'insert']) {
        const reply = await ask(harness, `/v1/table/prod$hr$${name}/${operation}`, {
          headers: { 'x-api-key': alice, 'x-request-id': 'r' },
        });
        const { date: _date, 'x-arrowgate-decision-id': _id, ...headers } = reply.headers;
        const length = Number(headers['content-length']);
        const text = reply.text.replaceAll(name, '');
        answers.push({ name, status: reply.status, text, length });
        expect(headers['x-arrowgate-reason']).not.toContain('policy.csv');
      }
    }
    const of = (name: string) =>
      answers.filter((each) => each.name === name).map((each) => ({ ...each, name: '' }));
    expect(of('pay').map(({ status }) => status)).toEqual([403, 403, 403, 403, 403]);
    expect(of('pay')).toEqual(of('gap'));
    expect(harness.events.filter((event) => event.startsWith('handle'))).toEqual([]);
  });
});

describe('ten thousand guessed keys', () => {
  it('are turned away after the first few, and cost the audit log no disk', async () => {
    await open({ failedIdentifications: 60, trustedProxies: ['127.0.0.0/8'] });
    const good = await harness.key({ subject: 'user:ann' });
    const id = good.split('_')[1];
    const guesses = Array.from(
      { length: 10_000 },
      (_, index) => `agk_${id}_${String(index).padStart(43, 'x')}`,
    );
    const text = await pipelined(guesses);
    const statuses = [...text.matchAll(/HTTP\/1\.1 (\d+) /g)].map(([, status]) => status);
    expect(statuses).toHaveLength(10_000);
    const wrong = statuses.filter((status) => status === '401').length;
    expect(wrong).toBeGreaterThanOrEqual(60);
    expect(statuses.filter((status) => status === '429').length).toBe(10_000 - wrong);
    expect(wrong).toBeLessThan(1_000);
    // One more failure is forgiven each second: it is used up before the good key is sent.
    const oneMore = { headers: { 'x-api-key': guesses[0]! } };
    let limited = await ask(harness, QUERY, { headers: { 'x-api-key': good } });
    for (let tries = 0; limited.status !== 429 && tries < 20; tries++) {
      await ask(harness, QUERY, oneMore);
      limited = await ask(harness, QUERY, { headers: { 'x-api-key': good } });
    }
    expect([limited.status, json(limited)['code']]).toEqual([429, 21]);
    expect(json(limited)['error']).toBe(
      'too many credentials from this address or its network were wrong',
    );
    expect(Number(limited.headers['retry-after'])).toBeGreaterThanOrEqual(1);
    expect(limited.headers['x-arrowgate-decision']).toBe('limited');
    const elsewhere = { 'x-api-key': good, 'x-forwarded-for': '198.51.100.7' };
    expect((await ask(harness, QUERY, { headers: elsewhere })).status).toBe(200);
    expect(harness.events.filter((event) => event.includes('durable'))).toEqual([]);
    secrets.push(...guesses.slice(0, 100).map((guess) => guess.slice(-43)), good.slice(-43));
  });

  async function pipelined(keys: readonly string[]): Promise<string> {
    const socket = connect(Number(harness.url.port), harness.url.hostname);
    const chunks: Buffer[] = [];
    socket.on('data', (chunk: Buffer) => chunks.push(chunk));
    const heads = keys.map((each, index) =>
      [
        `POST ${QUERY} HTTP/1.1`,
        'host: h',
        `x-api-key: ${each}`,
        'content-length: 0',
        ...(index === keys.length - 1 ? ['connection: close'] : []),
        '',
        '',
      ].join('\r\n'),
    );
    socket.write(heads.join(''));
    await once(socket, 'close');
    return Buffer.concat(chunks).toString('latin1');
  }

  it('ask the readiness page in vain too', async () => {
    await open({ failedIdentifications: 5 });
    for (let guess = 0; guess < 6; guess++) {
      await ask(harness, '/readyz', { method: 'GET', headers: { 'x-api-key': `guess ${guess}` } });
    }
    const reply = await ask(harness, '/readyz', { method: 'GET', headers: admin });
    expect(json(reply)).toEqual({ status: 'ok' });
  });
});
