import { setImmediate } from 'node:timers/promises';
import * as fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Check, KeyRange, Store, StoreEntry, Write } from '../../src/store/store.ts';
import { casesOf } from '../support/cases.ts';

/** A store under test, on a place of its own. */
export interface StoreUnderTest {
  readonly store: Store;
  /** Closes the store and opens it again on what it left behind. */
  reopen(): Promise<Store>;
  /** Closes the store and removes what it left behind. */
  close(): Promise<void>;
}

const WRITERS = 8;
const LARGE_BYTES = 8 * 2 ** 20;

/** What every store has to do. An implementation's test is one call. */
export function storeSuite(name: string, open: () => Promise<StoreUnderTest>): void {
  describe(name, () => {
    let under: StoreUnderTest;
    let store: Store;

    beforeEach(async () => {
      under = await open();
      store = under.store;
    });

    afterEach(async () => {
      await under.close();
    });

    const reopen = async (): Promise<void> => {
      store = await under.reopen();
    };

    describe('values', () => {
      it('are read back byte for byte, the empty one too', async () => {
        const bytes = Uint8Array.from({ length: 256 }, (_, index) => index);
        await put(store, [
          ['all', bytes],
          ['empty', new Uint8Array(0)],
        ]);
        expect(hex(await store.get('all'))).toBe(hex(bytes));
        expect(hex(await store.get('empty'))).toBe('');
        expect(await store.get('missing')).toBeUndefined();
      });

      it('are replaced and removed', async () => {
        await put(store, [['a', 'first']]);
        await put(store, [['a', 'second']]);
        expect(text(await store.get('a'))).toBe('second');
        await put(store, [
          ['a', null],
          ['never there', null],
        ]);
        expect(await store.get('a')).toBeUndefined();
      });

      it('do not change when a later commit does', async () => {
        await put(store, [['a', 'before']]);
        const [direct, [many], [entry]] = await Promise.all([
          store.get('a'),
          store.getMany(['a']),
          store.range({ start: 'a', end: 'b', limit: 1 }),
        ]);
        await put(store, [['a', 'after!']]);
        await put(store, [['b', 'x'.repeat(10_000)]]);
        await store.get('b');
        expect([text(direct), text(many), text(entry?.value)]).toEqual([
          'before',
          'before',
          'before',
        ]);
      });

      it('may be large', async () => {
        const large = Buffer.alloc(LARGE_BYTES, 'arrowgate');
        await put(store, [
          ['large', large],
          ['small', 'x'],
        ]);
        await reopen();
        expect(large.equals((await store.get('large'))!)).toBe(true);
        const [entry] = await store.range({ start: 'l', end: 'm', limit: 5 });
        expect(large.equals(entry!.value)).toBe(true);
        const [change] = await store.changes(1);
        expect(large.equals(change!.writes[0]!.value!)).toBe(true);
        const swapped = await store.commit(
          [{ kind: 'value', key: 'large', value: large }],
          [{ key: 'large', value: Buffer.from('now small') }],
        );
        expect(swapped.kind).toBe('committed');
      });

      it('are read together in the order asked for, at one moment', async () => {
        await put(store, [
          ['left', '0'],
          ['right', '0'],
        ]);
        const mover = (async () => {
          for (let round = 1; round <= 200; round++) {
            await put(store, [
              ['left', String(round)],
              ['right', String(round)],
            ]);
          }
        })();
        for (let round = ''; round !== '200';) {
          const [right, none, left] = await store.getMany(['right', 'none', 'left']);
          expect([text(left), none]).toEqual([text(right), undefined]);
          round = text(left)!;
          await setImmediate();
        }
        await mover;
      });
    });

    describe('keys', () => {
      it('are ordered by their UTF-8 bytes, not by UTF-16 units', async () => {
        const ordered = ['a', 'a\u0000b', 'a!', 'aa', 'b', 'é', '\uffee', '𐀀', '😀'];
        await put(
          store,
          ordered.toReversed().map((key) => [key, key]),
        );
        expect(await keysOf(store, { start: '', end: '\u{10ffff}', limit: 100 })).toEqual(ordered);
      });

      it('are bounded in length, and have to be valid Unicode', async () => {
        const longest = 'é'.repeat(950);
        await put(store, [[longest, 'x']]);
        expect(text(await store.get(longest))).toBe('x');
        const refused = { name: 'StoreError', kind: 'key' };
        await expect(put(store, [[`${longest}x`, 'x']])).rejects.toMatchObject({
          ...refused,
          message: 'a key has 1901 bytes, more than 1900',
        });
        await expect(put(store, [['\ud800', 'x']])).rejects.toMatchObject({
          ...refused,
          message: 'a key is not valid Unicode',
        });
        await expect(put(store, [['', 'x']])).rejects.toMatchObject({
          ...refused,
          message: 'a key is not empty',
        });
        await expect(store.get(`${longest}x`)).rejects.toMatchObject(refused);
        await expect(
          store.commit([{ kind: 'value', key: '\udfff', value: null }], []),
        ).rejects.toMatchObject(refused);
        await expect(
          store.range({ start: 'a', end: 'b'.repeat(2000), limit: 1 }),
        ).rejects.toMatchObject(refused);
      });

      it('that are refused leave nothing of their commit', async () => {
        await expect(
          put(store, [
            ['good', 'x'],
            ['', 'x'],
          ]),
        ).rejects.toMatchObject({ kind: 'key' });
        expect(await store.get('good')).toBeUndefined();
        expect(await store.changes(10)).toEqual([]);
      });
    });

    describe('ranges', () => {
      const keys = Array.from({ length: 50 }, (_, index) => `k${String(index).padStart(2, '0')}`);

      beforeEach(async () => {
        await put(
          store,
          keys.map((key) => [key, key]),
        );
      });

      it('include their start and exclude their end, in both directions', async () => {
        const range = { start: 'k10', end: 'k13', limit: 100 };
        expect(await keysOf(store, range)).toEqual(['k10', 'k11', 'k12']);
        expect(await keysOf(store, { ...range, reverse: true })).toEqual(['k12', 'k11', 'k10']);
      });

      it('stop at their limit', async () => {
        const range = { start: 'k', end: 'l', limit: 2 };
        expect(await keysOf(store, range)).toEqual(['k00', 'k01']);
        expect(await keysOf(store, { ...range, reverse: true })).toEqual(['k49', 'k48']);
        expect(await keysOf(store, { ...range, limit: 0 })).toEqual([]);
      });

      it('are empty when they end before they start', async () => {
        for (const reverse of [false, true]) {
          expect(await keysOf(store, { start: 'k20', end: 'k10', limit: 9, reverse })).toEqual([]);
          expect(await keysOf(store, { start: 'k20', end: 'k20', limit: 9, reverse })).toEqual([]);
        }
      });

      it('are walked in pages, forwards and backwards', async () => {
        expect(await walk(store, false)).toEqual(keys);
        expect(await walk(store, true)).toEqual(keys.toReversed());
      });
    });

    it('answers ranges and counts as a sorted list would', async () => {
      const key = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 3 });
      const bound = fc.string({ unit: 'grapheme', maxLength: 3 });
      const present = new Set<string>();
      await fc.assert(
        fc.asyncProperty(
          fc.array(key, { maxLength: 5 }),
          fc.record({
            start: bound,
            end: bound,
            limit: fc.nat(8),
            reverse: fc.boolean(),
            keysOnly: fc.boolean(),
          }),
          async (added, range) => {
            await put(
              store,
              added.map((each) => [each, each]),
            );
            for (const each of added) present.add(each);
            const inside = expected([...present], range.start, range.end);
            const wanted = range.reverse ? inside.toReversed() : inside;
            expect(await keysOf(store, range)).toEqual(wanted.slice(0, range.limit));
            const { start, end } = range;
            const check: Check = { kind: 'count', start, end, count: inside.length };
            expect((await store.commit([check], [])).kind).toBe('committed');
          },
        ),
        { numRuns: casesOf(25, 60) },
      );
    });

    describe('commits', () => {
      it('apply all writes when every check holds', async () => {
        await put(store, [['a', '1']]);
        const result = await store.commit(
          [value('a', '1'), value('b', null), { kind: 'count', start: 'a', end: 'c', count: 1 }],
          [write('a', null), write('b', '2'), write('c', '3')],
        );
        expect(result).toEqual({ kind: 'committed', sequence: 2n });
        expect(await contents(store)).toEqual({ b: '2', c: '3' });
      });

      const refusals: readonly [string, Check][] = [
        ['another value', value('a', '2')],
        ['a longer value', value('a', '11')],
        ['an absent key', value('missing', '1')],
        ['a present key', value('a', null)],
        ['a present key that is empty', value('empty', null)],
        ['an absent key that should be empty', value('missing', '')],
        ['more keys in a range', { kind: 'count', start: 'a', end: 'z', count: 1 }],
        ['fewer keys in a range', { kind: 'count', start: 'a', end: 'z', count: 3 }],
        ['no key in a range', { kind: 'count', start: 'x', end: 'z', count: 1 }],
      ];

      it.each(refusals)('write nothing on %s, and name the check', async (_, check) => {
        await put(store, [
          ['a', '1'],
          ['empty', ''],
        ]);
        const before = await contents(store);
        const holds = value('a', '1');
        const result = await store.commit(
          [holds, holds, check, value('also wrong', 'x')],
          [write('a', 'overwritten'), write('new', 'x')],
        );
        expect(result).toEqual({ kind: 'conflict', check: 2 });
        expect(await contents(store)).toEqual(before);
        expect(await store.changes(10)).toHaveLength(1);
      });

      it('number themselves, one after the other, the empty ones too', async () => {
        const sequences: bigint[] = [];
        for (let round = 0; round < 3; round++) {
          sequences.push(await put(store, []), await put(store, [['a', String(round)]]));
          await store.commit([value('a', 'never')], []);
        }
        await reopen();
        sequences.push(await put(store, []));
        expect(sequences).toEqual([1n, 2n, 3n, 4n, 5n, 6n, 7n]);
      });

      it('take the last of several writes to a key', async () => {
        await put(store, [
          ['a', '1'],
          ['a', '2'],
          ['b', '1'],
          ['b', null],
        ]);
        expect(await contents(store)).toEqual({ a: '2' });
      });

      it('let exactly one of many win that saw the same value', async () => {
        for (let round = 0; round < 20; round++) {
          const before = await store.get('register');
          const results = await Promise.all(
            Array.from({ length: WRITERS }, (_, writer) =>
              store.commit(
                [{ kind: 'value', key: 'register', value: before ?? null }],
                [write('register', `${round}/${writer}`), write(`won/${round}/${writer}`, '')],
              ),
            ),
          );
          expect(results.filter(({ kind }) => kind === 'committed')).toHaveLength(1);
          expect(results.filter(({ kind }) => kind === 'conflict')).toHaveLength(WRITERS - 1);
          const winner = results.findIndex(({ kind }) => kind === 'committed');
          expect(text(await store.get('register'))).toBe(`${round}/${winner}`);
        }
        const won = await store.range({ start: 'won/', end: 'won0', limit: 1000 });
        expect(won).toHaveLength(20);
      });

      it('lose no update of writers that try again', async () => {
        await Promise.all(Array.from({ length: WRITERS }, () => increment(store, 25)));
        expect(text(await store.get('counter'))).toBe(String(WRITERS * 25));
      });

      it('do not let two empty the same range at once', async () => {
        const fill = (key: string): Promise<unknown> =>
          store.commit(
            [{ kind: 'count', start: 'seat/', end: 'seat0', count: 0 }],
            [write(key, '')],
          );
        await Promise.all(['seat/a', 'seat/b', 'seat/c'].map(fill));
        expect(await keysOf(store, { start: 'seat/', end: 'seat0', limit: 9 })).toHaveLength(1);
      });
    });

    describe('changes', () => {
      it('are kept in order until they are forgotten', async () => {
        await put(store, [
          ['a', '1'],
          ['b', null],
        ]);
        await put(store, []);
        await put(store, [['c', new Uint8Array(0)]]);
        expect(await store.changes(2)).toMatchObject([{ sequence: 1n }, { sequence: 2n }]);
        await store.forget([2n, 1n, 99n]);
        await store.forget([]);
        await reopen();
        const left = await store.changes(10);
        expect(left.map(({ sequence }) => sequence)).toEqual([3n]);
        expect(written(left[0]!.writes)).toEqual([['c', '']]);
      });

      it('say what was written, removals and bytes of all kinds', async () => {
        const bytes = Buffer.from([0, 255, 10, 128]);
        await put(store, [
          ['é\u0000😀', bytes],
          ['gone', null],
          ['last', 'x'],
        ]);
        const [change] = await store.changes(1);
        expect(written(change!.writes)).toEqual([
          ['é\u0000😀', bytes.toString('hex')],
          ['gone', null],
          ['last', '78'],
        ]);
      });

      it('number themselves as their commits did', async () => {
        const sequences = await Promise.all(
          Array.from({ length: 40 }, (_, index) => put(store, [[`k${index}`, String(index)]])),
        );
        const changes = await store.changes(100);
        expect(changes.map(({ sequence }) => sequence)).toEqual(
          sequences.toSorted((left, right) => Number(left - right)),
        );
        for (const [index, sequence] of sequences.entries()) {
          const change = changes.find((each) => each.sequence === sequence);
          expect(change!.writes[0]!.key).toBe(`k${index}`);
        }
      });

      it('number on after all are forgotten', async () => {
        const first = await put(store, [['a', '1']]);
        await store.forget([first]);
        await reopen();
        expect(await put(store, [['a', '2']])).toBe(first + 1n);
      });
    });

    describe('a check of the sequence', () => {
      it('holds while the store has at least so many changes', async () => {
        await put(store, [['a', '1']]);
        expect(await store.sequence()).toBe(1n);
        const check = (atLeast: bigint): Check => ({ kind: 'sequence', atLeast });
        expect(await store.commit([check(2n)], [write('b', '1')])).toEqual({
          kind: 'conflict',
          check: 0,
        });
        expect(await store.commit([check(0n), check(1n)], [])).toMatchObject({ sequence: 2n });
        expect(await store.commit([check(2n)], [])).toMatchObject({ sequence: 3n });
        expect(await store.get('b')).toBeUndefined();
      });
    });

    describe('what is put back', () => {
      const entries = (...keys: readonly string[]): StoreEntry[] =>
        keys.map((key) => ({ key, value: Buffer.from(`value of ${key}`) }));

      it('is everything at once, in a store that is empty, and numbers go on', async () => {
        expect(await store.sequence()).toBe(0n);
        const many = Array.from({ length: 2500 }, (_, at) => `k${at}`);
        await store.restore(each(entries('a\u0000b', 'é😀', ...many)), 41n);
        await reopen();
        expect(await store.sequence()).toBe(41n);
        expect(Object.keys(await contents(store))).toHaveLength(2502);
        expect(text(await store.get('é😀'))).toBe('value of é😀');
        expect(await store.changes(10)).toEqual([]);
        const [first] = await store.range({ start: '', end: 'b', limit: 1 });
        expect([first?.key, text(first?.value)]).toEqual(['a\u0000b', 'value of a\u0000b']);
        const check: Check = { kind: 'count', start: '', end: '\u{10ffff}', count: 2502 };
        expect(await store.commit([check], [write('é😀', null)])).toMatchObject({ sequence: 42n });
      });

      it('may be nothing but a number', async () => {
        await store.restore(each([]), 7n);
        expect(await put(store, [['a', '1']])).toBe(8n);
      });

      it('never lowers the number of the last change', async () => {
        const last = await put(store, [['a', '1']]);
        expect(await put(store, [['a', null]])).toBe(last + 1n);
        await store.forget([last, last + 1n]);
        await store.restore(each(entries('b')), 1n);
        expect(await put(store, [['a', '1']])).toBe(3n);
      });

      const occupied = { kind: 'occupied', message: 'the store is not empty' };

      it('is refused by a store that holds a key, or a change that the journal may not have', async () => {
        const sequence = await put(store, [['a', '1']]);
        await expect(store.restore(each(entries('b')), 9n)).rejects.toMatchObject(occupied);
        await store.forget([sequence]);
        await expect(store.restore(each(entries('b')), 9n)).rejects.toMatchObject(occupied);
        await put(store, [['a', null]]);
        await expect(store.restore(each(entries('b')), 9n)).rejects.toMatchObject(occupied);
        expect(await contents(store)).toEqual({});
        expect(await store.sequence()).toBe(2n);
      });

      it('leaves nothing when it is cut off, and can be begun again', async () => {
        const cut = async function* (): AsyncGenerator<StoreEntry> {
          for (let at = 0; at < 1500; at++) yield* entries(`k${at}`);
          throw new Error('cut off');
        };
        await expect(store.restore(cut(), 5n)).rejects.toThrow('cut off');
        expect(await contents(store)).toEqual({});
        expect(await store.sequence()).toBe(0n);
        await store.restore(each(entries('a')), 5n);
        expect(await contents(store)).toEqual({ a: 'value of a' });
      });
    });

    describe('changes that are made again', () => {
      it('take their numbers, pass over what is there, and leave no change behind', async () => {
        await put(store, [['a', '1']]);
        await put(store, [['b', '1']]);
        await store.replay([
          { sequence: 1n, writes: [write('a', 'long past')] },
          { sequence: 2n, writes: [write('b', 'past')] },
          { sequence: 3n, writes: [write('a', null), write('c', new Uint8Array([0, 255]))] },
          { sequence: 5n, writes: [write('b', '5'), write('d', '')] },
        ]);
        await reopen();
        expect(await store.sequence()).toBe(5n);
        expect((await store.changes(9)).map(({ sequence }) => sequence)).toEqual([1n, 2n]);
        expect(await keysOf(store, { start: '', end: 'z', limit: 9 })).toEqual(['b', 'c', 'd']);
        expect([text(await store.get('b')), hex(await store.get('c'))]).toEqual(['5', '00ff']);
        expect(await put(store, [])).toBe(6n);
        await store.replay([{ sequence: 6n, writes: [write('b', '6')] }]);
        expect(text(await store.get('b'))).toBe('5');
      });

      it('are all made or none', async () => {
        const changes = [
          { sequence: 1n, writes: [write('a', '1')] },
          { sequence: 2n, writes: [write('', '1')] },
        ];
        await expect(store.replay(changes)).rejects.toMatchObject({ kind: 'key' });
        expect([await store.sequence(), await store.get('a')]).toEqual([0n, undefined]);
      });
    });

    describe('a guard', () => {
      it('looks before anything else happens, through a view that works meanwhile', async () => {
        await put(store, [['a', '1']]);
        const seen: unknown[] = [];
        store.guard(async (view) => {
          await setImmediate();
          seen.push(text(await view.get('a')), await view.sequence());
          await view.replay([{ sequence: 2n, writes: [write('a', '2')] }]);
        });
        expect(
          await Promise.all([
            store.get('a').then(text),
            store.commit([], [write('b', '1')]),
            store.getMany(['a']).then(([value]) => text(value)),
            store.range({ start: 'a', end: 'b', limit: 2 }).then(([entry]) => text(entry?.value)),
            store.changes(1).then((changes) => changes.length),
          ]),
        ).toEqual(['2', { kind: 'committed', sequence: 3n }, '2', '2', 1]);
        expect(seen).toEqual(['1', 1n]);
      });

      it('keeps everything from the store while it refuses, and is asked again', async () => {
        let refusals = 3;
        store.guard(async () => {
          if (refusals-- > 0) throw new RangeError('not this store');
        });
        await expect(store.get('a')).rejects.toThrow(RangeError);
        await expect(store.commit([], [write('a', '1')])).rejects.toThrow('not this store');
        await expect(store.sequence()).rejects.toThrow('not this store');
        expect(await put(store, [['b', '1']])).toBe(1n);
        expect([refusals, await store.get('a')]).toEqual([-1, undefined]);
      });
    });

    it('keeps everything over a restart', async () => {
      await put(
        store,
        Array.from({ length: 500 }, (_, index) => [`k${index}`, `v${index}`]),
      );
      const before = await contents(store);
      await reopen();
      expect(await contents(store)).toEqual(before);
      expect(await store.changes(10)).toHaveLength(1);
    });

    it('refuses everything after it is closed', async () => {
      await store.close();
      await store.close();
      const closed = { name: 'StoreError', kind: 'closed', message: 'the store is closed' };
      await expect(store.get('a')).rejects.toMatchObject(closed);
      await expect(store.commit([], [])).rejects.toMatchObject(closed);
      await expect(store.changes(1)).rejects.toMatchObject(closed);
    });

    it('finishes what is under way when it is closed', async () => {
      const commits = Array.from({ length: 20 }, (_, index) => put(store, [[`k${index}`, 'x']]));
      await store.close();
      await Promise.all(commits);
      await reopen();
      expect(await keysOf(store, { start: '', end: 'z', limit: 100 })).toHaveLength(20);
    });
  });
}

async function* each<Item>(items: readonly Item[]): AsyncGenerator<Item> {
  yield* items;
}

type Value = string | Uint8Array | null;

function write(key: string, content: Value): Write {
  return { key, value: typeof content === 'string' ? Buffer.from(content) : content };
}

function value(key: string, content: string | null): Check {
  return { kind: 'value', key, value: content === null ? null : Buffer.from(content) };
}

async function put(store: Store, writes: readonly (readonly [string, Value])[]): Promise<bigint> {
  const result = await store.commit(
    [],
    writes.map(([key, content]) => write(key, content)),
  );
  if (result.kind !== 'committed') throw new Error(`not committed: ${result.kind}`);
  return result.sequence;
}

async function increment(store: Store, times: number): Promise<void> {
  for (let done = 0; done < times;) {
    const before = await store.get('counter');
    const next = Number(text(before) ?? 0) + 1;
    const check: Check = { kind: 'value', key: 'counter', value: before ?? null };
    const result = await store.commit([check], [write('counter', String(next))]);
    if (result.kind === 'committed') done += 1;
  }
}

async function keysOf(store: Store, range: KeyRange): Promise<readonly string[]> {
  return (await store.range(range)).map(({ key }) => key);
}

/** All keys of `k…`, seven at a time, each page from where the one before ended. */
async function walk(store: Store, reverse: boolean): Promise<readonly string[]> {
  const found: string[] = [];
  let [start, end] = ['k', 'l'];
  for (;;) {
    const page = await keysOf(store, { start, end, limit: 7, reverse });
    found.push(...page);
    if (page.length < 7) return found;
    if (reverse) end = page.at(-1)!;
    else start = `${page.at(-1)!}\u0000`;
  }
}

function expected(keys: readonly string[], start: string, end: string): readonly string[] {
  return keys.filter((key) => byBytes(key, start) >= 0 && byBytes(key, end) < 0).toSorted(byBytes);
}

function byBytes(left: string, right: string): number {
  return Buffer.compare(Buffer.from(left), Buffer.from(right));
}

async function contents(store: Store): Promise<Record<string, string>> {
  const entries = await store.range({ start: '', end: '\u{10ffff}', limit: 10_000 });
  return Object.fromEntries(entries.map((entry) => [entry.key, text(entry.value)!]));
}

function written(writes: readonly Write[]): readonly (readonly [string, string | null])[] {
  return writes.map(({ key, value }) => [key, value && hex(value)!]);
}

function text(value: Uint8Array | undefined): string | undefined {
  return value === undefined ? undefined : Buffer.from(value).toString();
}

function hex(value: Uint8Array | undefined): string | undefined {
  return value === undefined ? undefined : Buffer.from(value).toString('hex');
}
