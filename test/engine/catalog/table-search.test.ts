import { expect, it } from 'vitest';
import { droppedKey, tableKey } from '../../../src/engine/catalog/records/keys.ts';
import { encodeDropped, encodeTable } from '../../../src/engine/catalog/records/records-codec.ts';
import type { TableRecord } from '../../../src/engine/format/records.ts';
import { LastPaths } from '../../../src/engine/catalog/table-search.ts';
import type { KeyRange, StoreEntry } from '../../../src/store/store.ts';
import { MemoryStore } from '../../support/memory-store.ts';

class CountedStore extends MemoryStore {
  ranges = 0;

  override async range(range: KeyRange): Promise<readonly StoreEntry[]> {
    this.ranges += 1;
    return super.range(range);
  }
}

const table = (id: string): TableRecord => ({
  id,
  kind: 'engine',
  location: null,
  properties: {},
  createdMillis: 0,
});

it('are where tables are, were dropped, or were seen last; all tables are looked at once', async () => {
  const store = new CountedStore();
  const dropped = { path: ['d'], record: table('dropped'), droppedMillis: 1 };
  await store.commit(
    [],
    [
      { key: tableKey(['here']), value: encodeTable(table('here')) },
      { key: tableKey(['new name']), value: encodeTable(table('renamed')) },
      { key: tableKey(['taken']), value: encodeTable(table('another')) },
      { key: droppedKey('dropped'), value: encodeDropped(dropped) },
    ],
  );
  const paths = new LastPaths(store);
  expect(await paths.of({ id: 'here', path: ['here'] })).toEqual(['here']);
  expect(await paths.of({ id: 'dropped', path: ['old'] })).toEqual(['d']);
  expect(store.ranges).toBe(0);
  expect(await paths.of({ id: 'renamed', path: ['old name'] })).toEqual(['new name']);
  const walk = store.ranges;
  for (let at = 0; at < 100; at++) {
    expect(await paths.of({ id: `gone ${at}`, path: ['taken'] })).toEqual(['taken']);
  }
  expect(store.ranges).toBe(walk);
});
