import { describe, expect, it } from 'vitest';
import { NotedCommitter, NotedStore } from '../../../../src/engine/catalog/records/noted-store.ts';
import { CATALOG_KEY } from '../../../../src/engine/catalog/records/keys.ts';
import { RecentRecords } from '../../../../src/engine/catalog/records/recent-records.ts';
import { MemoryStore } from '../../../support/memory-store.ts';

const bytes = (text: string) => Buffer.from(text);
const away = { name: 'StoreError', kind: 'unavailable' };

async function opened(memory?: number) {
  const inner = new MemoryStore();
  await inner.commit([], [{ key: CATALOG_KEY, value: bytes('id') }]);
  const recent = new RecentRecords(memory);
  const store = new NotedStore(inner, 'id', recent);
  const committer = new NotedCommitter(
    { commit: (checks, writes) => inner.commit(checks, writes), catchUp: async () => undefined },
    recent,
  );
  const write = (key: string, value: string | null) =>
    committer.commit([], [{ key, value: value === null ? null : bytes(value) }]);
  const recalled = async (key: string) => {
    const value = await recent.store.get(key);
    return value === undefined ? undefined : Buffer.from(value).toString();
  };
  return { inner, recent, store, write, recalled };
}

describe('records that were read', () => {
  it('are known without the store: tables, versions, branches and tags', async () => {
    const { store, write, recalled } = await opened();
    for (const key of ['T/t', 'Vt/main/1', 'Bt/b', 'Gt/g']) {
      await write(key, key);
      await expect(recalled(key)).rejects.toMatchObject(away);
      await store.get(key);
      expect(await recalled(key)).toBe(key);
    }
  });

  it('are never what is newest, nor a listing, nor a change', async () => {
    const { store, write, recalled, recent } = await opened();
    for (const key of ['Ht/main', 'X1', 'N/n']) {
      await write(key, key);
      await store.get(key);
    }
    await expect(recalled('Ht/main')).rejects.toMatchObject(away);
    await expect(recalled('X1')).rejects.toMatchObject(away);
    // A table's name is looked up beside that of a namespace: where the table is, none is.
    expect(await recalled('N/n')).toBeUndefined();
    await expect(recent.store.range({ start: 'T', end: 'U', limit: 1 })).rejects.toMatchObject(
      away,
    );
    await expect(recent.store.commit([], [])).rejects.toMatchObject(away);
  });

  it('are not known any more when they were removed or changed', async () => {
    const { inner, store, write, recalled } = await opened();
    await write('T/t', 'old');
    await store.get('T/t');
    await write('T/t', 'new');
    await expect(recalled('T/t')).rejects.toMatchObject(away);
    await store.get('T/t');
    expect(await recalled('T/t')).toBe('new');
    // By another process; it is seen at the next read.
    await inner.commit([], [{ key: 'T/t', value: null }]);
    await store.get('T/t');
    await expect(recalled('T/t')).rejects.toMatchObject(away);
  });

  it('are not taken from a read that a change has overtaken', async () => {
    const { recent, write, recalled } = await opened();
    const since = recent.now;
    await write('T/t', 'new');
    recent.note(['T/t', 'Gt/g'], [bytes('old'), bytes('tag')], since);
    await expect(recalled('T/t')).rejects.toMatchObject(away);
    expect(await recalled('Gt/g')).toBe('tag');
  });

  it('are not taken from a store that is not the catalog’s', async () => {
    const { inner, store, recalled } = await opened();
    await inner.commit([], [{ key: CATALOG_KEY, value: bytes('another') }]);
    await inner.commit([], [{ key: 'T/t', value: bytes('strange') }]);
    await expect(store.get('T/t')).rejects.toMatchObject({ name: 'StrangeStore' });
    await expect(recalled('T/t')).rejects.toMatchObject(away);
  });

  it('take no more memory than they may', async () => {
    const { store, write, recalled } = await opened(1000);
    const keys = Array.from({ length: 20 }, (_, at) => `T/t${at}`);
    for (const key of keys) {
      await write(key, key);
      await store.get(key);
    }
    await expect(recalled('T/t0')).rejects.toMatchObject(away);
    expect(await recalled('T/t19')).toBe('T/t19');
  });
});
