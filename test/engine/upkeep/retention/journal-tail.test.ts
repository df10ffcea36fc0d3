import { disk } from '../../../support/disk.ts';
import { Int64, vectorFromArray } from 'apache-arrow';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { mkdir, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { journalFileName } from '../../../../src/engine/catalog/journal/journal-files.ts';
import { encodeChange } from '../../../../src/engine/catalog/journal/journal-line.ts';
import { readState } from '../../../../src/engine/catalog/journal/journal-state.ts';
import { writeSnapshot } from '../../../../src/engine/catalog/journal/snapshot-file.ts';
import { isBehind } from '../../../../src/engine/upkeep/retention/journal-tail.ts';
import { collect, tableFiles } from '../../../support/dropped.ts';
import { EngineTable, refusalOf, streamOf } from '../../../support/engine-table.ts';
import { keysOf } from '../../../support/stores.ts';

let table: EngineTable;

const rows = (...values: bigint[]) => ({ n: vectorFromArray(values, new Int64()) });
const behind = () => isBehind(disk, join(table.engine.data, 'catalog'), table.engine.store);

beforeEach(async () => {
  table = await EngineTable.open();
  await table.create(rows(1n), rows(2n));
});

afterEach(async () => table.close());

/** Puts the store back to what it was before some work, as one that is restored or loses writes. */
async function rolledBack(work: () => Promise<unknown>): Promise<void> {
  const { store } = table.engine;
  const keys = await keysOf(store, '');
  const values = await store.getMany(keys);
  await work();
  await expect.poll(async () => (await store.changes(9)).length).toBe(0);
  const gone = (await keysOf(store, '')).filter((key) => !keys.includes(key));
  const back = keys.map((key, at) => ({ key, value: values[at]! }));
  const { kind } = await store.commit([], [...back, ...gone.map((key) => ({ key, value: null }))]);
  expect(kind).toBe('committed');
  // A store that was put back tells the journal nothing of it.
  await store.forget((await store.changes(9)).map(({ sequence }) => sequence));
}

it('a store that goes on is not behind, however busily it is written to', async () => {
  const stop = new AbortController();
  const writing = (async () => {
    while (!stop.signal.aborted) await table.send('insert', { body: streamOf(rows(3n)) });
  })();
  for (let round = 0; round < 100; round++) expect(await behind()).toBe(false);
  stop.abort();
  await writing;
  await table.post('drop');
  expect(await behind()).toBe(false);
});

it('a store is not behind after a change whose line is longer than what is read first', async () => {
  const { store } = table.engine;
  const folder = join(table.engine.data, 'long');
  await mkdir(folder);
  const file = (first: bigint, ...lines: readonly Buffer[]) =>
    writeFile(join(folder, journalFileName({ first, instance: 'ab', number: 1 })), lines);
  const change = (sequence: bigint, key: string, value: Buffer) =>
    encodeChange({ sequence, writes: [{ key, value }] });
  const [first, second, long] = [Buffer.of(1), Buffer.of(2), Buffer.alloc(2 ** 19)];
  await file(1n, change(1n, 'head', first));
  await file(2n, change(2n, 'head', second), change(3n, 'long', long));
  const put = (head: Buffer) =>
    store.commit(
      [],
      [
        { key: 'head', value: head },
        { key: 'long', value: long },
      ],
    );
  await put(second);
  await store.forget((await store.changes(9)).map(({ sequence }) => sequence));
  expect(await isBehind(disk, folder, store)).toBe(false);
  await put(first);
  await store.forget((await store.changes(9)).map(({ sequence }) => sequence));
  expect(await isBehind(disk, folder, store)).toBe(true);
});

it('a store is not behind when many processes wrote to the journal after one that made the newest change', async () => {
  const { store } = table.engine;
  const folder = join(table.engine.data, 'many');
  await mkdir(folder);
  const write = async (first: bigint, writtenSeconds: number, ...values: readonly number[]) => {
    const lines = values.map((value, at) =>
      encodeChange({
        sequence: first + BigInt(at),
        writes: [{ key: 'head', value: Buffer.of(value) }],
      }),
    );
    const path = join(folder, journalFileName({ first, instance: 'ab', number: 1 }));
    await writeFile(path, lines);
    await utimes(path, writtenSeconds, writtenSeconds);
  };
  await write(1n, 5000, 1);
  await write(50n, 1000, 2);
  for (let other = 2n; other < 40n; other++) await write(other, 2000 + Number(other));
  const put = async (value: number) => {
    await store.commit([], [{ key: 'head', value: Buffer.of(value) }]);
    await store.forget((await store.changes(9)).map(({ sequence }) => sequence));
    return isBehind(disk, folder, store);
  };
  expect(await put(2)).toBe(false);
  await write(60n, 9000, 3);
  expect(await put(3)).toBe(false);
  expect(await put(2)).toBe(true);
});

it('looks at no snapshot of the journal', async () => {
  const folder = join(table.engine.data, 'catalog');
  const { entries, sequence } = await readState(disk, folder);
  await writeSnapshot(disk, folder, sequence, entries());
  expect(await behind()).toBe(false);
});

it('by a store that was put back nothing is removed', async () => {
  await rolledBack(async () => table.send('insert', { body: streamOf(rows(3n)) }));
  const before = await tableFiles(table.engine.data);
  expect(await behind()).toBe(true);
  expect(await refusalOf(collect(table.engine))).toBe(
    '17 the store lacks changes that the catalog journal holds: nothing is removed by what it says',
  );
  expect(await tableFiles(table.engine.data)).toEqual(before);
});

it('nor by one that does not know that a table was brought back', async () => {
  await table.post('drop');
  await rolledBack(async () => table.engine.upkeep!.dropped.undrop(['t']));
  expect(await behind()).toBe(true);
});
