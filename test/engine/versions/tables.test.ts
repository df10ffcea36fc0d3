import { disk } from '../../support/disk.ts';
import { mkdtemp, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  Field,
  FixedSizeList,
  Float32,
  Int64,
  Schema,
  Utf8,
  makeVector,
  vectorFromArray,
  type RecordBatch,
} from 'apache-arrow';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { batchOf } from '../../../src/arrow/select.ts';
import { tookNoEffect } from '../../../src/engine/catalog/records/commit-loop.ts';
import { headKey } from '../../../src/engine/catalog/records/keys.ts';
import { absent } from '../../../src/engine/catalog/records/reader.ts';
import { encodeTable } from '../../../src/engine/catalog/records/records-codec.ts';
import type { Stored, TableRecord } from '../../../src/engine/format/records.ts';
import { commitDerived } from '../../../src/engine/change/derived-commit.ts';
import type { Wrote } from '../../../src/engine/change/row-removal.ts';
import { CatalogError } from '../../../src/protocol/errors.ts';
import { appended, overwritten } from '../../../src/engine/format/change.ts';
import { FragmentReader } from '../../../src/engine/query/scan/fragment-reader.ts';
import { MemoryBudget } from '../../../src/engine/format/memory/memory-budget.ts';
import { decodeManifest, encodeManifest } from '../../../src/engine/format/manifest.ts';
import type { Snapshot } from '../../../src/engine/format/snapshot.ts';
import { LocalStorage } from '../../../src/storage/local-storage.ts';
import { Tables } from '../../../src/engine/versions/tables.ts';
import { Flushes } from '../../../src/storage/flushes.ts';
import type { Store } from '../../../src/store/store.ts';
import { MemoryStore } from '../../support/memory-store.ts';

const schema = new Schema(
  [new Field('n', new Int64(), false), new Field('text', new Utf8(), true)],
  new Map([['owner', 'tests']]),
);
const record: TableRecord = {
  id: 'f4b9c1de-0000-4000-8000-000000000001',
  kind: 'engine',
  location: null,
  properties: {},
  createdMillis: 0,
};
const stored: Stored<TableRecord> = {
  key: 'T/\u0000t',
  value: encodeTable(record),
  content: record,
};

let root = '';
let store: Store;
let tables: Tables;
let reader: FragmentReader;

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'tables-'));
  store = new MemoryStore();
  tables = new Tables({
    storage: new LocalStorage(),
    root,
    store,
    committer: store,
    memory: new MemoryBudget(2 ** 20),
  });
  reader = new FragmentReader(disk);
});

afterEach(async () => {
  await reader.close();
  await rm(root, { recursive: true, force: true });
});

describe('a new table', () => {
  it('has a first version with its rows, and its schema to the letter', async () => {
    await create([1n, 2n], [2n ** 63n - 1n]);
    const snapshot = await tables.snapshot(record);
    expect(snapshot).toMatchObject({ version: 1n, rows: 3n, nextRowId: 3n });
    expect(snapshot.schema.metadata).toEqual(schema.metadata);
    expect(snapshot.schema.fields.map(String)).toEqual(schema.fields.map(String));
    expect(await numbers()).toEqual([1n, 2n, 2n ** 63n - 1n]);
  });

  it('says which large files it has once it is there', async () => {
    const seen: string[] = [];
    const own = new Tables({
      storage: new LocalStorage(),
      root,
      store,
      committer: store,
      memory: new MemoryBudget(2 ** 20),
      onLargeFile: ({ path }) => seen.push(path),
    });
    const number = new Schema([new Field('n', new Int64(), false)]);
    const rows = 2 ** 21;
    const values = makeVector(new BigInt64Array(rows));
    const files = await own.begin(record, number, stream(batchOf(number, [values], rows)));
    expect(seen).toEqual([]);
    await own.first(record, number, files, put);
    expect(seen).toEqual([join(root, record.id, files[0]!.file)]);
  });

  it('keeps nothing of a stream that fails midway', async () => {
    const failing = async function* () {
      yield batch([1n]);
      throw new Error('cut off');
    };
    await expect(tables.begin(record, schema, failing())).rejects.toThrow('cut off');
    expect(await readdir(root)).toEqual([]);
  });

  it('stores a large batch in pieces', async () => {
    const wide = new Schema([
      new Field('v', new FixedSizeList(1024, new Field('item', new Float32(), true)), true),
    ]);
    const rows = 10_000;
    const values = new Float32Array(rows * 1024);
    const { makeData, makeVector } = await import('apache-arrow');
    const child = makeData({ type: new Float32(), data: values });
    const data = makeData({ type: wide.fields[0]!.type, length: rows, child });
    const big = batchOf(wide, [makeVector(data)], rows);
    const files = await tables.begin(record, wide, stream(big));
    await tables.first(record, wide, files, put);
    const snapshot = await tables.snapshot(record);
    const sizes: number[] = [];
    for await (const { batch } of reader.batches(snapshot, snapshot.fragments[0]!, ['v'])) {
      sizes.push(batch.numRows);
    }
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBe(rows);
    expect(Math.max(...sizes) * 4096).toBeLessThanOrEqual(17 * 2 ** 20);
  });
});

describe('commits', () => {
  it('lets every one of many concurrent appends take effect, with row ids of their own', async () => {
    await create([0n]);
    const other = new Tables({
      storage: new LocalStorage(),
      root,
      store,
      committer: store,
      memory: new MemoryBudget(0),
    });
    const writers = Array.from({ length: 24 }, (_, index) =>
      append(index % 2 === 0 ? tables : other, [BigInt(index + 1)]),
    );
    const versions = await Promise.all(writers);
    expect(new Set(versions).size).toBe(24);
    const snapshot = await tables.snapshot(record);
    expect(snapshot).toMatchObject({ version: 25n, rows: 25n, nextRowId: 25n });
    expect((await numbers()).toSorted((a, b) => Number(a - b))).toEqual(
      Array.from({ length: 25 }, (_, index) => BigInt(index)),
    );
    expect(snapshot.fragments.map((fragment) => fragment.firstRowId)).toEqual(
      Array.from({ length: 25 }, (_, index) => BigInt(index)),
    );
  });

  it('adds rows once when a commit of unknown outcome takes effect while the next one is made', async () => {
    await create([1n]);
    const late: (() => Promise<unknown>)[] = [];
    const slow = new Tables({
      storage: new LocalStorage(),
      root,
      store,
      memory: new MemoryBudget(0),
      committer: {
        async commit(checks, writes) {
          if (late.length === 0) {
            late.push(() => store.commit(checks, writes));
            return { kind: 'unknown', reason: 'the line went dead' };
          }
          await late[0]!();
          return store.commit(checks, writes);
        },
      },
    });
    expect(await append(slow, [2n])).toBe(2n);
    expect(await numbers()).toEqual([1n, 2n]);
  });

  /** Tables whose first commit is of unknown outcome, and takes effect when the head is read next. */
  function dying(): Tables {
    let late: (() => Promise<unknown>) | undefined;
    const head = headKey(record.id, 'main');
    return new Tables({
      storage: new LocalStorage(),
      root,
      memory: new MemoryBudget(0),
      store: Object.assign(Object.create(store) as Store, {
        async get(key: string) {
          if (key === head) await late?.();
          if (key === head) late = undefined;
          return store.get(key);
        },
      }),
      committer: {
        async commit(checks, writes) {
          if (late !== undefined || (await store.get(head)) === undefined) throw new Error('no');
          if (died) return store.commit(checks, writes);
          died = true;
          late = () => store.commit(checks, writes);
          return { kind: 'unknown', reason: 'the line went dead' };
        },
      },
    });
  }
  let died = false;
  beforeEach(() => (died = false));

  it('adds rows once when one takes effect while it is looked for', async () => {
    await create([1n]);
    expect(await append(dying(), [2n])).toBe(2n);
    expect((await tables.snapshot(record)).version).toBe(2n);
    expect(await numbers()).toEqual([1n, 2n]);
  });

  it.each([
    ['a rule', new CatalogError('PermissionDenied', 'no rows today')],
    ['a fault', new Error('no memory')],
  ])(
    'does not say that nothing was made when %s keeps it from being tried again after an attempt of unknown outcome',
    async (_, fault) => {
      await create([1n]);
      let late: (() => Promise<unknown>) | undefined;
      const slow = new Tables({
        storage: new LocalStorage(),
        root,
        store,
        memory: new MemoryBudget(0),
        committer: {
          async commit(checks, writes) {
            late = () => store.commit(checks, writes);
            return { kind: 'unknown', reason: 'the line went dead' };
          },
        },
      });
      const derive = async (base: Snapshot, wrote: Wrote) => {
        const files = await slow.write(record, schema, stream(batch([2n])));
        wrote(files.map(({ file }) => file));
        return { ...appended(base, files), result: null };
      };
      const change = commitDerived({
        tables: slow,
        table: stored,
        current: async () => stored,
        derive,
        judge: async () => {
          if (late !== undefined) throw fault;
        },
      });
      await expect(change).rejects.toMatchObject({ row: { name: 'ServiceUnavailable' } });
      await late?.();
      expect(await numbers()).toEqual([1n, 2n]);
    },
  );

  it('gives no version an earlier time than the version before', async () => {
    await create([1n]);
    const { timestampMillis } = (await tables.version(record)).content;
    const behind = new Tables({
      storage: new LocalStorage(),
      root,
      store,
      committer: store,
      memory: new MemoryBudget(2 ** 20),
      clock: () => timestampMillis - 1_200_000,
    });
    await append(behind, [2n]);
    expect((await tables.version(record)).content).toMatchObject({ version: 2n, timestampMillis });
  });

  it('keeps every version readable after rows were overwritten', async () => {
    await create([1n, 2n]);
    const files = await tables.write(record, schema, stream(batch([9n])));
    await tables.commit({
      table: stored,
      change: (base) => overwritten(base, schema, files),
      current: () => Promise.resolve(stored),
    });
    expect(await numbers()).toEqual([9n]);
    expect(await numbers(1n)).toEqual([1n, 2n]);
    const { fragments, fieldIds } = await tables.snapshot(record);
    expect([fragments[0]?.firstRowId, fieldIds]).toEqual([2n, [2, 3]]);
    await expect(tables.snapshot(record, 7n)).rejects.toMatchObject({ row: { code: 11 } });
  });

  it('refuses when another table has taken the name, and leaves the version as it was', async () => {
    await create([1n]);
    const taken = { ...record, id: 'f4b9c1de-0000-4000-8000-000000000002' };
    await store.commit([], [{ key: stored.key, value: encodeTable(taken) }]);
    const current = { ...stored, value: encodeTable(taken), content: taken };
    const files = await tables.write(record, schema, stream(batch([2n])));
    const refused = tables.commit({
      table: stored,
      change: (base) => appended(base, files),
      current: () => Promise.resolve(current),
    });
    await expect(refused).rejects.toMatchObject({ row: { code: 14 } });
    await tables.discard(record, files);
    expect((await tables.snapshot(record)).version).toBe(1n);
    expect(await readdir(join(root, record.id, 'data'))).toHaveLength(1);
    expect(await readdir(join(root, record.id, 'versions'))).toHaveLength(1);
  });

  it('finishes a version whose manifest a crash left under its staging name', async () => {
    await create([1n]);
    const [version] = await tables.versions(record, { limit: 1, descending: true });
    const folder = join(root, record.id);
    await rename(join(folder, version!.manifest), join(folder, version!.staging));
    const reopened = new Tables({
      storage: new LocalStorage(),
      root,
      store,
      committer: store,
      memory: new MemoryBudget(2 ** 20),
    });
    expect((await reopened.snapshot(record)).rows).toBe(1n);
    expect(await readdir(join(folder, 'versions'))).toEqual(['00000000000000000001.arrow']);
  });

  it('never overwrites a final manifest that is not the one committed', async () => {
    await create([1n]);
    const [version] = await tables.versions(record, { limit: 1, descending: true });
    const folder = join(root, record.id);
    await writeFile(join(folder, version!.staging), 'other bytes');
    const reopened = new Tables({
      storage: new LocalStorage(),
      root,
      store,
      committer: store,
      memory: new MemoryBudget(2 ** 20),
    });
    await expect(reopened.snapshot(record)).rejects.toThrow(
      'is not the manifest that was committed',
    );
  });

  it('makes no version whose files did not come to stable storage, and leaves nothing of it', async () => {
    await create([1n]);
    const flushes = new Flushes();
    const files = await tables.write(record, schema, stream(batch([2n])), flushes);
    flushes.add(Promise.reject(new Error('a bad block')));
    const refused = tables.commit({
      table: stored,
      change: (base) => appended(base, files),
      current: () => Promise.resolve(stored),
      flushes,
    });
    const error = await refused.catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ cause: { message: 'a bad block' } });
    expect(tookNoEffect(error)).toBe(true);
    expect((await tables.snapshot(record)).version).toBe(1n);
    expect(await readdir(join(root, record.id, 'versions'))).toHaveLength(1);
  });

  it('makes no table whose files did not come to stable storage', async () => {
    const flushes = new Flushes();
    const files = await tables.begin(record, schema, stream(batch([2n])), flushes);
    flushes.add(Promise.reject(new Error('a bad block')));
    await expect(tables.first(record, schema, files, put, flushes)).rejects.toThrow(
      'the files of a change could not be brought to stable storage',
    );
    expect(await store.get(stored.key)).toBeUndefined();
    expect(await readdir(root)).toEqual([]);
  });

  it('lists versions in both orders and by pages', async () => {
    await create([1n]);
    for (const n of [2n, 3n, 4n]) await append(tables, [n]);
    const listed = async (page: Parameters<Tables['versions']>[1]) =>
      (await tables.versions(record, page)).map(({ version }) => version);
    expect(await listed({ limit: 10, descending: false })).toEqual([1n, 2n, 3n, 4n]);
    expect(await listed({ limit: 2, descending: true })).toEqual([4n, 3n]);
    expect(await listed({ limit: 2, descending: true, after: 3n })).toEqual([2n, 1n]);
    expect(await listed({ limit: 2, descending: false, after: 2n })).toEqual([3n, 4n]);
  });
});

describe('a manifest', () => {
  it('keeps row ids and counts beyond 2^53 exactly', async () => {
    const manifest = {
      version: 2n ** 60n + 1n,
      timestampMillis: 1_700_000_000_123,
      schema,
      fieldIds: [0, 3],
      nextFieldId: 4,
      nextRowId: 2n ** 63n + 7n,
      fragments: [
        {
          files: [
            { path: 'data/a.arrow', bytes: 2 ** 40, fields: [0, 1] },
            { path: 'data/b.arrow', bytes: 7, fields: [3] },
          ],
          physicalRows: 7,
          rows: 5,
          firstRowId: 2n ** 63n,
          storedRowIds: false,
          deletions: 'deletions/c.arrow',
        },
        {
          files: [{ path: 'data/d.arrow', bytes: 1, fields: [] }],
          physicalRows: 0,
          rows: 0,
          firstRowId: 2n ** 63n + 7n,
          storedRowIds: true,
          deletions: null,
        },
      ],
    };
    const { bytes, seal } = encodeManifest(manifest);
    const stored = { path: 'm', seal };
    const { schema: read, ...rest } = await decodeManifest(bytes, stored, () =>
      expect.fail('there is no list'),
    );
    const { schema: written, ...expected } = manifest;
    expect(rest).toEqual(expected);
    expect(read.toString()).toBe(written.toString());
  });
});

function batch(values: readonly bigint[]): RecordBatch {
  const texts = values.map((value) => (value % 2n === 0n ? null : `text ${value}`));
  return batchOf(
    schema,
    [vectorFromArray(values, new Int64()), vectorFromArray(texts, new Utf8())],
    values.length,
  );
}

async function* stream(...batches: readonly RecordBatch[]): AsyncGenerator<RecordBatch> {
  yield* batches;
}

async function create(...groups: readonly (readonly bigint[])[]): Promise<void> {
  const files = await tables.begin(record, schema, stream(...groups.map(batch)));
  await tables.first(record, schema, files, put);
}

const put: Parameters<Tables['first']>[3] = async (checks, writes) => {
  const table = { key: stored.key, value: stored.value };
  const result = await store.commit([absent(stored.key), ...checks], [table, ...writes]);
  expect(result.kind).toBe('committed');
};

async function append(writer: Tables, values: readonly bigint[]): Promise<bigint> {
  const files = await writer.write(record, schema, stream(batch(values)));
  const committed = await writer.commit({
    table: stored,
    change: (base) => appended(base, files),
    current: () => Promise.resolve(stored),
  });
  return committed.manifest.version;
}

async function numbers(version?: bigint): Promise<readonly bigint[]> {
  const snapshot = await tables.snapshot(record, version);
  const found: bigint[] = [];
  for (const fragment of snapshot.fragments) {
    for await (const { batch } of reader.batches(snapshot, fragment, ['n'])) {
      found.push(...(batch.getChildAt(0)?.toArray() as BigInt64Array));
    }
  }
  return found;
}
