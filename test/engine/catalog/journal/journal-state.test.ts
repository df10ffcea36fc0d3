import { disk } from '../../../support/disk.ts';
import {
  appendFile,
  mkdir,
  readdir,
  readFile,
  rm,
  symlink,
  utimes,
  writeFile,
} from 'node:fs/promises';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { beforeEach, describe, expect, it } from 'vitest';
import { encodeChange } from '../../../../src/engine/catalog/journal/journal-line.ts';
import { lastInJournal } from '../../../../src/engine/catalog/journal/journal-end.ts';
import { JournalKeeper } from '../../../../src/engine/catalog/journal/journal-keeper.ts';
import { IDLE_MILLIS } from '../../../../src/engine/catalog/journal/journal-log.ts';
import { openJournal, type Journal } from '../../../../src/engine/catalog/journal/journal.ts';
import { readState } from '../../../../src/engine/catalog/journal/journal-state.ts';
import {
  listSnapshots,
  writeSnapshot,
} from '../../../../src/engine/catalog/journal/snapshot-file.ts';
import type { Store, StoreEntry, Write } from '../../../../src/store/store.ts';
import { testFolders } from '../../../support/folder.ts';
import { MemoryStore } from '../../../support/memory-store.ts';

const newFolder = testFolders();
let folder: string;
let store: MemoryStore;

beforeEach(async () => {
  folder = await newFolder();
  store = new MemoryStore();
});

function write(key: string, text: string | null): Write {
  return { key, value: text === null ? null : Buffer.from(text) };
}

async function put(journal: Journal, ...writes: readonly Write[]): Promise<void> {
  expect((await journal.commit([], writes)).kind).toBe('committed');
}

/** What the journal comes to, up to a change. */
async function contents(upTo?: bigint): Promise<readonly (readonly [string, string])[]> {
  const found: [string, string][] = [];
  for await (const { key, value } of (await readState(disk, folder, upTo)).entries()) {
    found.push([key, Buffer.from(value).toString('latin1')]);
  }
  return found;
}

async function* each(entries: Readonly<Record<string, string>>): AsyncGenerator<StoreEntry> {
  for (const [key, text] of Object.entries(entries)) yield { key, value: Buffer.from(text) };
}

function keeper(options: { limitBytes?: number; graceMillis?: number } = {}): JournalKeeper {
  const committer = { commit: (...all: Parameters<Store['commit']>) => store.commit(...all) };
  return new JournalKeeper({ storage: disk, folder, store, committer, ...options });
}

async function linesIn(name: string): Promise<string[]> {
  return (await readFile(join(folder, name), 'utf8')).trimEnd().split('\n');
}

async function journalNames(): Promise<string[]> {
  return (await readdir(folder)).filter((name) => name.startsWith('journal-')).toSorted();
}

describe('the state of a journal', () => {
  it('is what its changes come to, in the order of the keys, with the bytes of any value', async () => {
    const journal = await openJournal(disk, folder, store);
    await put(journal, write('b', '1'), write('a\u0000', '1'), write('😀', ''));
    await put(journal, { key: 'a', value: Buffer.from([0, 255, 254]) }, write('b', null));
    await put(journal, write('\uffee', 'x'));
    await journal.close();
    expect(await contents()).toEqual([
      ['a', '\u0000ÿþ'],
      ['a\u0000', '1'],
      ['\uffee', 'x'],
      ['😀', ''],
    ]);
    expect(await readState(disk, folder)).toMatchObject({
      sequence: 3n,
      changes: 3,
      holes: [],
      forks: [],
    });
    expect(await contents(1n)).toEqual([
      ['a\u0000', '1'],
      ['b', '1'],
      ['😀', ''],
    ]);
    expect(await lastInJournal(disk, folder)).toBe(3n);
  });

  it('writes a snapshot in a data folder that is reached through a link', async () => {
    const link = `${folder}-link`;
    await symlink(folder, link);
    await writeSnapshot(disk, link, 3n, each({ a: 'snap' }));
    await rm(link);
    expect(await listSnapshots(disk, folder)).toMatchObject([{ sequence: 3n }]);
  });

  it('begins with a snapshot, and lines that it holds count no more', async () => {
    const journal = await openJournal(disk, folder, store);
    await put(journal, write('a', 'old'), write('b', 'old'));
    await put(journal, write('a', null), write('d', 'new'));
    await journal.close();
    await writeSnapshot(disk, folder, 1n, each({ a: 'snap', b: 'snap', c: 'snap' }));
    expect(await contents()).toEqual([
      ['b', 'snap'],
      ['c', 'snap'],
      ['d', 'new'],
    ]);
    expect(await readState(disk, folder)).toMatchObject({ sequence: 2n, changes: 1 });
    expect(await readState(disk, folder, 0n)).toMatchObject({ sequence: 0n, snapshot: undefined });
    await writeSnapshot(disk, folder, 9n, each({ z: '9' }));
    expect(await contents()).toEqual([['z', '9']]);
    expect(await lastInJournal(disk, folder)).toBe(9n);
  });

  const spoilings: readonly [string, (text: string) => string][] = [
    ['a changed byte', (text) => text.replace('snap', 'snip')],
    ['a missing line', (text) => text.split('\n').toSpliced(1, 1).join('\n')],
    ['no end', (text) => text.split('\n').slice(0, -2).join('\n')],
    ['a torn end', (text) => text.slice(0, -3)],
    ['more after its end', (text) => `${text}${text.split('\n')[1]}\n`],
    ['nothing in it', () => ''],
  ];

  it.each(spoilings)('passes over a snapshot with %s', async (_, spoil) => {
    await writeSnapshot(disk, folder, 4n, each({ a: 'whole' }));
    const { name } = await writeSnapshot(disk, folder, 5n, each({ a: 'snap', b: 'snap' }));
    await writeFile(join(folder, name), spoil(await readFile(join(folder, name), 'utf8')));
    expect(await contents()).toEqual([['a', 'whole']]);
    expect(await readState(disk, folder)).toMatchObject({ sequence: 4n, spoilt: [name] });
  });

  it('says which changes are missing, damaged, or there twice', async () => {
    const lines = [1n, 2n, 5n, 6n].map((sequence) =>
      encodeChange({ sequence, writes: [write('k', String(sequence))] }),
    );
    await mkdir(folder, { recursive: true });
    const first = join(folder, 'journal-00000000000000000001-aa-1.jsonl');
    await writeFile(first, Buffer.concat([...lines, Buffer.from('{"crc32":"torn')]));
    expect(await readState(disk, folder)).toMatchObject({
      sequence: 6n,
      holes: [[3n, 4n]],
      forks: [],
      damages: [{ line: 5, last: true }],
    });
    const other = encodeChange({ sequence: 5n, writes: [write('k', 'another')] });
    const second = join(folder, 'journal-00000000000000000005-bb-1.jsonl');
    await writeFile(second, Buffer.concat([lines[2]!, other]));
    expect((await readState(disk, folder)).forks).toEqual([5n]);
    expect(await lastInJournal(disk, folder)).toBe(6n);
  });

  it('is found at the end of files whose last lines are long, torn or damaged', async () => {
    const long = encodeChange({ sequence: 7n, writes: [write('k', 'x'.repeat(200_000))] });
    const path = join(folder, 'journal-00000000000000000007-aa-1.jsonl');
    await writeFile(path, long);
    expect(await lastInJournal(disk, folder)).toBe(7n);
    await appendFile(path, encodeChange({ sequence: 8n, writes: [] }).subarray(0, -1));
    expect(await lastInJournal(disk, folder)).toBe(7n);
    await appendFile(path, '\n');
    expect(await lastInJournal(disk, folder)).toBe(8n);
    await appendFile(path, 'rubbish\n');
    expect(await lastInJournal(disk, folder)).toBe(8n);
    await writeFile(join(folder, 'journal-00000000000000000009-aa-2.jsonl'), 'rubbish\n');
    expect(await lastInJournal(disk, folder)).toBe(8n);
  });
});

describe('the keeper of a journal', () => {
  async function age(names: readonly string[], millis: number): Promise<void> {
    const then = new Date(Date.now() - millis);
    for (const name of names) await utimes(join(folder, name), then, then);
  }

  it('changes nothing that the journal comes to, whenever it makes a snapshot and cuts', async () => {
    const key = fc.constantFrom('a', 'b', 'b\u0000', 'é', '😀', '\uffee');
    const step = fc.oneof(
      fc.array(fc.tuple(key, fc.option(fc.string({ maxLength: 4 }))), { maxLength: 3 }),
      fc.constant('keep' as const),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 12 }), async (steps) => {
        folder = await newFolder();
        store = new MemoryStore();
        const open = () => openJournal(disk, folder, store, { rotateBytes: 200 });
        let journal = await open();
        for (const each of steps) {
          if (each !== 'keep') {
            await put(journal, ...each.map(([name, text]) => write(name, text)));
            continue;
          }
          // Its files are not written to any more.
          await journal.close();
          await keeper({ limitBytes: 0, graceMillis: -1 }).keep();
          journal = await open();
        }
        await journal.close();
        expect(new Map(await contents())).toEqual(
          new Map([...store.contents()].map(([name, text]) => [name, latin(text)])),
        );
        expect((await readState(disk, folder)).holes).toEqual([]);
      }),
      { numRuns: 30 },
    );
  });

  it('makes a snapshot when lines have become many, and takes away what is long closed', async () => {
    const journal = await openJournal(disk, folder, store, { rotateBytes: 1 });
    for (let at = 0; at < 10; at++) await put(journal, write(`k${at}`, 'x'));
    await journal.catchUp();
    const before = await contents();
    await keeper({ limitBytes: 10_000 }).keep();
    expect(await listSnapshots(disk, folder)).toEqual([]);
    await keeper({ limitBytes: 100 }).keep();
    expect(await listSnapshots(disk, folder)).toMatchObject([{ sequence: 10n }]);
    // Whoever wrote them may still do so.
    expect(await journalNames()).toHaveLength(10);
    await age((await journalNames()).slice(0, 9), 11 * IDLE_MILLIS);
    await keeper({ limitBytes: 100 }).keep();
    expect(await journalNames()).toHaveLength(1);
    await put(journal, write('later', 'x'));
    await journal.close();
    expect(await contents()).toEqual([...before, ['later', 'x']]);
  });

  it('keeps the lines after a snapshot, and all of them when the snapshot is damaged', async () => {
    const journal = await openJournal(disk, folder, store, { rotateBytes: 1 });
    for (let at = 0; at < 4; at++) await put(journal, write(`k${at}`, 'x'));
    await journal.catchUp();
    await journal.close();
    const { name } = await writeSnapshot(disk, folder, 2n, each({ k0: 'x', k1: 'x' }));
    const whole = await readFile(join(folder, name));
    await writeFile(join(folder, name), whole.subarray(1));
    await keeper({ graceMillis: -1 }).keep();
    expect(await journalNames()).toHaveLength(4);
    await writeFile(join(folder, name), whole);
    await keeper({ graceMillis: -1 }).keep();
    expect(await journalNames()).toHaveLength(2);
    expect(await contents()).toHaveLength(4);
  });

  it('makes no snapshot that would hide that a change is missing', async () => {
    const journal = await openJournal(disk, folder, store);
    for (const text of ['1', '2', '3']) await put(journal, write('k', text));
    await journal.catchUp();
    await journal.close();
    const [name = ''] = await journalNames();
    const lines = await linesIn(name);
    await writeFile(join(folder, name), [lines[0], 'rubbish', lines[2], ''].join('\n'));
    await expect(keeper().snapshot()).rejects.toThrow(
      `no snapshot of the journal is made: line 2 of ${name} in the journal is damaged`,
    );
    expect(await listSnapshots(disk, folder)).toEqual([]);
  });

  it('takes away what a crash left of a snapshot, once it is old', async () => {
    const draft = 'snapshot-00000000000000000001-aa.jsonl.draft-x';
    await writeFile(join(folder, draft), 'half');
    await keeper().keep();
    expect(await readdir(folder)).toEqual([draft]);
    await age([draft], 2 * 86_400_000);
    await keeper().keep();
    expect(await readdir(folder)).toEqual([]);
  });
});

function latin(text: string): string {
  return Buffer.from(text).toString('latin1');
}
