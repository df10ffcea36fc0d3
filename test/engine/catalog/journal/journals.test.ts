import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { listedFiles } from '../../../../src/engine/catalog/journal/journal-files.ts';
import { mergeObjects } from '../../../../src/engine/catalog/journal/journal-objects.ts';
import { encodeChange } from '../../../../src/engine/catalog/journal/journal-line.ts';
import { openJournal } from '../../../../src/engine/catalog/journal/journal.ts';
import { openJournalLog } from '../../../../src/engine/catalog/journal/journal-log.ts';
import { readState } from '../../../../src/engine/catalog/journal/journal-state.ts';
import { BucketStorage } from '../../../../src/storage/bucket/bucket-storage.ts';
import { MemoryStorage } from '../../../../src/storage/memory-storage.ts';
import { testJournal } from '../../../conformance/journal.ts';
import { BucketServer, hasBuckets } from '../../../support/bucket-server.ts';
import { disk } from '../../../support/disk.ts';
import { eventually } from '../../../support/eventually.ts';
import { FaultyProxy } from '../../../support/faulty-proxy.ts';
import { testFolders } from '../../../support/folder.ts';
import { MemoryStore } from '../../../support/memory-store.ts';

const newFolder = testFolders();

describe('a journal in a folder', () => {
  testJournal(async () => {
    const data = await newFolder();
    return { storage: disk, data, folder: join(data, 'catalog') };
  });
});

describe('a journal of objects in memory', () => {
  testJournal(async () => ({ storage: new MemoryStorage(), data: '/data', folder: '/catalog' }));

  const line = (sequence: bigint) => {
    const change = { sequence, writes: [{ key: `k${sequence}`, value: Buffer.from('x') }] };
    return { sequence, bytes: encodeChange(change) };
  };

  it('shares an object among lines that come together', async () => {
    const storage = new MemoryStorage();
    const log = openJournalLog(storage, '/catalog');
    await Promise.all(Array.from({ length: 200 }, (_, at) => log.append(line(BigInt(at + 1)))));
    expect((await listedFiles(storage, '/catalog')).length).toBeLessThan(4);
    await log.close();
  });

  it('merges the objects of a process, and those that others left', async () => {
    const storage = new MemoryStorage();
    const log = openJournalLog(storage, '/catalog');
    for (let at = 1n; at <= 200n; at++) await log.append(line(at));
    await eventually(async () => {
      expect((await listedFiles(storage, '/catalog')).length).toBeLessThan(70);
    });
    await log.close();
    for (let at = 201n; at <= 240n; at++) {
      const dead = openJournalLog(storage, '/catalog');
      await dead.append(line(at));
      await dead.close();
    }
    expect((await listedFiles(storage, '/catalog')).length).toBeGreaterThan(40);
    await mergeObjects(storage, '/catalog', 'ff', 0n, -1000);
    const left = await listedFiles(storage, '/catalog');
    expect(left.map(({ first, last }) => [first, last])).toEqual([[1n, 240n]]);
    const state = await readState(storage, '/catalog');
    expect([state.sequence, state.changes, state.holes]).toEqual([240n, 240, []]);
  });
});

describe.runIf(hasBuckets)('a journal in a bucket', () => {
  let server: BucketServer;
  let proxy: FaultyProxy;
  const opened: BucketStorage[] = [];
  beforeAll(async () => {
    server = await BucketServer.start('moto');
    proxy = await FaultyProxy.before(server.endpoint);
  });
  afterAll(async () => {
    for (const storage of opened) storage.close();
    await proxy.close();
    await server.stop();
  });

  async function newBucket(): Promise<BucketStorage> {
    const storage = new BucketStorage(server.place({ endpoint: proxy.url }), {
      spill: await newFolder(),
    });
    opened.push(storage);
    return storage;
  }

  testJournal(async () => ({ storage: await newBucket(), data: '/data', folder: '/catalog' }));

  it('has a change whose object took effect and was answered 500', async () => {
    const storage = await newBucket();
    const store = new MemoryStore();
    const journal = await openJournal(storage, '/catalog', store);
    for (const mishap of ['lost', 'error', 'busy', 'reset', 'cut'] as const) {
      proxy.next(mishap, ({ method }) => method === 'PUT', 2);
      const value = Buffer.from(mishap);
      const { kind } = await journal.commit([], [{ key: mishap, value }]);
      expect(kind).toBe('committed');
    }
    await journal.close();
    const state = await readState(storage, '/catalog');
    expect([state.sequence, state.holes, state.forks]).toEqual([5n, [], []]);
  });

  it('refuses changes while the bucket is away, and has all of them afterwards', async () => {
    const storage = await newBucket();
    const store = new MemoryStore();
    const journal = await openJournal(storage, '/catalog', store);
    const commit = (key: string) => journal.commit([], [{ key, value: Buffer.from('x') }]);
    await commit('before');
    proxy.fate = () => 'error';
    await expect(commit('away')).rejects.toThrow('the catalog journal is not written');
    expect(journal.fault).toContain('unavailable');
    const sequence = await store.sequence();
    await expect(commit('never made')).rejects.toThrow('the catalog journal is not written');
    expect(await store.sequence()).toBe(sequence);
    proxy.fate = () => undefined;
    await eventually(async () => expect((await commit('after')).kind).toBe('committed'));
    await eventually(() => expect(journal.fault).toBeUndefined());
    await journal.close();
    const state = await readState(storage, '/catalog');
    expect([state.sequence, state.holes, state.forks]).toEqual([sequence + 1n, [], []]);
  });
});
