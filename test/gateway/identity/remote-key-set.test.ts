import { compactVerify } from 'jose';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { KeySetEvents } from '../../../src/gateway/identity/key-set.ts';
import { RemoteKeySet, remoteTimes } from '../../../src/gateway/identity/remote-key-set.ts';
import {
  IdentityProvider,
  signingKey,
  tokenOf,
  type SigningKey,
} from '../../support/identity-provider.ts';
import { eventually } from '../../support/eventually.ts';

let provider: IdentityProvider;
let first: SigningKey;
let second: SigningKey;
let set: RemoteKeySet;
let clock: number;
let events: string[];

beforeEach(async () => {
  [first, second] = [await signingKey('one'), await signingKey('two')];
  provider = await IdentityProvider.start(first);
  clock = 0;
  events = [];
});

afterEach(async () => {
  set.close();
  await provider.stop();
});

const minute = 60_000;

function open(uri = provider.uri, times = remoteTimes): void {
  const told: KeySetEvents = {
    changed: () => events.push('changed'),
    failed: (why) => events.push(why.replaceAll(/\d{4}-[^Z]*Z/g, 'TIME').replace(uri, 'URI')),
    recovered: () => events.push('recovered'),
  };
  set = new RemoteKeySet(uri, { events: told, times, now: () => clock });
}

/** Whether a token of the key is verified, or what it fails with. */
async function verifies(key: SigningKey, kid = key.kid): Promise<string> {
  const token = await tokenOf(key, undefined, { kid });
  try {
    await compactVerify(token, set.find);
    return 'yes';
  } catch (error) {
    return error instanceof Error && 'code' in error ? String(error.code) : String(error);
  }
}

/** Lets what is in progress end, and does what is due so much later. */
async function pass(milliseconds: number): Promise<void> {
  clock += milliseconds;
  const before = provider.asked;
  await eventually(() => {
    set.tick();
    expect(provider.asked).toBe(before + 1);
  });
}

const unknown = 'ERR_JWKS_NO_MATCHING_KEY';

describe('a key set at an address', () => {
  it('is fetched before it is needed, and not again for each token', async () => {
    open();
    await eventually(() => expect(events).toEqual(['changed']));
    expect(await verifies(first)).toBe('yes');
    expect(await verifies(first)).toBe('yes');
    expect(provider.asked).toBe(1);
    expect(set.fault).toBeUndefined();
  });

  it('is fetched anew every five minutes, and what is withdrawn ends then', async () => {
    open();
    expect(await verifies(first)).toBe('yes');
    provider.keys = [second];
    clock = 5 * minute - 1;
    set.tick();
    expect(await verifies(first)).toBe('yes');
    expect(provider.asked).toBe(1);
    clock = 5 * minute;
    set.tick();
    await eventually(async () => expect(await verifies(first)).toBe(unknown));
    expect(await verifies(second)).toBe('yes');
    expect(events).toEqual(['changed', 'changed']);
  });

  it('is fetched at once when a token names a key that is new', async () => {
    open();
    expect(await verifies(first)).toBe('yes');
    provider.keys = [first, second];
    expect(await verifies(second)).toBe('yes');
    expect(provider.asked).toBe(2);
  });

  it('is not fetched for keys that are made up more often than every ten seconds, then ever less', async () => {
    open();
    expect(await verifies(first)).toBe('yes');
    const madeUp = async (): Promise<number> => {
      const names = Array.from({ length: 40 }, (_, index) => `made up ${clock} ${index}`);
      const answers = await Promise.all(names.map((name) => verifies(first, name)));
      expect(new Set(answers)).toEqual(new Set([unknown]));
      return provider.asked;
    };
    expect(await madeUp()).toBe(2);
    clock = 9_999;
    expect(await madeUp()).toBe(2);
    clock = 10_000;
    expect(await madeUp()).toBe(3);
    clock = 29_999;
    expect(await madeUp()).toBe(3);
    clock = 30_000;
    expect(await madeUp()).toBe(4);
    provider.keys = [first, second];
    expect(await verifies(second)).toBe(unknown);
    clock = 70_000;
    expect(await verifies(second)).toBe('yes');
    clock = 80_000;
    expect(await madeUp()).toBe(6);
  });

  it('holds for an hour while its issuer is away, and not longer', async () => {
    open();
    expect(await verifies(first)).toBe('yes');
    provider.respond = (_, response) => response.writeHead(503).end();
    await pass(5 * minute);
    const fault = 'URI cannot be fetched: the answer has status 503';
    await eventually(() =>
      expect(events).toEqual(['changed', `${fault}; the keys of TIME are still accepted`]),
    );
    expect(set.fault).toContain('the answer has status 503; the keys of ');
    await pass(1_000);
    await pass(2_000);
    expect(await verifies(first)).toBe('yes');
    clock = 60 * minute;
    expect(await verifies(first)).toBe('yes');
    clock = 60 * minute + 1;
    expect(await verifies(first)).toContain('KeysUnavailable');
    expect(events.slice(2)).toEqual(['changed', `${fault}; there are no keys`]);
    provider.respond = undefined;
    await pass(30_000);
    expect(await verifies(first)).toBe('yes');
    expect(events.slice(4)).toEqual(['changed', 'recovered']);
    expect(set.fault).toBeUndefined();
  });

  it('is asked for again ever less while its issuer is away', async () => {
    provider.respond = (_, response) => response.writeHead(500).end();
    open();
    await eventually(() => expect(events).toHaveLength(1));
    let asked = 1;
    for (const pause of [1, 2, 4, 8, 16, 30, 30]) {
      clock += pause * 1000 - 1;
      set.tick();
      expect(await verifies(first)).toContain('KeysUnavailable');
      expect(provider.asked).toBe(asked);
      await pass(1);
      asked += 1;
    }
    expect(events).toHaveLength(1);
  });

  it('that is empty is believed: its issuer has withdrawn all keys', async () => {
    provider.keys = [];
    open();
    expect(await verifies(first)).toBe(unknown);
    expect(set.fault).toBeUndefined();
  });

  it.each<readonly [what: string, fault: string, respond: IdentityProvider['respond']]>([
    [
      'a redirect',
      'the answer is a redirect (302), which is not followed',
      (incoming, response) => {
        if (incoming.url === '/jwks') response.writeHead(302, { location: '/other' }).end();
        else response.end(provider.keySet);
      },
    ],
    ['an error', 'the answer has status 404', (_, response) => response.writeHead(404).end()],
    ['a page', 'the answer is no JSON Web Key Set', (_, response) => response.end('<html>')],
    [
      'too much',
      'the answer is longer than 524288 bytes',
      (_, response) => response.end(Buffer.alloc(600_000, ' ')),
    ],
    [
      'endlessly much',
      'the answer is longer than 524288 bytes',
      (_, response) => {
        const timer = setInterval(() => response.write(Buffer.alloc(65_536, ' ')), 1);
        response.on('close', () => clearInterval(timer));
      },
    ],
    [
      'a private key',
      'the answer holds a private or shared key, which must not be there',
      (_, response) => response.end('{"keys":[{"kty":"oct","k":"AAAA"}]}'),
    ],
    ['nothing', 'no answer came in time', () => undefined],
    [
      'a beginning and then nothing',
      'no answer came in time',
      (_, response) => void response.write('{'),
    ],
    [
      'half an answer',
      'it failed (UND_ERR_SOCKET)',
      (_, response) => {
        response.writeHead(200, { 'content-length': '100' });
        response.write('{', () => response.destroy());
      },
    ],
  ])('is not taken from %s', async (_, fault, respond) => {
    provider.respond = respond;
    const timeout = fault === 'no answer came in time' ? 100 : 20_000;
    open(provider.uri, { ...remoteTimes, timeout });
    await eventually(() =>
      expect(events).toEqual([`URI cannot be fetched: ${fault}; there are no keys`]),
    );
    expect(await verifies(first)).toContain('KeysUnavailable');
    expect(provider.asked).toBe(1);
  });

  it('is not taken from where nobody answers', async () => {
    const { uri } = provider;
    await provider.stop();
    open(uri);
    await eventually(() =>
      expect(events).toEqual([
        'URI cannot be fetched: it failed (ECONNREFUSED); there are no keys',
      ]),
    );
    provider = await IdentityProvider.start();
  });
});
