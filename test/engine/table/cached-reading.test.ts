import { disk } from '../../support/disk.ts';
import { readdir, readlink, truncate } from 'node:fs/promises';
import { join } from 'node:path';
import {
  Dictionary,
  Field,
  FixedSizeList,
  Float32,
  Int32,
  Int64,
  List,
  Schema,
  Struct,
  Table,
  Utf8,
  vectorFromArray,
  type DataType,
  type RecordBatch,
} from 'apache-arrow';
import { afterEach, describe, expect, it } from 'vitest';
import { batchOf } from '../../../src/arrow/select.ts';
import { writeDeletions } from '../../../src/engine/format/deletion-file.ts';
import { FragmentReader } from '../../../src/engine/query/scan/fragment-reader.ts';
import { MemoryBudget } from '../../../src/engine/format/memory/memory-budget.ts';
import { firstFile } from '../../../src/engine/format/snapshot.ts';
import { Flushes } from '../../../src/storage/flushes.ts';
import { LocalStorage } from '../../../src/storage/local-storage.ts';
import { storeTable, type StoredTable } from '../../support/stored-table.ts';

const ROWS = 1000;

type Make = (row: number) => unknown;

const columns: readonly (readonly [string, DataType, Make])[] = [
  ['id', new Int64(), (row) => BigInt(row)],
  ['name', new Utf8(), (row) => (row % 7 === 0 ? null : `row ${row}`)],
  ['list', new List(new Field('item', new Int32())), (row) => [row, null, row + 1].slice(row % 3)],
  ['point', new Struct([new Field('x', new Int32())]), (row) => ({ x: row })],
  [
    'vector',
    new FixedSizeList(2, new Field('item', new Float32())),
    (row) => (row % 5 === 0 ? null : [row, row / 2]),
  ],
  ['word', new Dictionary(new Utf8(), new Int32()), (row) => `word ${row % 10}`],
];

const schema = new Schema(columns.map(([name, type]) => new Field(name, type, true)));
const names = schema.fields.map(({ name }) => name);

function batchFrom(first: number): RecordBatch {
  const rows = Array.from({ length: ROWS }, (_, at) => first + at);
  const vectors = columns.map(([, type, make]) => vectorFromArray(rows.map(make), type));
  return batchOf(schema, vectors, ROWS);
}

let stored: StoredTable;
let reader: FragmentReader;
afterEach(async () => {
  await reader.close();
  await stored.remove();
});

async function start(bytes: number): Promise<MemoryBudget> {
  stored = await storeTable(schema, [[batchFrom(0), batchFrom(ROWS)]]);
  const budget = new MemoryBudget(bytes);
  reader = new FragmentReader(disk, budget);
  return budget;
}

/** The rows of a batch, as text. */
async function read(index: number, some: readonly string[], range?: [number, number]) {
  const { snapshot } = stored;
  const asked = range === undefined ? undefined : { start: range[0], count: range[1] };
  const found = await reader.batch(snapshot, snapshot.fragments[0]!, index, some, asked);
  const rows = new Table([found.batch]).toArray().map(String);
  found.release?.();
  return rows;
}

/** The same batches with some rows deleted. */
async function withDeleted(rows: readonly number[]): Promise<void> {
  const { snapshot } = stored;
  const flushes = new Flushes();
  const [file] = await writeDeletions(snapshot, [Uint32Array.from(rows)], flushes);
  await flushes.settled();
  const [fragment] = snapshot.fragments;
  const { path, seal } = file!;
  const left = { rows: fragment!.rows - rows.length, deletions: path, deletionsSeal: seal };
  stored = { ...stored, snapshot: { ...snapshot, fragments: [{ ...fragment!, ...left }] } };
}

/** Makes every further read of the files of the table fail. */
async function breakFiles(): Promise<void> {
  const folder = join(stored.snapshot.folder, 'data');
  for (const name of await readdir(folder)) await truncate(join(folder, name), 8);
}

describe('reading through the cache', () => {
  it('answers the same each time, whichever columns and rows are asked for', async () => {
    await start(2 ** 20);
    const first = await read(1, names);
    for (let time = 0; time < 3; time++) {
      expect(await read(1, names)).toEqual(first);
      expect(await read(1, names, [300, 17])).toEqual(first.slice(300, 317));
      expect(await read(1, ['word', 'name'])).toHaveLength(ROWS);
      expect(await read(0, names)).not.toEqual(first);
    }
  });

  it('answers any rows of a batch of which some are deleted', async () => {
    await start(2 ** 30);
    await withDeleted([0, 1, 5, 400, 401, 998, 999, ROWS + 7, 2 * ROWS - 1]);
    for (const index of [0, 1]) {
      const all = await read(index, names);
      expect(all).toHaveLength(index === 0 ? ROWS - 7 : ROWS - 2);
      const last = all.length - 1;
      for (const range of [
        [0, 1],
        [0, 5],
        [2, 1],
        [3, 0],
        [390, 20],
        [last, 1],
        [5, last - 4],
      ]) {
        const [first, count] = range as [number, number];
        expect(await read(index, names, [first, count])).toEqual(all.slice(first, first + count));
      }
    }
  });

  it('does not look into the file for columns that it has', async () => {
    const budget = await start(2 ** 20);
    const kept = names.filter((name) => name !== 'word');
    const before = await read(0, kept);
    await read(0, kept);
    const spent = budget.bytes - budget.left;
    await breakFiles();
    expect(await read(0, kept)).toEqual(before);
    expect(await read(0, kept, [10, 5])).toEqual(before.slice(10, 15));
    await expect(read(1, kept)).rejects.toThrow('ends at byte');
    expect(budget.bytes - budget.left).toBe(spent);
    expect(spent).toBeGreaterThan(ROWS * 30);
  });

  it('keeps a whole column whose rows are read again, and nothing beyond its memory', async () => {
    const budget = await start(2 ** 14);
    await read(0, ['id'], [0, 10]);
    expect(budget.left).toBe(budget.bytes);
    for (let time = 0; time < 3; time++) await read(0, ['id'], [0, 10]);
    const column = ROWS * BigInt64Array.BYTES_PER_ELEMENT;
    expect(budget.bytes - budget.left).toBeGreaterThanOrEqual(column);
    for (let time = 0; time < 4; time++) await read(0, names);
    expect(budget.left).toBeLessThan(budget.bytes);
    expect(budget.left).toBeGreaterThanOrEqual(0);
  });

  it('leaves memory to its reader that has left the cache', async () => {
    const budget = await start(2 ** 14);
    const { snapshot } = stored;
    const hold = () => reader.batch(snapshot, snapshot.fragments[0]!, 0, ['id']);
    await hold();
    await hold();
    const held = await hold();
    expect(budget.left).toBeLessThan(budget.bytes);
    budget.spend(budget.bytes);
    for (let time = 0; time < 5; time++) await read(1, names);
    const ids = [...(held.batch.getChildAt(0)!.toArray() as BigInt64Array)];
    expect(ids).toEqual(Array.from({ length: ROWS }, (_, row) => BigInt(row)));
  });
});

describe('a file that is opened soon', () => {
  class CountingStorage extends LocalStorage {
    opened = 0;

    override open(...args: Parameters<LocalStorage['open']>) {
      this.opened++;
      return super.open(...args);
    }
  }

  const nextTurn = () => new Promise((resolve) => setImmediate(resolve));

  it('is open for the next reader', async () => {
    await start(0);
    const storage = new CountingStorage();
    reader = new FragmentReader(storage);
    reader.openSoon(firstFile(stored.snapshot.folder, stored.snapshot.fragments[0]!));
    expect(storage.opened).toBe(0);
    while (storage.opened === 0) await nextTurn();
    expect(await read(0, ['id'])).toHaveLength(ROWS);
    expect(storage.opened).toBe(1);
  });

  it('is closed with the reader', async () => {
    await start(0);
    const storage = new CountingStorage();
    reader = new FragmentReader(storage);
    const opened = firstFile(stored.snapshot.folder, stored.snapshot.fragments[0]!);
    reader.openSoon(opened);
    await reader.close();
    expect(storage.opened).toBe(1);
    const links = await Promise.all(
      (await readdir('/proc/self/fd')).map((name) =>
        readlink(`/proc/self/fd/${name}`).catch(() => ''),
      ),
    );
    expect(links).not.toContain(opened.path);
  });

  it('fails whoever reads it, and nobody else', async () => {
    await start(0);
    const { path, seal } = firstFile(stored.snapshot.folder, stored.snapshot.fragments[0]!);
    const damage: Error[] = [];
    reader.onDamagedFile = (error) => damage.push(error);
    await truncate(path, 100);
    reader.openSoon({ path, seal });
    while (damage.length === 0) await nextTurn();
    reader.openSoon({ path: `${path}.none`, seal });
    await expect(read(0, ['id'])).rejects.toThrow();
  });
});
