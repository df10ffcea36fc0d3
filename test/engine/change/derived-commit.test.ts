import { disk } from '../../support/disk.ts';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Field, Int64, Schema, vectorFromArray, type RecordBatch } from 'apache-arrow';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { batchOf } from '../../../src/arrow/select.ts';
import type { Committer } from '../../../src/engine/catalog/records/commit-loop.ts';
import { encodeTable } from '../../../src/engine/catalog/records/records-codec.ts';
import { absent } from '../../../src/engine/catalog/records/reader.ts';
import type { Stored, TableRecord } from '../../../src/engine/format/records.ts';
import {
  deleteRows,
  commitDerived,
  type Derive,
} from '../../../src/engine/change/derived-commit.ts';
import { updateRows } from '../../../src/engine/change/update-rows.ts';
import { appended } from '../../../src/engine/format/change.ts';
import { FragmentReader } from '../../../src/engine/query/scan/fragment-reader.ts';
import { MemoryBudget } from '../../../src/engine/format/memory/memory-budget.ts';
import { LocalStorage } from '../../../src/storage/local-storage.ts';
import { Tables } from '../../../src/engine/versions/tables.ts';
import { CatalogError } from '../../../src/protocol/errors.ts';
import { refusalOf, tableRecord, unsureCommitter } from '../../support/catalog.ts';
import { MemoryStore } from '../../support/memory-store.ts';

/* A second `Tables` over the same folder is another process: nothing but the store is between them. */

const schema = new Schema([new Field('n', new Int64(), false)]);
const record: TableRecord = tableRecord();
const table: Stored<TableRecord> = {
  key: 'T/\u0000t',
  value: encodeTable(record),
  content: record,
};

let root = '';
let store: MemoryStore;
let ours: Tables;
let others: Tables;
let reader: FragmentReader;

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'derived-'));
  store = new MemoryStore();
  ours = tablesWith(store);
  others = tablesWith(store);
  reader = new FragmentReader(disk);
  const files = await ours.begin(record, schema, batches(1n, 2n, 3n));
  await ours.first(record, schema, files, async (checks, writes) => {
    const write = { key: table.key, value: table.value };
    await store.commit([...checks, absent(table.key)], [...writes, write]);
  });
});

afterEach(async () => {
  await reader.close();
  await rm(root, { recursive: true, force: true });
});

describe('a change while others write', () => {
  it('is computed on what they wrote, and reads again only what is new', async () => {
    const outcome = await commit(after(deleteRows(reader, 'n >= 2'), 2, () => append(2n, 9n, 1n)));
    expect(outcome).toMatchObject({ result: 6n, attempts: 3 });
    expect(await numbers()).toEqual([1n, 1n, 1n]);
    expect(await written()).toEqual({ data: 3, deletions: 3 });
  });

  it('does not write again what it has written, nor leave behind what it no longer needs', async () => {
    const request = { predicate: 'n < 3', updates: [['n', 'n + 10']] as const };
    const outcome = await commit(after(updateRows(reader, request), 1, () => append(2n, 9n)));
    expect(outcome).toMatchObject({ result: 3n, attempts: 2 });
    expect(await numbers()).toEqual([3n, 9n, 11n, 12n, 12n]);
    expect(await written()).toEqual({ data: 4, deletions: 2 });
  });

  it('knows where its rows lie by then', async () => {
    await append(7n);
    const updates = [['n', 'CAST(_rowoffset AS BIGINT) + 100']] as const;
    const request = { predicate: 'n = 7', updates };
    await commit(after(updateRows(reader, request), 1, () => remove('n = 1')));
    expect(await numbers()).toEqual([2n, 3n, 102n]);
  });

  it('does not write down again which rows of a fragment go', async () => {
    await append(2n, 9n, 1n);
    const names: (readonly string[])[] = [];
    const derive = deleteRows(reader, 'n = 2');
    await commit(
      after(
        (base, wrote, flushes) => {
          const told = (files: readonly string[]): void => {
            names.push(files);
            wrote(files);
          };
          return derive(base, told, flushes);
        },
        3,
        () => append(5n, 6n),
      ),
    );
    expect(names.map((files) => files.length)).toEqual([2, 0, 0, 0]);
    expect(await numbers()).toEqual([1n, 1n, 3n, 5n, 5n, 5n, 6n, 6n, 6n, 9n]);
  });

  it('updates what is left of rows that another deleted meanwhile', async () => {
    const request = { predicate: null, updates: [['n', 'n + 10']] as const };
    const outcome = await commit(after(updateRows(reader, request), 1, () => remove('n = 2')));
    expect(outcome).toMatchObject({ result: 2n, attempts: 2 });
    expect(await numbers()).toEqual([11n, 13n]);
    expect(await written()).toMatchObject({ data: 2 });
  });

  it('is refused when they are first each time, and leaves nothing behind', async () => {
    const refused = commit(after(deleteRows(reader, 'n = 2'), Infinity, () => append(5n)));
    expect(await refusalOf(refused)).toBe(
      '14 ConcurrentModification: the catalog was changed by others 24 times meanwhile',
    );
    expect((await numbers()).slice(0, 3)).toEqual([1n, 2n, 3n]);
    expect(await written()).toMatchObject({ deletions: 0 });
  });

  it('leaves nothing behind when it fails on what they wrote', async () => {
    const request = { predicate: null, updates: [['n', '6 / (n - 5)']] as const };
    const refused = commit(after(updateRows(reader, request), 1, () => append(5n)));
    expect(await refusalOf(refused)).toBe(
      '13 InvalidInput: column "n": expected a divisor other than zero, found 6 / 0, at position 3',
    );
    expect(await numbers()).toEqual([1n, 2n, 3n, 5n]);
    expect(await written()).toEqual({ data: 2, deletions: 0 });
  });

  it('leaves nothing behind when it must not be committed any more', async () => {
    const late = new CatalogError('InvalidInput', 'too late');
    const refused = commit(deleteRows(reader, 'n = 2'), () => {
      throw late;
    });
    await expect(refused).rejects.toBe(late);
    expect(await written()).toEqual({ data: 1, deletions: 0 });
  });

  it.each(['applied', 'lost'] as const)(
    'takes effect once when its commit has an unknown outcome: %s',
    async (mishap) => {
      ours = tablesWith(unsureCommitter(store, [mishap]));
      const request = { predicate: null, updates: [['n', 'n + 10']] as const };
      await commit(updateRows(reader, request));
      expect(await numbers()).toEqual([11n, 12n, 13n]);
    },
  );

  it('keeps its files when it is not known whether it took effect', async () => {
    ours = tablesWith({ commit: async () => ({ kind: 'unknown', reason: 'the line went dead' }) });
    expect(await refusalOf(commit(deleteRows(reader, 'n = 2')))).toBe(
      '17 ServiceUnavailable: it is not known whether the change was made: the line went dead',
    );
    expect(await written()).toEqual({ data: 1, deletions: 1 });
  });
});

function tablesWith(committer: Committer): Tables {
  return new Tables({
    storage: new LocalStorage(),
    root,
    store,
    committer,
    memory: new MemoryBudget(2 ** 20),
  });
}

function commit<Result>(derive: Derive<Result>, check?: () => void) {
  const shared = { tables: ours, table, current: async () => table, derive };
  return commitDerived(check === undefined ? shared : { ...shared, check });
}

/** A change during which another writer is first, the given number of times. */
function after<Result>(
  derive: Derive<Result>,
  times: number,
  meanwhile: () => Promise<unknown>,
): Derive<Result> {
  let left = times;
  return async (base, wrote, flushes) => {
    const derived = await derive(base, wrote, flushes);
    if (left-- > 0) await meanwhile();
    return derived;
  };
}

async function append(...values: readonly bigint[]): Promise<void> {
  const files = await others.write(record, schema, batches(...values));
  await others.commit({
    table,
    current: async () => table,
    change: (base) => appended(base, files),
  });
}

async function remove(predicate: string): Promise<void> {
  const derive = deleteRows(reader, predicate);
  await commitDerived({ tables: others, table, current: async () => table, derive });
}

async function* batches(...values: readonly bigint[]): AsyncGenerator<RecordBatch> {
  yield batchOf(schema, [vectorFromArray(values, new Int64())], values.length);
}

async function numbers(): Promise<readonly bigint[]> {
  const snapshot = await others.snapshot(record);
  const values: bigint[] = [];
  for (const fragment of snapshot.fragments) {
    for await (const { batch } of reader.batches(snapshot, fragment, ['n'])) {
      values.push(...(batch.getChild('n') ?? []));
    }
  }
  return values.toSorted((left, right) => Number(left - right));
}

/** How many files of rows and of deletions there are. */
async function written(): Promise<{ readonly data: number; readonly deletions: number }> {
  const count = async (name: string) =>
    (await readdir(join(root, record.id, name)).catch(() => [])).length;
  return { data: await count('data'), deletions: await count('deletions') };
}
