import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import {
  Dictionary,
  Field,
  Int32,
  Int64,
  Int8,
  Schema,
  Utf8,
  vectorFromArray,
  type RecordBatch,
} from 'apache-arrow';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ArrowError } from '../../../src/arrow/arrow-error.ts';
import { batchOf } from '../../../src/arrow/select.ts';
import type { MergeRequest } from '../../../src/engine/change/merge-condition.ts';
import { Flushes } from '../../../src/storage/flushes.ts';
import { RowMerge } from '../../../src/engine/change/merge-rows.ts';
import { DATA } from '../../../src/engine/format/layout.ts';
import type { Fragment } from '../../../src/engine/format/snapshot.ts';
import { storeTable, type StoredTable } from '../../support/stored-table.ts';
import { unnamedFiles } from '../../support/unnamed-files.ts';

/* Rows that are too many for the memory of a merge: here every row is. */

const schema = new Schema([
  new Field('id', new Int64(), true),
  new Field('kind', new Dictionary(new Utf8(), new Int8()), true),
  new Field('n', new Int32(), true),
]);

let stored: StoredTable;

beforeEach(async () => {
  stored = await storeTable(schema, [
    [batch(0, 100, 'old'), batch(100, 150, 'old')],
    [batch(150, 200, 'older')],
  ]);
});

afterEach(async () => stored.remove());

const request: MergeRequest = {
  on: ['id'],
  update: true,
  updateIf: 'source.n > target.n or target.n % 2 = 0',
  insert: true,
  remove: false,
  removeIf: null,
  useIndex: true,
  checkTime: () => undefined,
};

describe('a merge of more rows than are held in memory', () => {
  it('takes them from a file without a name, which is gone when it is closed', async () => {
    const merge = await open([
      batch(90, 120, 'new'),
      batch(190, 230, 'newer'),
      batch(20, 22, 'new'),
    ]);
    expect(await files()).toHaveLength(2);
    expect(await unnamedFiles(stored.snapshot.folder)).toHaveLength(1);
    const written: string[] = [];
    const derived = await merge.derive(
      stored.snapshot,
      (paths) => written.push(...paths),
      new Flushes(),
    );
    // Of rows with the same `n` only those with an even one meet the condition.
    expect(derived.result).toEqual({ updated: 15 + 5 + 1, inserted: 30, removed: 0 });
    expect(derived.nextRowId).toBe(230n);
    await merge.close();
    expect(await files()).toHaveLength(3);
    expect(await unnamedFiles(stored.snapshot.folder)).toEqual([]);
    const rows = await rowsOf(derived.fragments);
    expect(rows).toHaveLength(230);
    expect(rows.filter(([, , kind]) => kind === 'new').map(([rowId, id]) => [rowId, id])).toEqual(
      [20, 90, 92, 94, 96, 98, 100, 102, 104, 106, 108, 110, 112, 114, 116, 118].map((id) => [
        id,
        id,
      ]),
    );
    expect(rows.filter(([, , kind]) => kind === 'newer').map(([, id]) => id)).toEqual([
      190,
      192,
      194,
      196,
      198,
      ...Array.from({ length: 30 }, (_, at) => 200 + at),
    ]);
    expect(written).toHaveLength(3);
  });

  it('leaves no file when the stream breaks off', async () => {
    async function* broken(): AsyncGenerator<RecordBatch> {
      yield batch(0, 10, 'new');
      throw new ArrowError('corrupt', 'The stream ends too soon.');
    }
    await expect(
      RowMerge.open({ ...shared(), incoming: { schema, batches: broken() }, inMemory: 0 }),
    ).rejects.toMatchObject({ message: 'The stream ends too soon.', row: { code: 13 } });
    expect(await files()).toHaveLength(2);
    expect(await unnamedFiles(stored.snapshot.folder)).toEqual([]);
  });
});

async function open(batches: readonly RecordBatch[]): Promise<RowMerge> {
  async function* sent(): AsyncGenerator<RecordBatch> {
    yield* batches;
  }
  return RowMerge.open({ ...shared(), incoming: { schema, batches: sent() }, inMemory: 0 });
}

function shared() {
  return { reader: stored.reader, base: stored.snapshot, request };
}

function batch(from: number, to: number, kind: string): RecordBatch {
  const ids = Array.from({ length: to - from }, (_, at) => from + at);
  const columns = [ids.map(BigInt), ids.map(() => kind), ids].map((values, at) =>
    vectorFromArray(values as unknown[], schema.fields[at]!.type),
  );
  return batchOf(schema, columns, ids.length);
}

async function files(): Promise<readonly string[]> {
  return readdir(join(stored.snapshot.folder, DATA));
}

/** Row id, key and kind of each row, by row id. */
async function rowsOf(fragments: readonly Fragment[]): Promise<readonly (readonly unknown[])[]> {
  const snapshot = { ...stored.snapshot, fragments };
  const rows: (readonly unknown[])[] = [];
  for (const fragment of fragments) {
    for await (const { batch, rowIds } of stored.reader.batches(snapshot, fragment, [
      'id',
      'kind',
    ])) {
      for (let row = 0; row < batch.numRows; row++) {
        const id = rowIds.kind === 'list' ? rowIds.ids[row]! : rowIds.first + BigInt(row);
        rows.push([
          Number(id),
          Number(batch.getChildAt(0)!.get(row)),
          batch.getChildAt(1)!.get(row),
        ]);
      }
    }
  }
  return rows.toSorted((left, right) => Number(left[0]) - Number(right[0]));
}
