import { mkdtemp, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { JWTPayload } from 'jose';
import { Tokens } from '../../../src/gateway/identity/tokens.ts';
import type { Issuer } from '../../../src/policy/settings/issuer.ts';
import {
  goodClaims,
  IdentityProvider,
  secondsFromNow,
  signingKey,
  tokenOf,
  type SigningKey,
} from '../../support/identity-provider.ts';

let provider: IdentityProvider;
let key: SigningKey;
let tokens: Tokens;
let logged: string[];

beforeEach(async () => {
  key = await signingKey('one');
  provider = await IdentityProvider.start(key);
  logged = [];
});

afterEach(async () => {
  vi.useRealTimers();
  tokens.close();
  await provider.stop();
});

function corp(more: Partial<Issuer> = {}): Issuer {
  return {
    name: 'corp',
    issuer: provider.issuer,
    audiences: ['catalog'],
    keys: { kind: 'uri', uri: provider.uri },
    algorithms: ['ES256'],
    subjectClaim: 'sub',
    groupsClaim: 'groups',
    subjectPrefix: '',
    groupPrefix: '',
    clockTolerance: 5,
    ...more,
  };
}

function open(...issuers: readonly Issuer[]): void {
  const log = pino({ level: 'info' }, { write: (line: string) => void logged.push(line) });
  tokens = new Tokens(issuers, { log });
}

async function refusalOf(token: string): Promise<string> {
  return tokens.verify(token).then(
    () => 'none',
    (error: unknown) => (error instanceof Error ? error.message : ''),
  );
}

describe('the principal of a token', () => {
  it.each<readonly [what: string, claims: JWTPayload, subject: string, groups: readonly string[]]>([
    ['has no groups without the claim', {}, 'user:ann', []],
    ['has one group from a text', { groups: 'data' }, 'user:ann', ['group:data']],
    [
      'has groups from a list, each once',
      { groups: ['b', 'a', 'b'] },
      'user:ann',
      ['group:b', 'group:a'],
    ],
    ['has no groups from null', { groups: null }, 'user:ann', []],
    [
      'is percent-encoded like a path',
      { sub: 'Zoë B/role:admin', groups: ['a,b"\n', '../x', '*'] },
      'user:Zo%C3%AB%20B%2Frole%3Aadmin',
      ['group:a%2Cb%22%0A', 'group:..%2Fx', 'group:%2A'],
    ],
  ])('%s', async (_, claims, subject, groups) => {
    open(corp());
    expect(await tokens.verify(await tokenOf(key, goodClaims(claims)))).toEqual({
      subject,
      groups,
      roles: [],
      credential: { kind: 'token', issuer: 'https://idp.example.com' },
    });
  });

  it('carries the prefixes of its issuer, and comes from the claims that this names', async () => {
    const own = { subjectClaim: 'email', groupsClaim: 'https://x.example/teams' };
    open(corp({ ...own, subjectPrefix: 'corp:', groupPrefix: 'g:' }));
    const claims = { email: 'a@b.example', 'https://x.example/teams': ['t'], groups: ['no'] };
    expect(await tokens.verify(await tokenOf(key, goodClaims(claims)))).toMatchObject({
      subject: 'user:corp%3Aa%40b.example',
      groups: ['group:g%3At'],
    });
  });

  it.each<readonly [what: string, claims: JWTPayload, sentence: string]>([
    ['no subject', { sub: undefined }, 'the token has no claim sub'],
    ['an empty subject', { sub: '' }, 'the claim sub of the token must be text that is not empty'],
    [
      'a subject that is a list',
      JSON.parse('{"sub":["ann"]}'),
      'the claim sub of the token must be text that is not empty',
    ],
    [
      'a subject that is too long',
      { sub: 'a'.repeat(513) },
      'the claim sub of the token holds more than 512 characters',
    ],
    ['half a character', { sub: 'a\ud800' }, 'the claim sub of the token is not valid Unicode'],
    [
      'a group that is no text',
      { groups: ['a', 5] },
      'the claim groups of the token must be text that is not empty',
    ],
    [
      'an empty group',
      { groups: '' },
      'the claim groups of the token must be text that is not empty',
    ],
    [
      'groups that are a mapping',
      { groups: { a: true } },
      'the claim groups of the token must be text that is not empty',
    ],
    [
      'groups that are kept elsewhere',
      { _claim_names: { groups: 'src1' } },
      'the claim groups of the token is a distributed claim, which is not supported',
    ],
  ])('is nobody with %s', async (_, claims, sentence) => {
    open(corp());
    expect(await refusalOf(await tokenOf(key, goodClaims(claims)))).toBe(sentence);
  });
});

describe('several issuers', () => {
  it('are told apart by the exact claim iss, and none verifies for another', async () => {
    const theirs = await signingKey('one');
    const folder = await mkdtemp(join(tmpdir(), 'arrowgate-tokens-'));
    try {
      const path = join(folder, 'keys.json');
      await writeFile(path, JSON.stringify({ keys: [theirs.shown] }));
      const builds = {
        name: 'builds',
        issuer: 'https://builds.example.com',
        audiences: ['other', 'catalog'],
        keys: { kind: 'file', path },
        subjectPrefix: 'b:',
        groupPrefix: 'b:',
      } as const;
      open(corp({ subjectPrefix: 'c:', groupPrefix: 'c:' }), corp(builds));
      const named = (iss: string) => goodClaims({ iss });
      const own = 'https://builds.example.com';
      expect(await tokens.verify(await tokenOf(theirs, named(own)))).toMatchObject({
        subject: 'user:b%3Aann',
      });
      expect(await tokens.verify(await tokenOf(key))).toMatchObject({ subject: 'user:c%3Aann' });
      const wrong = 'the signature of the token is wrong';
      expect(await refusalOf(await tokenOf(key, named(own)))).toBe(wrong);
      expect(await refusalOf(await tokenOf(theirs))).toBe(wrong);
      const unknown = 'the issuer of the token is not configured';
      for (const iss of [`${own}/`, own.toUpperCase(), 'constructor', '']) {
        expect(await refusalOf(await tokenOf(theirs, named(iss)))).toBe(unknown);
      }
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  it('are not asked for the keys of one that is not known', async () => {
    open(corp());
    await tokens.verify(await tokenOf(key));
    await refusalOf(await tokenOf(key, goodClaims({ iss: 'https://x.example' }), { kid: 'x' }));
    expect(provider.asked).toBe(1);
  });
});

describe('a verified token', () => {
  it('is known until it expires, and not beyond', async () => {
    open(corp());
    const token = await tokenOf(key, goodClaims({ exp: secondsFromNow(60) }));
    expect(tokens.cached(token)).toBeUndefined();
    const principal = await tokens.verify(token);
    expect(tokens.cached(token)).toBe(principal);
    expect(
      tokens.cached(`${token.slice(0, -1)}${token.endsWith('A') ? 'B' : 'A'}`),
    ).toBeUndefined();
    vi.useFakeTimers({ toFake: ['Date'], now: secondsFromNow(60) * 1000 });
    expect(tokens.cached(token)).toBeUndefined();
    vi.setSystemTime(secondsFromNow(6) * 1000);
    expect(await refusalOf(token)).toBe('the token has expired');
  });

  it('is verified anew after the issuers were loaded again, without another fetch', async () => {
    open(corp());
    const token = await tokenOf(key);
    await tokens.verify(token);
    tokens.replace([corp({ audiences: ['elsewhere'] })]);
    expect(tokens.cached(token)).toBeUndefined();
    expect(await refusalOf(token)).toBe('the token is for another audience');
    tokens.replace([]);
    expect(tokens.looksLikeOne(token)).toBe(false);
    expect(provider.asked).toBe(1);
  });

  it('is not known any more when the key that signed it is withdrawn', async () => {
    open(corp());
    const token = await tokenOf(key);
    await tokens.verify(token);
    const next = await signingKey('two');
    provider.keys = [next];
    await tokens.verify(await tokenOf(next));
    expect(tokens.cached(token)).toBeUndefined();
    expect(await refusalOf(token)).toBe('the token is signed by no key of its issuer');
  });

  it('is judged by the issuers that are trusted when it has been verified', async () => {
    open(corp());
    provider.respond = (_, response) => {
      tokens.replace([corp({ audiences: ['elsewhere'] })]);
      response.end(provider.keySet);
    };
    expect(await refusalOf(await tokenOf(key))).toBe('the token is for another audience');
  });
});

describe('the keys of an issuer', () => {
  it('that cannot be had make its tokens unavailable, not wrong', async () => {
    provider.respond = (_, response) => response.writeHead(500).end();
    open(corp());
    await expect(tokens.verify(await tokenOf(key))).rejects.toMatchObject({
      row: { code: 17 },
      message: 'the keys of the issuer of the token are unavailable',
    });
    const fault = `${provider.uri} cannot be fetched: the answer has status 500; there are no keys`;
    expect(tokens.fault()).toBe(`corp: ${fault}`);
    expect(logged.map((line) => JSON.parse(line))).toMatchObject([
      { issuer: 'corp', fault, msg: 'the keys of an issuer are not current' },
    ]);
  });

  it('follow their file, and stay while a bad one lies there', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'arrowgate-tokens-'));
    try {
      const path = join(folder, 'keys.json');
      const place = async (text: string): Promise<void> => {
        await writeFile(`${path}.new`, text);
        await rename(`${path}.new`, path);
        tokens.tick();
      };
      const next = await signingKey('two');
      await writeFile(path, provider.keySet);
      open(corp({ keys: { kind: 'file', path } }));
      const token = await tokenOf(key);
      await tokens.verify(token);
      await place('{');
      expect(tokens.cached(token)).toBeDefined();
      expect(tokens.fault()).toBe(`corp: ${path} is no JSON Web Key Set`);
      await rm(path);
      tokens.tick();
      expect(tokens.fault()).toBe(`corp: ${path} cannot be read (ENOENT)`);
      await place(JSON.stringify({ keys: [next.shown] }));
      expect(tokens.fault()).toBeUndefined();
      expect(tokens.cached(token)).toBeUndefined();
      expect(await tokens.verify(await tokenOf(next))).toMatchObject({ subject: 'user:ann' });
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  it('stay while nothing can be said about their file', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'arrowgate-tokens-'));
    try {
      const path = join(folder, 'keys.json');
      await writeFile(path, provider.keySet);
      open(corp({ keys: { kind: 'file', path } }));
      const token = await tokenOf(key);
      await tokens.verify(token);
      await rm(path);
      await symlink('keys.json', path);
      tokens.tick();
      expect(tokens.fault()).toBe(`corp: ${path} cannot be read (ELOOP)`);
      expect(tokens.cached(token)).toBeDefined();
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  it('are chosen without a name only when there is one', async () => {
    open(corp());
    expect(await refusalOf(await tokenOf(key, goodClaims(), { kid: undefined }))).toBe('none');
    provider.keys = [key, await signingKey('two')];
    tokens.replace([]);
    tokens.replace([corp()]);
    expect(await refusalOf(await tokenOf(key, goodClaims(), { kid: undefined }))).toBe(
      'the token does not say by which key of its issuer it is signed',
    );
  });
});
