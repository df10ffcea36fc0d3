import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { IncomingMessage, type IncomingHttpHeaders } from 'node:http';
import { Socket } from 'node:net';
import { join } from 'node:path';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { FailureLimit } from '../../src/gateway/identity/failure-limit.ts';
import { Identification } from '../../src/gateway/identity/identification.ts';
import { updateKeys } from '../../src/gateway/identity/key-file.ts';
import { KeyRing } from '../../src/gateway/identity/key-ring.ts';
import { makeKey } from '../../src/gateway/identity/keys.ts';
import { Tokens } from '../../src/gateway/identity/tokens.ts';
import type { Principal } from '../../src/protocol/principal.ts';

const now = new Date();
const made = {
  alice: makeKey({ subject: 'user:alice', roles: ['role:a', 'role:b'], expires: null }, now),
  twin: makeKey({ subject: 'user:alice', roles: ['role:b', 'role:a'], expires: null }, now),
  lesser: makeKey({ subject: 'user:alice', roles: ['role:a'], expires: null }, now),
  narrow: makeKey(
    {
      subject: 'user:alice',
      roles: ['role:a', 'role:b'],
      scopes: [{ action: 'read', pattern: '/**' }],
      expires: null,
    },
    now,
  ),
  bob: makeKey({ subject: 'user:bob', roles: [], expires: null }, now),
  old: makeKey({ subject: 'user:bob', roles: [], expires: new Date(1) }, now),
};

let folder: string;
let identification: Identification;

function principalOf(headers: IncomingHttpHeaders): Principal | Promise<Principal> {
  const incoming = new IncomingMessage(new Socket());
  Object.assign(incoming.headers, headers);
  return identification.principalOf({ incoming, sourceIp: '192.0.2.1' });
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'arrowgate-identify-'));
  const path = join(folder, 'keys.json');
  await updateKeys(path, () => Object.values(made).map((key) => key.stored));
  const keys = new KeyRing(path, 'clé', () => undefined);
  const tokens = new Tokens([], { log: pino({ level: 'silent' }) });
  identification = new Identification({ keys, tokens, failures: new FailureLimit(null) });
});

afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
});

const nobody = 'a key is needed, in the header x-api-key or as "Authorization: Bearer"';
const unknown = 'the credential is not known';
const two = 'the request carries credentials of two principals';
const shape = 'the Authorization header is not "Bearer" and a token';

const { alice, twin, lesser, narrow, bob, old } = made;
/** As Node gives header bytes that are UTF-8. */
const onTheWire = Buffer.from('clé', 'utf8').toString('latin1');

describe('the caller', () => {
  it.each([
    ['a key in x-api-key', { 'x-api-key': alice.text }, 'user:alice'],
    ['a key as bearer token', { authorization: `Bearer ${bob.text}` }, 'user:bob'],
    ['the scheme in other letters', { authorization: `bEARER  ${bob.text}` }, 'user:bob'],
    ['one key twice', { 'x-api-key': bob.text, authorization: `Bearer ${bob.text}` }, 'user:bob'],
    [
      'two keys of one principal',
      { 'x-api-key': alice.text, authorization: `Bearer ${twin.text}` },
      'user:alice',
    ],
    [
      'an empty x-api-key beside a token',
      { 'x-api-key': '', authorization: `Bearer ${bob.text}` },
      'user:bob',
    ],
    ['the administrator key of the process', { 'x-api-key': onTheWire }, 'user:admin'],
  ])('is known by %s', (_, headers, subject) => {
    expect(principalOf(headers)).toMatchObject({ subject });
  });

  it.each([
    ['nothing', {}, nobody],
    ['an empty key', { 'x-api-key': '' }, nobody],
    ['another text', { 'x-api-key': 'hello' }, unknown],
    ['a key with one letter changed', { 'x-api-key': `${alice.text.slice(0, -1)}!` }, unknown],
    ['another scheme', { authorization: 'Basic YTpi' }, shape],
    [
      'another scheme beside a good key',
      { 'x-api-key': bob.text, authorization: 'Basic YTpi' },
      shape,
    ],
    ['an empty token', { authorization: 'Bearer ' }, shape],
    ['two tokens', { authorization: `Bearer ${bob.text} ${bob.text}` }, shape],
    [
      'an unknown token beside a good key',
      { 'x-api-key': bob.text, authorization: 'Bearer x' },
      unknown,
    ],
    ['keys of two people', { 'x-api-key': alice.text, authorization: `Bearer ${bob.text}` }, two],
    [
      'keys with different roles',
      { 'x-api-key': alice.text, authorization: `Bearer ${lesser.text}` },
      two,
    ],
    [
      'keys with different scopes',
      { 'x-api-key': alice.text, authorization: `Bearer ${narrow.text}` },
      two,
    ],
    ['an expired key', { 'x-api-key': old.text }, `the key ${old.stored.id} is expired`],
  ])('is not known by %s', (_, headers, sentence) => {
    expect(() => principalOf(headers)).toThrow(
      expect.objectContaining({ message: sentence, row: expect.objectContaining({ code: 16 }) }),
    );
  });
});
