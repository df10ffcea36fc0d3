import { disk } from '../../../support/disk.ts';
import { appendFile, mkdir, readFile, readdir, rename, truncate } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  readJournal,
  type JournalDamage,
} from '../../../../src/engine/catalog/journal/journal-reader.ts';
import { encodeChange } from '../../../../src/engine/catalog/journal/journal-line.ts';
import { openJournal, type Journal } from '../../../../src/engine/catalog/journal/journal.ts';
import { openEmbeddedStore } from '../../../../src/store/embedded/store.ts';
import type { StoreChange, CommitResult, Store, Write } from '../../../../src/store/store.ts';
import { Child } from '../../../support/child.ts';
import { countFlushes } from '../../../support/datasync.ts';
import { testFolders } from '../../../support/folder.ts';
import { MemoryStore } from '../../../support/memory-store.ts';
import { eventually } from '../../../support/eventually.ts';

const CHILD = new URL('../journal-child.ts', import.meta.url);
const newFolder = testFolders();

let folder: string;
let store: Store;

beforeEach(async () => {
  folder = join(await newFolder(), 'catalog');
  store = await openEmbeddedStore(join(folder, '..', 'store'));
});

afterEach(async () => {
  await store.close();
});

function set(key: string, value: string): Write {
  return { key, value: Buffer.from(value) };
}

async function put(journal: Journal, key: string, value: string): Promise<CommitResult> {
  return journal.commit([], [set(key, value)]);
}

interface Read {
  readonly changes: readonly StoreChange[];
  readonly damage: readonly JournalDamage[];
}

async function read(): Promise<Read> {
  const damage: JournalDamage[] = [];
  const changes: StoreChange[] = [];
  for await (const change of readJournal(disk, folder, (found) => damage.push(found))) {
    changes.push(change);
  }
  return { changes, damage };
}

/** The sequence number and the first key of each change. */
async function outline(): Promise<readonly string[]> {
  const { changes } = await read();
  return changes.map(({ sequence, writes }) => `${sequence} ${writes[0]?.key ?? '-'}`);
}

describe('the journal', () => {
  it('has the line of a change when its commit resolves', async () => {
    const journal = await openJournal(disk, folder, store);
    const result = await journal.commit(
      [{ kind: 'value', key: 'a', value: null }],
      [set('a', '1'), { key: 'b', value: null }, { key: 'c', value: Buffer.from([255]) }],
    );
    expect(result).toEqual({ kind: 'committed', sequence: 1n });
    const { changes } = await read();
    expect(changes).toEqual([
      {
        sequence: 1n,
        writes: [set('a', '1'), { key: 'b', value: null }, { key: 'c', value: Buffer.from([255]) }],
      },
    ]);
    await journal.close();
  });

  it('writes nothing down for a commit that lost', async () => {
    const journal = await openJournal(disk, folder, store);
    expect(
      await journal.commit([{ kind: 'value', key: 'a', value: Buffer.from('x') }], [set('a', '1')]),
    ).toEqual({ kind: 'conflict', check: 0 });
    expect(await outline()).toEqual([]);
    await journal.close();
  });

  it('lets the store forget what is written down', async () => {
    const journal = await openJournal(disk, folder, store);
    await Promise.all(Array.from({ length: 300 }, (_, index) => put(journal, `k${index}`, 'x')));
    await eventually(async () => expect(await store.changes(10)).toEqual([]));
    await put(journal, 'last', 'x');
    await journal.close();
    expect(await store.changes(10)).toEqual([]);
    expect(await outline()).toHaveLength(301);
  });

  it('shares its flushes among commits that come together', async () => {
    const journal = await openJournal(disk, folder, store);
    await put(journal, 'first', 'x');
    const flushes = await countFlushes(async () => {
      await Promise.all(Array.from({ length: 200 }, (_, index) => put(journal, `k${index}`, 'x')));
    });
    expect(flushes).toBeLessThan(10);
    await journal.close();
  });

  it('goes on in a new file when one is full', async () => {
    const journal = await openJournal(disk, folder, store, { rotateBytes: 1000 });
    for (let index = 0; index < 40; index++) await put(journal, `k${index}`, 'x'.repeat(50));
    await journal.close();
    const files = await readdir(folder);
    expect(files.length).toBeGreaterThan(2);
    expect(await outline()).toEqual(Array.from({ length: 40 }, (_, i) => `${i + 1} k${i}`));
  });

  it('goes on after a restart, in a file of its own', async () => {
    for (const key of ['a', 'b', 'c']) {
      const journal = await openJournal(disk, folder, store);
      await put(journal, key, 'x');
      await journal.close();
    }
    expect(await readdir(folder)).toHaveLength(3);
    expect(await outline()).toEqual(['1 a', '2 b', '3 c']);
  });

  it('makes one order of what several processes wrote', async () => {
    const journals = await Promise.all([1, 2, 3].map(() => openJournal(disk, folder, store)));
    for (let round = 0; round < 10; round++) {
      await Promise.all(journals.map((journal, index) => put(journal, `${index}/${round}`, 'x')));
    }
    await Promise.all(journals.map((journal) => journal.close()));
    const { changes } = await read();
    expect(changes.map(({ sequence }) => sequence)).toEqual(
      Array.from({ length: 30 }, (_, index) => BigInt(index + 1)),
    );
  });
});

describe('the journal after a crash', () => {
  it('writes down first what the store still holds', async () => {
    const left = Array.from({ length: 100 }, (_, index) => `k${index}`);
    for (const key of left) await store.commit([], [set(key, 'x')]);
    const journal = await openJournal(disk, folder, store);
    expect(await outline()).toEqual(left.map((key, index) => `${index + 1} ${key}`));
    expect(await store.changes(10)).toEqual([]);
    await put(journal, 'after', 'x');
    await journal.close();
    expect(await outline()).toHaveLength(101);
  });

  it('reads once what was written down twice', async () => {
    const journal = await openJournal(disk, folder, store);
    await put(journal, 'a', '1');
    await put(journal, 'b', '1');
    const again = await openJournal(disk, folder, store);
    await put(journal, 'c', '1');
    await Promise.all([journal.close(), again.close()]);
    expect(await outline()).toEqual(['1 a', '2 b', '3 c']);
  });

  it('passes over a torn last line, whose change is written down again', async () => {
    const first = await openJournal(disk, folder, store);
    await put(first, 'a', '1');
    // The crash: the change is in the store, its line is half on disk.
    await store.commit([], [set('b', '2')]);
    const [name] = await readdir(folder);
    const torn = encodeChange({ sequence: 2n, writes: [set('b', '2')] }).subarray(0, 30);
    await appendFile(join(folder, name!), torn);
    const second = await openJournal(disk, folder, store);
    await put(second, 'c', '3');
    expect(await outline()).toEqual(['1 a', '2 b', '3 c']);
    expect((await read()).damage).toEqual([{ file: name, line: 2, last: true }]);
    await Promise.all([first.close(), second.close()]);
  });

  it('tells damage inside a file apart from a torn end', async () => {
    const journal = await openJournal(disk, folder, store);
    for (const key of ['a', 'b', 'c', 'd']) await put(journal, key, '1');
    await journal.close();
    const [name] = await readdir(folder);
    const path = join(folder, name!);
    const text = await readFile(path, 'utf8');
    await truncate(path);
    await appendFile(path, text.replace('"key":"b"', '"key":"B"'));
    expect(await outline()).toEqual(['1 a', '3 c', '4 d']);
    expect((await read()).damage).toEqual([{ file: name, line: 2, last: false }]);
  });

  it('has every acknowledged change of a process that was killed', async () => {
    const acknowledged: string[] = [];
    for (let round = 0; round < 5; round++) {
      const child = new Child(CHILD, [join(folder, '..', 'store'), folder, `r${round}`]);
      await child.printed(5 + round * 40);
      await child.kill();
      acknowledged.push(...child.lines);
    }
    const before = (await read()).changes;
    const lines = new Set(before.map(({ sequence, writes }) => `${sequence} ${writes[0]!.key}`));
    expect(acknowledged.filter((line) => !lines.has(line))).toEqual([]);
    const journal = await openJournal(disk, folder, store);
    await journal.close();
    const { changes } = await read();
    expect(changes.map(({ sequence }) => sequence)).toEqual(
      Array.from({ length: changes.length }, (_, index) => BigInt(index + 1)),
    );
    const stored = await store.range({ start: 'r', end: 's', limit: 100_000 });
    expect(changes.map(({ writes }) => writes[0]!.key).toSorted()).toEqual(
      stored.map(({ key }) => key),
    );
  });
});

describe('the journal while it cannot be written', () => {
  it('does not say that a change is committed, refuses the next, and then catches up', async () => {
    const journal = await openJournal(disk, folder, store, { rotateBytes: 1 });
    await put(journal, 'a', '1');
    await rename(folder, `${folder}-away`);
    const notWritten = {
      row: { name: 'ServiceUnavailable', code: 17 },
      message: expect.stringMatching(
        /^the catalog journal is not written: .* cannot be written: ENOENT/,
      ),
    };
    await expect(put(journal, 'b', '2')).rejects.toMatchObject(notWritten);
    expect(await store.get('b')).toBeDefined();
    await expect(put(journal, 'c', '3')).rejects.toMatchObject(notWritten);
    expect(await store.get('c')).toBeUndefined();
    await rename(`${folder}-away`, folder);
    expect(await put(journal, 'd', '4')).toEqual({ kind: 'committed', sequence: 3n });
    expect(await outline()).toEqual(['1 a', '2 b', '3 d']);
    await journal.close();
  });

  it('writes down a change of unknown outcome before anybody can say that it is in effect', async () => {
    const inner = new MemoryStore();
    const unsure: Store = {
      get: (key) => inner.get(key),
      getMany: (keys) => inner.getMany(keys),
      range: (range) => inner.range(range),
      changes: (limit) => inner.changes(limit),
      forget: (sequences) => inner.forget(sequences),
      sequence: () => inner.sequence(),
      restore: (entries, sequence) => inner.restore(entries, sequence),
      replay: (changes) => inner.replay(changes),
      guard: () => inner.guard(),
      weakness: () => inner.weakness(),
      close: () => inner.close(),
      commit: async (checks, writes) => {
        await inner.commit(checks, writes);
        return { kind: 'unknown', reason: 'the line went dead' };
      },
    };
    await mkdir(folder);
    const journal = await openJournal(disk, folder, unsure);
    expect(await put(journal, 'a', '1')).toEqual({
      kind: 'unknown',
      reason: 'the line went dead',
    });
    expect(await outline()).toEqual(['1 a']);
    await journal.close();
  });
});
