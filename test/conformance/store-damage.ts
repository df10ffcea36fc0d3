import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { StoreDamage } from '../../src/store/damage.ts';
import type { Check, Store } from '../../src/store/store.ts';
import type { StoreUnderTest } from './store.ts';

/** Changes what a store holds without the store, as rot or another program would. */
export interface StoreBytes {
  /** The stored bytes of a value. */
  read(key: string): Promise<Buffer>;
  /** Replaces the stored bytes of a key, or removes key and value. */
  write(key: string, bytes: Uint8Array | null): Promise<void>;
  /** Removes the digests of the keys. */
  loseDigests(): Promise<void>;
}

/** A store under test whose bytes can be changed. */
export interface DamageableStore extends StoreUnderTest {
  readonly bytes: StoreBytes;
  /** Damage that the store has reported. */
  readonly reported: readonly StoreDamage[];
}

/** What every store has to find out about damage. An implementation's test is one call. */
export function storeDamageSuite(name: string, open: () => Promise<DamageableStore>): void {
  describe(`${name}, damaged`, () => {
    let under: DamageableStore;
    let store: Store;

    beforeEach(async () => {
      under = await open();
      store = under.store;
    });

    afterEach(async () => {
      await under.close();
    });

    const put = async (...writes: readonly (readonly [string, string | null])[]) => {
      const sent = writes.map(([key, text]) => ({
        key,
        value: text === null ? null : bytes(text),
      }));
      const result = await store.commit([], sent);
      expect(result.kind).toBe('committed');
    };
    const reopen = async () => {
      store = await under.reopen();
    };
    const checkKeys = () => store.checkKeys!();
    const range = (start: string, end: string) => store.range({ start, end, limit: 100 });

    /** Takes seals and digests from a store, as if an earlier version had written it. */
    const age = async () => {
      for (const { key, value } of await store.range({ start: '', end: '~', limit: 10_000 })) {
        await under.bytes.write(key, value);
      }
      await under.bytes.loseDigests();
      await reopen();
    };

    describe('values', () => {
      const damages: readonly (readonly [string, (stored: Buffer) => Uint8Array])[] = [
        ['the first bit', (stored) => flipped(stored, 0, 0x80)],
        ['the form', (stored) => flipped(stored, 0, 0x01)],
        ['the checksum', (stored) => flipped(stored, 3, 0x10)],
        ['the first byte of the content', (stored) => flipped(stored, 5, 0x01)],
        ['the last byte of the content', (stored) => flipped(stored, stored.length - 1, 0x40)],
        ['the content, to another text', (stored) => Buffer.from(stored).fill('x', 5)],
        ['the length, shorter', (stored) => stored.subarray(0, -1)],
        ['the length, longer', (stored) => Buffer.concat([stored, Buffer.from('!')])],
        ['the seal, away', (stored) => stored.subarray(5)],
        ['all but the form', (stored) => stored.subarray(0, 1)],
        ['everything, away', () => new Uint8Array()],
      ];

      it.each(damages)('that differ in %s are never answered', async (_, damage) => {
        await put(['a', 'first'], ['b', 'second'], ['c', 'third']);
        await under.bytes.write('b', damage(await under.bytes.read('b')));
        const refused = {
          name: 'StoreError',
          kind: 'damaged',
          message: 'the value of the key "b" does not match its checksum',
        };
        await expect(store.get('b')).rejects.toMatchObject(refused);
        await expect(store.getMany(['a', 'b'])).rejects.toMatchObject(refused);
        await expect(range('a', 'd')).rejects.toMatchObject(refused);
        expect(under.reported[0]).toEqual({ kind: 'value', key: 'b' });
        expect([text(await store.get('a')), text(await store.get('c'))]).toEqual([
          'first',
          'third',
        ]);
        const keys = await store.range({ start: 'a', end: 'd', limit: 9, keysOnly: true });
        expect(keys.map(({ key }) => key)).toEqual(['a', 'b', 'c']);
      });

      it('are found after the right value was read', async () => {
        await put(['a', 'first']);
        expect(text(await store.get('a'))).toBe('first');
        await under.bytes.write('a', flipped(await under.bytes.read('a'), 6, 1));
        await expect(store.get('a')).rejects.toMatchObject({ kind: 'damaged' });
      });

      it("are not another key's", async () => {
        await put(['a', 'one'], ['b', 'two']);
        await under.bytes.write('a', await under.bytes.read('b'));
        await expect(store.get('a')).rejects.toMatchObject({ kind: 'damaged' });
        expect(text(await store.get('b'))).toBe('two');
      });

      it('hold no check, and are replaced by the next write', async () => {
        await put(['a', 'one']);
        await under.bytes.write('a', flipped(await under.bytes.read('a'), 7, 2));
        const check: Check = { kind: 'value', key: 'a', value: bytes('one') };
        expect(await store.commit([check], [])).toEqual({ kind: 'conflict', check: 0 });
        await put(['a', 'two']);
        expect(text(await store.get('a'))).toBe('two');
        expect((await checkKeys()).damaged).toEqual([]);
      });
    });

    describe('digests of keys', () => {
      it('match whatever was committed, restored and replayed', async () => {
        await store.restore(each(['r1', 'r2', 'a9', 'é😀']), 3n);
        await put(['a1', ''], ['a1', '2'], ['b1', 'x'], ['none', null], ['r1', null]);
        await put(['a1', null], ['b1', 'y'], ['b2', null], ['a2', 'x'], ['a2', null]);
        await store.commit(
          [{ kind: 'value', key: 'none', value: bytes('x') }],
          [{ key: 'never', value: bytes('x') }],
        );
        await store.replay([
          { sequence: 2n, writes: [{ key: 'long past', value: bytes('x') }] },
          {
            sequence: 6n,
            writes: [
              { key: 'c', value: bytes('x') },
              { key: 'r2', value: null },
            ],
          },
        ]);
        const whole = { keys: 4, damaged: [] };
        expect(await checkKeys()).toEqual(whole);
        await reopen();
        expect(await checkKeys()).toEqual(whole);
        expect(await range('', '~')).toHaveLength(3);
      });

      it('match while others commit', async () => {
        await store.restore(each(Array.from({ length: 5000 }, (_, at) => `k${at}`)), 1n);
        const stop = new AbortController();
        const writers = [1, 2, 3].map(async (writer) => {
          for (let round = 0; !stop.signal.aborted; round++) {
            const at = (round * 997 * writer) % 6000;
            await put([`k${at}`, 'x'], [`k${(at + 3000) % 6000}`, null], [`${writer}/${at}`, '']);
          }
        });
        for (let round = 0; round < 12; round++) {
          expect((await checkKeys()).damaged).toEqual([]);
        }
        stop.abort();
        await Promise.all(writers);
        expect((await checkKeys()).damaged).toEqual([]);
      });

      it('tell that a key is gone, and no absence is believed there any more', async () => {
        await put(['a1', '1'], ['a2', '2'], ['b1', '3']);
        await under.bytes.write('a2', null);
        await reopen();
        const damage = { kind: 'keys', group: 'a', expected: 2, found: 1 };
        expect(await checkKeys()).toEqual({ keys: 2, damaged: [damage] });
        expect(under.reported).toEqual([damage]);
        const refused = {
          kind: 'damaged',
          message: 'the keys that begin with "a" do not match their digest (1 keys, 2 expected)',
        };
        await expect(store.get('a2')).rejects.toMatchObject(refused);
        await expect(store.getMany(['b1', 'a3'])).rejects.toMatchObject(refused);
        await expect(range('a', 'b')).rejects.toMatchObject(refused);
        await expect(range('', 'c')).rejects.toMatchObject(refused);
        const write = [{ key: 'a2', value: bytes('new') }];
        const absent: Check = { kind: 'value', key: 'a2', value: null };
        const none: Check = { kind: 'count', start: 'a2', end: 'a3', count: 0 };
        await expect(store.commit([absent], write)).rejects.toMatchObject(refused);
        await expect(store.commit([none], write)).rejects.toMatchObject(refused);
        expect(await store.sequence()).toBe(1n);
      });

      it('leave everything usable that needs no absence of such a key', async () => {
        await put(['a1', '1'], ['a2', '2'], ['b1', '3']);
        await under.bytes.write('a2', null);
        await checkKeys();
        expect([text(await store.get('a1')), text(await store.get('b1'))]).toEqual(['1', '3']);
        expect(await store.get('b2')).toBeUndefined();
        expect(await range('b', 'c')).toHaveLength(1);
        const holds: Check = { kind: 'value', key: 'a1', value: bytes('1') };
        const absent: Check = { kind: 'value', key: 'b2', value: null };
        const write = { key: 'b2', value: bytes('4') };
        expect(await store.commit([holds, absent], [write])).toMatchObject({ kind: 'committed' });
        expect((await checkKeys()).damaged).toHaveLength(1);
      });

      it('tell of a key that nobody committed', async () => {
        await put(['a1', '1']);
        await under.bytes.write('z', await under.bytes.read('a1'));
        const damage = { kind: 'keys', group: 'z', expected: 0, found: 1 };
        expect((await checkKeys()).damaged).toEqual([damage]);
      });

      it('tell of a key in the place of another', async () => {
        await put(['a1', '1'], ['a2', '2']);
        const moved = await under.bytes.read('a1');
        await under.bytes.write('a1', null);
        await under.bytes.write('a3', moved);
        const damage = { kind: 'keys', group: 'a', expected: 2, found: 2 };
        expect((await checkKeys()).damaged).toEqual([damage]);
      });

      it('that are gone are not computed again', async () => {
        await put(['a1', '1'], ['b1', '2']);
        await under.bytes.loseDigests();
        await reopen();
        await put(['c1', '3']);
        expect((await checkKeys()).damaged.map(({ group }) => group).sort()).toEqual(['a', 'b']);
        expect((await checkKeys()).damaged).toHaveLength(2);
      });
    });

    describe('values of an earlier version', () => {
      const many = Array.from({ length: 2500 }, (_, at) => [`k${at}`, `v${at}`] as const);

      it('are refused until an upgrade seals them', async () => {
        await put(...many, ['a', '1']);
        await age();
        const damaged = { kind: 'damaged' };
        await expect(store.get('k7')).rejects.toMatchObject(damaged);
        await expect(range('a', 'b')).rejects.toMatchObject(damaged);
        const check: Check = { kind: 'value', key: 'a', value: bytes('1') };
        const write = [{ key: 'a', value: bytes('2') }];
        expect(await store.sealOlder!()).toBe(2501);
        expect(await store.sealOlder!()).toBe(0);
        expect(await checkKeys()).toEqual({ keys: 2501, damaged: [] });
        expect(await store.commit([check], write)).toMatchObject({ kind: 'committed' });
        await put(['k3', null]);
        await reopen();
        expect(await checkKeys()).toEqual({ keys: 2500, damaged: [] });
        expect([text(await store.get('k7')), text(await store.get('a'))]).toEqual(['v7', '2']);
      });

      it('are not believed because of a commit, or after the upgrade', async () => {
        await put(['a', '1'], ['b', '1']);
        await age();
        await put(['c', '1']);
        await expect(store.get('a')).rejects.toMatchObject({ kind: 'damaged' });
        expect(await store.sealOlder!()).toBe(0);
        await expect(store.get('a')).rejects.toMatchObject({ kind: 'damaged' });
        const check: Check = { kind: 'value', key: 'a', value: bytes('1') };
        expect(await store.commit([check], [])).toEqual({ kind: 'conflict', check: 0 });
        expect((await checkKeys()).damaged.map(({ group }) => group)).toEqual(['a', 'b']);
      });
    });
  });
}

async function* each(keys: readonly string[]) {
  for (const key of keys) yield { key, value: bytes(`value of ${key}`) };
}

function bytes(content: string): Buffer {
  return Buffer.from(content);
}

function text(value: Uint8Array | undefined): string | undefined {
  return value === undefined ? undefined : Buffer.from(value).toString();
}

function flipped(stored: Buffer, at: number, mask: number): Buffer {
  const changed = Buffer.from(stored);
  changed[at]! ^= mask;
  return changed;
}
