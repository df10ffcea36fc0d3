import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { journalFiles } from '../../src/engine/catalog/journal/journal-files.ts';
import { lastInJournal } from '../../src/engine/catalog/journal/journal-end.ts';
import { JournalKeeper } from '../../src/engine/catalog/journal/journal-keeper.ts';
import { encodeChange } from '../../src/engine/catalog/journal/journal-line.ts';
import { openJournal, type Journal } from '../../src/engine/catalog/journal/journal.ts';
import {
  readJournal,
  type JournalDamage,
} from '../../src/engine/catalog/journal/journal-reader.ts';
import { readState } from '../../src/engine/catalog/journal/journal-state.ts';
import { rebuild } from '../../src/engine/upkeep/recovery/rebuild.ts';
import { idPaths } from '../../src/engine/catalog/records/catalog-id.ts';
import { CATALOG_KEY } from '../../src/engine/catalog/records/keys.ts';
import { writeFormat } from '../../src/engine/catalog/journal/data-format.ts';
import type { Storage } from '../../src/storage/storage.ts';
import type { StoreChange, Write } from '../../src/store/store.ts';
import { MemoryStore } from '../support/memory-store.ts';

/** A place of a journal that nothing else uses. */
export interface JournalPlaceOfTest {
  readonly storage: Storage;
  /** A data folder on the same storage. */
  readonly data: string;
  /** The folder of the journal. */
  readonly folder: string;
}

/** A store whose catalog has an id, as every one has. */
async function founded({ storage, folder }: JournalPlaceOfTest): Promise<MemoryStore> {
  const store = new MemoryStore();
  await storage.folders?.make(folder);
  await storage.putIfAbsent(idPaths(folder).final, ID);
  await store.commit([], [{ key: CATALOG_KEY, value: ID }]);
  return store;
}

const ID = Buffer.from('a-catalog');

function set(key: string, value: string): Write {
  return { key, value: Buffer.from(value) };
}

async function put(journal: Journal, key: string, value = 'x'): Promise<bigint> {
  const result = await journal.commit([], [set(key, value)]);
  if (result.kind !== 'committed') throw new Error(`it was not committed: ${result.kind}`);
  return result.sequence;
}

/** What every journal does, on whichever storage it lies. */
export function testJournal(newPlace: () => Promise<JournalPlaceOfTest>): void {
  async function read(place: JournalPlaceOfTest): Promise<readonly StoreChange[]> {
    const damage: JournalDamage[] = [];
    const changes: StoreChange[] = [];
    for await (const change of readJournal(place.storage, place.folder, (one) => damage.push(one)))
      changes.push(change);
    expect(damage).toEqual([]);
    return changes;
  }

  async function numbers(place: JournalPlaceOfTest): Promise<readonly bigint[]> {
    return (await read(place)).map(({ sequence }) => sequence);
  }

  const upTo = (count: number): readonly bigint[] =>
    Array.from({ length: count }, (_, at) => BigInt(at + 1));

  it('has the line of a change when its commit resolves', async () => {
    const place = await newPlace();
    const store = await founded(place);
    const journal = await openJournal(place.storage, place.folder, store);
    const writes = [
      set('a', '1'),
      { key: 'b', value: null },
      { key: 'c', value: Buffer.from([255]) },
    ];
    await journal.commit([], writes);
    expect((await read(place)).at(-1)).toEqual({ sequence: 2n, writes });
    expect(await lastInJournal(place.storage, place.folder)).toBe(2n);
    expect(journal.fault).toBeUndefined();
    await journal.close();
  });

  it('holds changes of 64 KiB, and larger ones', async () => {
    const place = await newPlace();
    const journal = await openJournal(place.storage, place.folder, await founded(place));
    for (const bytes of [2 ** 16, 3 * 2 ** 20]) {
      await put(journal, `of ${bytes}`, 'x'.repeat(bytes));
      expect((await read(place)).at(-1)?.writes[0]?.value?.byteLength).toBe(bytes);
    }
    await journal.close();
  });

  it('makes one order of what several processes wrote', async () => {
    const place = await newPlace();
    const store = await founded(place);
    const journals = await Promise.all(
      [1, 2, 3].map(() => openJournal(place.storage, place.folder, store)),
    );
    for (let round = 0; round < 30; round++) {
      await Promise.all(journals.map((journal, index) => put(journal, `${index}/${round}`)));
    }
    expect(await numbers(place)).toEqual(upTo(91));
    await Promise.all(journals.map((journal) => journal.close()));
    expect(await numbers(place)).toEqual(upTo(91));
  });

  it('can be read while it is written', async () => {
    const place = await newPlace();
    const journal = await openJournal(place.storage, place.folder, await founded(place));
    for (let at = 0; at < 70; at++) await put(journal, `before ${at}`);
    const end = new AbortController();
    const writing = (async () => {
      for (let at = 0; !end.signal.aborted; at++) {
        await put(journal, `k${at}`);
        await sleep(1);
      }
    })();
    try {
      for (let times = 0; times < 3; times++) {
        const state = await readState(place.storage, place.folder);
        expect([state.holes, state.forks, state.damages, state.spoilt]).toEqual([[], [], [], []]);
        expect(state.sequence).toBeGreaterThan(70n);
      }
    } finally {
      end.abort();
      await writing;
      await journal.close();
    }
  });

  it('writes down first what a process left in the store', async () => {
    const place = await newPlace();
    const store = await founded(place);
    for (let at = 0; at < 50; at++) await store.commit([], [set(`k${at}`, 'x')]);
    const journal = await openJournal(place.storage, place.folder, store);
    expect(await numbers(place)).toEqual(upTo(51));
    expect(await store.changes(10)).toEqual([]);
    await journal.close();
  });

  it('knows a change that was written twice, and two changes of one number', async () => {
    const place = await newPlace();
    const store = await founded(place);
    const journal = await openJournal(place.storage, place.folder, store);
    await put(journal, 'a');
    await journal.close();
    const change = { sequence: 2n, writes: [set('a', 'x')] };
    const file = (instance: string): string =>
      join(place.folder, `journal-${'2'.padStart(20, '0')}-${instance}-1.jsonl`);
    await place.storage.write(file('aa'), encodeChange(change));
    expect(await numbers(place)).toEqual(upTo(2));
    await place.storage.write(file('ab'), encodeChange({ ...change, writes: [set('a', 'y')] }));
    expect((await readState(place.storage, place.folder)).forks).toEqual([2n]);
  });

  it('gives an empty store everything back, from a snapshot and the lines after it', async () => {
    const place = await newPlace();
    const store = await founded(place);
    const { storage, folder, data } = place;
    await writeFormat(storage, data);
    const first = await openJournal(storage, folder, store);
    for (let at = 0; at < 90; at++) await put(first, `k${at % 30}`, String(at));
    await first.close();
    const journal = await openJournal(storage, folder, store);
    const keeper = new JournalKeeper({
      storage,
      folder,
      store,
      committer: journal,
      graceMillis: -1e6,
    });
    await keeper.snapshot();
    await keeper.keep();
    expect(await journalFiles(storage, folder)).toEqual([]);
    for (let at = 0; at < 30; at++) await put(journal, `late ${at}`);
    await journal.close();
    const empty = new MemoryStore();
    const options = { storage, data, journal: folder, dryRun: false, force: false };
    const done = await rebuild({ ...options, store: empty, progress: () => undefined });
    expect(done).toMatchObject({ restored: 'all', lost: [], sequence: 121n });
    const all = { start: '', end: '\u{10ffff}', limit: 1000 };
    expect(await empty.range(all)).toEqual(await store.range(all));
  });
}
