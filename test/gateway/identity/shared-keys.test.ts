import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { randomBytes } from 'node:crypto';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { idPaths, readId } from '../../../src/engine/catalog/records/catalog-id.ts';
import { readState } from '../../../src/engine/catalog/journal/journal-state.ts';
import { openCoordination } from '../../../src/engine/coordination.ts';
import { KeyFollower } from '../../../src/gateway/identity/key-follower.ts';
import { updateKeys } from '../../../src/gateway/identity/key-file.ts';
import { KeyObjects } from '../../../src/gateway/identity/key-objects.ts';
import { KeySeal } from '../../../src/gateway/identity/key-seal.ts';
import { frozen, makeKey, revoked, type StoredKey } from '../../../src/gateway/identity/keys.ts';
import { sealKeys, type KeyFault } from '../../../src/gateway/identity/sealed-keys.ts';
import { SharedKeys } from '../../../src/gateway/identity/shared-keys.ts';
import { StorageUnavailable } from '../../../src/storage/storage-error.ts';
import { LocalStorage } from '../../../src/storage/local-storage.ts';
import { openRedisStore } from '../../../src/store/redis/store.ts';
import type { Store, StoreEntry } from '../../../src/store/store.ts';
import { RedisServer } from '../../support/redis-server.ts';

let redis: RedisServer;
beforeAll(async () => {
  redis = await RedisServer.start();
});
afterAll(() => redis.stop());

const secret = randomBytes(32);
const NOW = new Date('2026-11-24T12:00:00Z');
const storage = new LocalStorage();
const made = (subject: string, ...roles: readonly string[]): StoredKey =>
  makeKey({ subject: `user:${subject}`, roles, expires: null }, NOW).stored;

let home: string;
let journal: string;
let closers: (() => Promise<void>)[];
/** The store as somebody else who can write to Redis. */
let writer: Store;
let a: Gateway;
let b: Gateway;
const [ann, ben] = [made('ann'), made('ben')];

interface Gateway {
  readonly keys: SharedKeys;
  readonly seal: KeySeal;
  readonly copy: string;
  readonly faults: KeyFault[];
}

/** The storage of the journal, which a test may take away. */
function guarded(check: () => void): LocalStorage {
  return new Proxy(storage, {
    get(all, name: keyof LocalStorage) {
      check();
      const member = all[name];
      return typeof member === 'function' ? member.bind(all) : member;
    },
  });
}

async function gateway(
  name: string,
  sealedBy = secret,
  requireRedis: () => void = () => undefined,
  requireJournal: () => void = () => undefined,
): Promise<Gateway> {
  const store = await openRedisStore({ url: redis.url, catalog: home });
  closers.push(() => store.close());
  const place = { data: join(home, name), journal };
  await storage.folders.make(place.data);
  const coordination = await openCoordination(storage, place, store);
  closers.push(() => coordination.journal.close());
  const seal = new KeySeal(sealedBy, (await readId(storage, idPaths(journal).final))!);
  const faults: KeyFault[] = [];
  const keys = new SharedKeys({
    ...coordination,
    store: {
      get: async (key) => {
        requireRedis();
        return coordination.store.get(key);
      },
      range: (range) => coordination.store.range(range),
    },
    objects: new KeyObjects(guarded(requireJournal), journal),
    seal,
    copy: join(place.data, 'keys.json'),
    onFault: (fault) => faults.push(fault),
  });
  return { keys, seal, copy: join(place.data, 'keys.json'), faults };
}

beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'arrowgate-shared-keys-'));
  journal = join(home, 'journal');
  closers = [];
  writer = await openRedisStore({ url: redis.url, catalog: home });
  closers.push(() => writer.close());
  a = await gateway('a');
  b = await gateway('b');
  await a.keys.update(() => [ann, ben]);
});
afterEach(async () => {
  for (const close of closers.reverse()) await close();
  await rm(home, { recursive: true });
});

const end = (id: string) => (keys: readonly StoredKey[]) =>
  keys.map((key) => (key.id === id ? revoked(key, NOW) : key));
const stored = (): Promise<readonly StoreEntry[]> =>
  writer.range({ start: 'K', end: 'L', limit: 100 });
const put = (writes: readonly { key: string; value: Uint8Array | null }[]) =>
  writer.commit([], writes);
/** The keys of a gateway, by id, and whether they are revoked. */
const found = async ({ keys }: Gateway) =>
  Object.fromEntries(
    [...((await keys.look())?.keys.values() ?? [])].map((key) => [
      key.id,
      key.revoked === null ? 'active' : 'revoked',
    ]),
  );
const copied = async ({ copy }: Gateway): Promise<readonly StoredKey[]> =>
  (JSON.parse(await readFile(copy, 'utf8')) as { keys: readonly StoredKey[] }).keys;

describe('API keys that gateways share', () => {
  it('are changed by each, and seen by all, in their data folders and in the journal', async () => {
    await b.keys.update(end(ann.id));
    const third = made('cleo');
    await a.keys.update((keys) => [...keys, third]);
    const expected = { [ann.id]: 'revoked', [ben.id]: 'active', [third.id]: 'active' };
    expect(await found(b)).toEqual(expected);
    expect(await copied(b)).toEqual(await copied(a));
    const state = await readState(storage, journal);
    const journaled: string[] = [];
    for await (const { key } of state.entries()) if (key.startsWith('K')) journaled.push(key);
    expect(journaled).toEqual([
      'K',
      ...Object.keys(expected)
        .map((id) => `K/${id}`)
        .toSorted(),
    ]);
  });

  it('may be changed by many at once', async () => {
    const more = Array.from({ length: 8 }, (_, at) => made(`k${at}`));
    await Promise.all(
      more.map((key, at) => (at % 2 ? a : b).keys.update((keys) => [...keys, key])),
    );
    expect(Object.keys(await found(a))).toHaveLength(10);
    expect([a.faults, b.faults]).toEqual([[], []]);
  });

  it.each<[string, KeyFault['kind'], (before: readonly StoreEntry[]) => Promise<unknown>]>([
    [
      'an invented administrator',
      'forged',
      async () => {
        const key = made('mallory', 'role:admin');
        const [, entry] = sealKeys(new KeySeal(randomBytes(32), 'x'), {
          change: 9,
          keys: new Map([[key.id, key]]),
        });
        return put([entry!]);
      },
    ],
    [
      'a key with another role',
      'forged',
      async () => {
        const entry = (await stored()).find(({ key }) => key === `K/${ben.id}`)!;
        const text = Buffer.from(entry.value).toString().replace('[]', '["role:admin"]');
        return put([{ key: entry.key, value: Buffer.from(text) }]);
      },
    ],
    [
      'a key under the id of another',
      'forged',
      async () => {
        const { value } = (await stored()).find(({ key }) => key === `K/${ben.id}`)!;
        return put([{ key: `K/${ann.id}`, value }]);
      },
    ],
    [
      'an older state of a revoked key',
      'older',
      (before) => put(before.filter(({ key }) => key === `K/${ann.id}`)),
    ],
    ['older states of all keys', 'older', (before) => put(before)],
    ['a revoked key that is gone', 'missing', () => put([{ key: `K/${ann.id}`, value: null }])],
    ['a head that is gone', 'missing', () => put([{ key: 'K', value: null }])],
    [
      'no key at all',
      'older',
      async () => put((await stored()).map(({ key }) => ({ key, value: null }))),
    ],
  ])('are restored after %s, which is reported', async (_, kind, attack) => {
    const before = await stored();
    await a.keys.update(end(ann.id));
    const sound = await stored();
    await found(b);
    await attack(before);
    const expected = { [ann.id]: 'revoked', [ben.id]: 'active' };
    // A gateway that has no copy of the keys.
    const fresh = await gateway('c');
    for (const one of [fresh, a, b]) expect(await found(one)).toEqual(expected);
    expect(fresh.faults[0]?.kind).toBe(kind);
    expect((await stored()).slice(1)).toEqual(sound.slice(1));
    expect((await copied(b)).every(({ roles }) => roles.length === 0)).toBe(true);
  });

  it('do not lose a revocation to a change that took its number', async () => {
    const before = (await a.keys.look())!;
    await a.keys.update(end(ann.id));
    const cleo = { ...made('cleo'), change: before.change + 1 };
    const fork = { change: before.change + 1, keys: new Map(before.keys).set(cleo.id, cleo) };
    await put(sealKeys(b.seal, fork));
    const expected = { [ann.id]: 'revoked', [ben.id]: 'active', [cleo.id]: 'active' };
    expect(await found(b)).toEqual(expected);
    expect(await found(a)).toEqual(expected);
  });

  it('are journaled before anybody acts on a change whose writer died', async () => {
    const { change, keys } = (await a.keys.look())!;
    const next = new Map(keys).set(ann.id, { ...revoked(ann, NOW), change: change + 1 });
    await put(sealKeys(a.seal, { change: change + 1, keys: next }));
    expect(await found(b)).toEqual({ [ann.id]: 'revoked', [ben.id]: 'active' });
    const last = `keys-${String(change + 1).padStart(16, '0')}.json`;
    expect(await storage.names(join(journal, 'keys'))).toContain(last);
    expect((await readState(storage, journal)).sequence).toBe(await writer.sequence());
  });

  it('are sealed anew with another secret, by who has the newest copy', async () => {
    await found(b);
    await a.keys.update(end(ann.id));
    const next = randomBytes(32);
    const old = await gateway('b', next);
    await expect(old.keys.reseal()).rejects.toThrow(
      'keys.json has the keys after change 1, but the last one is 2: use the data folder of a gateway with newer keys',
    );
    await expect((await gateway('g', next)).keys.reseal()).rejects.toThrow(
      'is no copy of shared keys',
    );
    const renewed = await gateway('a', next);
    expect(await renewed.keys.reseal()).toBe(2);
    expect(await found(renewed)).toEqual({ [ann.id]: 'revoked', [ben.id]: 'active' });
    await expect(b.keys.look()).rejects.toThrow('copy private/key-secret');
  });

  it('keep a frozen key frozen', async () => {
    await a.keys.update((keys) => keys.map((key) => (key.id === ben.id ? frozen(key, NOW) : key)));
    await b.keys.update(end(ann.id));
    expect((await copied(b)).find(({ id }) => id === ben.id)?.frozen).toBe(NOW.toISOString());
  });

  it('are refused with another secret, and with a file that has keys of its own', async () => {
    const strange = await gateway('d', randomBytes(32));
    await expect(strange.keys.look()).rejects.toThrow(
      /the secret of this gateway did not authenticate .*keys-0000000000000001.json: copy private\/key-secret of a gateway whose keys work/,
    );
    const own = await gateway('e');
    await updateKeys(own.copy, () => [made('eve')]);
    const sentence = `${own.copy} holds keys of its own, but the gateways of this catalog share their keys: arrowgate keys move adds the keys of the file to them`;
    await expect(own.keys.look()).rejects.toThrow(sentence);
    await expect(own.keys.update(end(ann.id))).rejects.toThrow(sentence);
    await expect(updateKeys(a.copy, (keys) => keys)).rejects.toThrow(
      'is a copy of keys that gateways share through Redis',
    );
  });
});

describe('a gateway that follows shared keys', () => {
  it('accepts known keys while the journal is away, until others change them', async () => {
    let now = 0;
    let isAway = false;
    const { keys } = await gateway('h', secret, undefined, () => {
      if (isAway) throw new StorageUnavailable('the bucket is away', 5);
    });
    const follower = new KeyFollower({
      open: async () => keys,
      onFault: () => undefined,
      onLost: () => undefined,
      now: () => now,
    });
    await follower.step();
    isAway = true;
    now += 400_000;
    await follower.step();
    expect([follower.closed(), follower.fault()]).toEqual([undefined, undefined]);
    await a.keys.update(end(ann.id));
    await follower.step();
    expect([follower.closed(), follower.fault()]).toEqual([undefined, 'the bucket is away']);
    now += 400_000;
    await follower.step();
    expect(follower.closed()).toContain('the bucket is away');
    isAway = false;
    await follower.step();
    expect([follower.closed(), follower.fault()]).toEqual([undefined, undefined]);
  });

  it('accepts keys for five minutes without Redis or journal, and then none', async () => {
    let now = 0;
    let isAway = false;
    const lost: (string | undefined)[] = [];
    const { keys } = await gateway('f', secret, () => {
      if (isAway) throw new Error('Redis is away');
    });
    const follower = new KeyFollower({
      open: async () => keys,
      onFault: () => undefined,
      onLost: (reason) => lost.push(reason),
      now: () => now,
    });
    expect(follower.closed()).toBe('API keys cannot be compared with those of the catalog');
    await follower.step();
    isAway = true;
    now += 299_000;
    await follower.step();
    expect([follower.closed(), follower.fault()]).toEqual([undefined, 'Redis is away']);
    now += 2000;
    expect(follower.closed()).toBe(
      'API keys cannot be compared with those of the catalog: Redis is away',
    );
    isAway = false;
    await follower.step();
    expect([follower.closed(), follower.fault(), lost]).toEqual([
      undefined,
      undefined,
      ['Redis is away', undefined],
    ]);
  });
});
