import { disk } from '../../../support/disk.ts';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openIdentity, OwnCommitter } from '../../../../src/engine/catalog/journal/identity.ts';
import { openJournal, type Journal } from '../../../../src/engine/catalog/journal/journal.ts';
import { CATALOG_KEY } from '../../../../src/engine/catalog/records/keys.ts';
import { MemoryStore } from '../../../support/memory-store.ts';

const key = 'N/\u0000a';
let data = '';
let store: MemoryStore;
let journal: Journal;
let committer: OwnCommitter;

beforeEach(async () => {
  data = await mkdtemp(join(tmpdir(), 'own-committer-'));
  store = new MemoryStore();
  journal = await openJournal(disk, join(data, 'catalog'), store);
  committer = new OwnCommitter(
    journal,
    await openIdentity(disk, join(data, 'catalog'), store, journal),
  );
});

afterEach(async () => {
  await journal.close();
  await rm(data, { recursive: true, force: true });
});

describe('OwnCommitter', () => {
  it('commits to the store that is the catalog’s, and passes its conflicts on', async () => {
    const write = { key, value: Buffer.from('1') };
    const absent = { kind: 'value' as const, key, value: null };
    expect(await committer.commit([absent], [write])).toMatchObject({ kind: 'committed' });
    expect(await committer.commit([absent], [write])).toEqual({ kind: 'conflict', check: 0 });
  });

  it('puts nothing into a store that was wiped or swapped under it', async () => {
    await store.commit([], [{ key: CATALOG_KEY, value: Buffer.from('another') }]);
    const commit = committer.commit([], [{ key, value: Buffer.from('1') }]);
    await expect(commit).rejects.toMatchObject({
      row: { code: 17 },
      message: "the store no longer carries this catalog's id",
    });
    expect(await store.get(key)).toBeUndefined();
  });
});
