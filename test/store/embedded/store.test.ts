import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import type { StoreDamage } from '../../../src/store/damage.ts';
import { EmbeddedFile } from '../../../src/store/embedded/file.ts';
import type { EmbeddedTables } from '../../../src/store/embedded/transaction.ts';
import { WriteRoom } from '../../../src/store/embedded/write-room.ts';
import { openEmbeddedStore } from '../../../src/store/embedded/store.ts';
import type { ReadCheck } from '../../../src/store/store.ts';
import { StoreError } from '../../../src/store/store-error.ts';
import { storeSuite } from '../../conformance/store.ts';
import { storeDamageSuite, type DamageableStore } from '../../conformance/store-damage.ts';
import { Child, outputOnSmallDisk } from '../../support/child.ts';
import { testFolders } from '../../support/folder.ts';
import { casesOf } from '../../support/cases.ts';

const CHILD = new URL('../commit-child.ts', import.meta.url);

async function freshEmbeddedStore(): Promise<DamageableStore> {
  const folder = await mkdtemp(join(tmpdir(), 'arrowgate-'));
  const reported: StoreDamage[] = [];
  const open = () => openEmbeddedStore(folder, { onDamage: (damage) => reported.push(damage) });
  let store = await open();
  /** Another open file, which is written without the store. */
  const other = async <Result>(work: (tables: EmbeddedTables) => Result): Promise<Result> => {
    const file = new EmbeddedFile(folder);
    file.renew();
    const result = await file.transact(() => work(file.tables));
    await file.close();
    return result;
  };
  return {
    store,
    reported,
    bytes: {
      read: (key) => other(({ values }) => Buffer.from(values.get(Buffer.from(key))!)),
      write: (key, bytes) =>
        other(({ values }) => {
          if (bytes === null) values.removeSync(Buffer.from(key));
          else values.putSync(Buffer.from(key), bytes);
        }),
      loseDigests: () =>
        other(({ counters }) => {
          for (const key of [...counters.getKeys({})].map((one) => Buffer.from(one))) {
            if (key.toString() !== 'sequence') counters.removeSync(key);
          }
        }),
    },
    reopen: async () => {
      await store.close();
      store = await open();
      return store;
    },
    close: async () => {
      await store.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

storeSuite('the embedded store', freshEmbeddedStore);
storeDamageSuite('the embedded store', freshEmbeddedStore);

describe('the embedded store of several processes', () => {
  const newFolder = testFolders();

  it('shows each the commits of the others at the next read', async () => {
    const folder = await newFolder();
    const store = await openEmbeddedStore(folder);
    expect(await store.get('last')).toBeUndefined();
    const child = new Child(CHILD, [folder, 'a', '200']);
    let seen = 0;
    while (seen < 200) {
      await child.printed(seen + 1);
      const told = child.lines.length;
      const value = await store.get(`a/${String(told - 1).padStart(6, '0')}`);
      expect(value).toBeDefined();
      seen = told;
    }
    await child.end();
    const entries = await store.range({ start: 'a/', end: 'a0', limit: 1000 });
    expect(entries).toHaveLength(200);
    await store.close();
  });

  it('lets no update of any be lost', async () => {
    const folder = await newFolder();
    const store = await openEmbeddedStore(folder);
    const children = ['a', 'b', 'c'].map((name) => new Child(CHILD, [folder, name, '150']));
    await Promise.all(children.map((child) => child.end()));
    expect(Buffer.from((await store.get('total'))!).toString()).toBe('450');
    const sequences = children.flatMap((child) => child.lines.map((line) => BigInt(line)));
    expect(new Set(sequences).size).toBe(450);
    expect((await store.changes(1000)).map(({ sequence }) => sequence)).toEqual(
      sequences.toSorted((left, right) => Number(left - right)),
    );
    await store.close();
  });

  it('loses no acknowledged commit of one that is killed, and is not blocked by it', async () => {
    const folder = await newFolder();
    for (let round = 0; round < casesOf(3, 6); round++) {
      const name = `round${round}`;
      const child = new Child(CHILD, [folder, name, '1000000']);
      await child.printed(1 + round * 40);
      await child.kill();
      const store = await openEmbeddedStore(folder);
      const entries = await store.range({ start: `${name}/`, end: `${name}0`, limit: 100_000 });
      expect(entries.length - child.lines.length).toBeOneOf([0, 1]);
      const changes = await store.changes(1_000_000);
      const held = new Set(changes.map(({ sequence }) => String(sequence)));
      expect(child.lines.filter((line) => !held.has(line))).toEqual([]);
      const total = await store.get('total');
      expect(Number(Buffer.from(total!).toString())).toBe(changes.length);
      expect((await store.commit([{ kind: 'value', key: 'total', value: total! }], [])).kind).toBe(
        'committed',
      );
      await store.forget(
        (await store.changes(1_000_000)).slice(-1).map((change) => change.sequence),
      );
      await store.close();
    }
  });
});

describe('what is read of the embedded store', () => {
  const newFolder = testFolders();

  it('is the same object as long as it is the same, and stays as it was read', async () => {
    const store = await openEmbeddedStore(await newFolder());
    const put = (...values: readonly (string | null)[]) =>
      store.commit(
        [],
        values.map((value, at) => ({
          key: `k${at}`,
          value: value === null ? null : Buffer.from(value),
        })),
      );
    const large = 'x'.repeat(5000);
    await put('1', 'second', '', large);
    const keys = ['k0', 'k1', 'k2', 'k3', 'none'];
    const first = await store.getMany(keys);
    const texts = (values: typeof first) => values.map((value) => value && String(value));
    expect(texts(first)).toEqual(['1', 'second', '', large, undefined]);
    await put('1', 'second', '', large);
    const again = await store.getMany(keys);
    expect(texts(again)).toEqual(texts(first));
    expect(again.map((value, at) => value === first[at])).toEqual([true, true, true, false, true]);
    await put('2', null, 'third', large.slice(1));
    expect(texts(await store.getMany(keys))).toEqual([
      '2',
      undefined,
      'third',
      large.slice(1),
      undefined,
    ]);
    expect(await store.get('k0')).toEqual(Buffer.from('2'));
    expect(texts(first)).toEqual(['1', 'second', '', large, undefined]);
    await put('1', 'second');
    expect(texts(await store.getMany(['k0', 'k1']))).toEqual(['1', 'second']);
    await store.close();
  });

  it('is right of more keys than are remembered', async () => {
    const store = await openEmbeddedStore(await newFolder());
    const keys = Array.from({ length: 5000 }, (_, at) => `key${at}`);
    await store.commit(
      [],
      keys.map((key) => ({ key, value: Buffer.from(key) })),
    );
    for (const round of [1, 2]) {
      const values = await store.getMany([...keys, `none${round}`]);
      expect(values.map((value) => value && String(value))).toEqual([...keys, undefined]);
    }
    await store.close();
  });
});

describe('a watch over the embedded store', () => {
  const newFolder = testFolders();
  const value = (key: string, text: string | null): ReadCheck => {
    return { kind: 'value', key, value: text === null ? null : Buffer.from(text) };
  };
  const set = (key: string, text: string | null) => {
    return { key, value: text === null ? null : Buffer.from(text) };
  };
  const large = 'x'.repeat(100_000);
  /** What is watched of a store that has `a`, `b` and `big`; what is written; whether it holds after that. */
  const cases: readonly (readonly [string, ReadCheck, ReturnType<typeof set>, boolean])[] = [
    ['another key changes', value('a', '1'), set('b', '9'), true],
    ['the value changes', value('a', '1'), set('a', '2'), false],
    ['the value grows', value('a', '1'), set('a', '12'), false],
    ['the value shrinks', value('b', '23'), set('b', '2'), false],
    ['the value becomes empty', value('a', '1'), set('a', ''), false],
    ['the value is written again', value('a', '1'), set('a', '1'), true],
    ['the key goes', value('a', '1'), set('a', null), false],
    ['a key comes', value('c', null), set('c', ''), false],
    ['another key comes', value('c', null), set('d', '1'), true],
    [
      'a large value changes at its end',
      value('big', large),
      set('big', `${large.slice(1)}y`),
      false,
    ],
    ['a large value stays', value('big', large), set('a', '2'), true],
    [
      'a key comes into a range',
      { kind: 'count', start: 'a', end: 'c', count: 3 },
      set('ab', ''),
      false,
    ],
    [
      'a key leaves a range',
      { kind: 'count', start: 'a', end: 'c', count: 3 },
      set('b', null),
      false,
    ],
    [
      'a key comes beside a range',
      { kind: 'count', start: 'a', end: 'c', count: 3 },
      set('c', ''),
      true,
    ],
    [
      'a key comes into an empty range',
      { kind: 'count', start: 'x', end: 'y', count: 0 },
      set('x', ''),
      false,
    ],
  ];

  it.each(cases)('when %s', async (_, seen, write, holds) => {
    const folder = await newFolder();
    const store = await openEmbeddedStore(folder);
    await store.commit([], [set('a', '1'), set('b', '23'), set('big', large)]);
    const watch = store.watch!([seen])!;
    expect([watch.holds(), watch.holds()]).toEqual([true, true]);
    await store.commit([], [write]);
    expect(watch.holds()).toBe(holds);
    // Several are watched as one.
    expect(store.watch!([value('e', null), seen])!.holds()).toBe(holds);
    await store.close();
  });

  it('sees what another process has committed as soon as that says so', async () => {
    const folder = await newFolder();
    const store = await openEmbeddedStore(folder);
    const watch = store.watch!([value('total', null)])!;
    expect(watch.holds()).toBe(true);
    const child = new Child(CHILD, [folder, 'a', '100']);
    for (let told = 1; told <= 100; told = child.lines.length + 1) {
      await child.printed(told);
      const last = `a/${String(child.lines.length - 1).padStart(6, '0')}`;
      expect([watch.holds(), store.watch!([value(last, null)])!.holds()]).toEqual([false, false]);
      expect(store.watch!([value(last, last)])!.holds()).toBe(true);
    }
    await child.end();
    await store.close();
  });

  it('holds nothing that nobody has looked at, or that is away', async () => {
    const folder = await newFolder();
    const store = await openEmbeddedStore(folder);
    const watch = store.watch!([value('a', null)])!;
    store.guard(async () => undefined);
    expect(watch.holds()).toBeUndefined();
    await store.get('a');
    expect(watch.holds()).toBe(true);
    await rm(folder, { recursive: true });
    await sleep(5);
    expect(() => watch.holds()).toThrow('the file of the store is gone');
    // Another file is another store: it has to be looked at before it is believed.
    const next = await openEmbeddedStore(folder);
    await next.commit([], [set('a', '1')]);
    await sleep(5);
    expect(watch.holds()).toBeUndefined();
    await store.get('a');
    expect(watch.holds()).toBe(false);
    await Promise.all([store.close(), next.close()]);
    expect(() => watch.holds()).toThrow('the store is closed');
  });
});

describe('the embedded store on a full disk', () => {
  const newFolder = testFolders();

  it('says that the outcome is unknown, and keeps what was acknowledged', async () => {
    const folder = await newFolder();
    const lines = await outputOnSmallDisk(CHILD, 200, [folder, 'a', '1000000']);
    expect(lines.pop()).toMatch(/^! the store could not be written: /);
    expect(lines.length).toBeGreaterThan(10);
    const store = await openEmbeddedStore(folder);
    const entries = await store.range({ start: 'a/', end: 'a0', limit: 100_000 });
    expect(entries).toHaveLength(lines.length);
    expect((await store.commit([], [])).kind).toBe('committed');
    await store.close();
  });

  it('goes on when the page that makes a commit count was refused', async () => {
    const folder = await newFolder();
    const child = new Child(new URL('../refused-page-child.ts', import.meta.url), [folder, '8']);
    await child.printed(8);
    const said = child.lines.map((line) => JSON.parse(line) as Record<string, string>);
    expect(said.map(({ kept, after }) => ({ kept, after }))).toEqual(
      said.map(() => ({ kept: 'kept', after: 'committed' })),
    );
    expect(said.map(({ large }) => large)).toContain('unknown');
  });

  it('writes nothing after a refused write until there is room, and survives it', async () => {
    const folder = await newFolder();
    const child = new Child(new URL('../refused-writes-child.ts', import.meta.url), [folder]);
    await child.printed(1);
    const { results, after } = JSON.parse(child.lines[0] ?? '') as RefusedWrites;
    expect(Object.keys(results).toSorted()).toEqual(['committed', 'unavailable', 'unknown']);
    expect(results['unavailable']).toBeGreaterThan(results['unknown']!);
    expect(after).toBe('committed');
  });

  it('writes nothing that the free bytes of the disk would not hold', async () => {
    const folder = await newFolder();
    const room = new WriteRoom(folder);
    room.require(0);
    expect(() => room.require(2 ** 60)).toThrow(
      new StoreError(
        'unavailable',
        `nothing was written: ${folder} cannot be written: its disk has less than ${2 ** 42 + 8} MiB free`,
      ),
    );
  });
});

interface RefusedWrites {
  readonly results: Readonly<Record<string, number>>;
  readonly after: string;
}

describe('the folder of the embedded store', () => {
  const newFolder = testFolders();

  it('is made with those above it, for its user alone', async () => {
    const folder = join(await newFolder(), 'private', 'store');
    const store = await openEmbeddedStore(folder);
    expect((await stat(folder)).mode & 0o777).toBe(0o700);
    await store.close();
  });
});

describe('the file of an embedded store', () => {
  const newFolder = testFolders();
  const write = (key: string) => [{ key, value: Buffer.from('1') }];

  it('that is taken away is not written to, and the one that comes in its place is looked at', async () => {
    const folder = await newFolder();
    const store = await openEmbeddedStore(folder);
    let looks = 0;
    store.guard(async (view) => {
      looks += 1;
      if ((await view.get('a')) === undefined) throw new RangeError('not the one');
    });
    await expect(store.get('a')).rejects.toThrow('not the one');
    const other = await openEmbeddedStore(folder);
    await other.commit([], write('a'));
    await other.close();
    expect([await store.get('a'), looks]).toEqual([Buffer.from('1'), 2]);
    await rm(folder, { recursive: true });
    const gone = { kind: 'unavailable', message: 'the file of the store is gone' };
    // A moment later: what is there is not looked at for every read.
    await sleep(5);
    await expect(store.get('a')).rejects.toMatchObject(gone);
    await expect(store.commit([], write('b'))).rejects.toMatchObject(gone);
    const next = await openEmbeddedStore(folder);
    await sleep(5);
    await expect(store.commit([], write('b'))).rejects.toThrow('not the one');
    expect((await next.commit([], write('a'))).kind).toBe('committed');
    expect(await store.commit([], write('b'))).toEqual({ kind: 'committed', sequence: 2n });
    expect(await next.get('b')).toBeDefined();
    expect(looks).toBe(4);
    await store.close();
    await next.close();
  });
});
