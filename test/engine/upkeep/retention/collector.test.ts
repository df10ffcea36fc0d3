import { mkdir, readdir, rm, utimes, writeFile } from 'node:fs/promises';
import { randomUUID } from 'node:crypto';
import { dirname, join } from 'node:path';
import { Int64, Table, tableToIPC, vectorFromArray } from 'apache-arrow';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { droppedKey, purgedKey, tableKey } from '../../../../src/engine/catalog/records/keys.ts';
import {
  decodeTable,
  encodeDropped,
} from '../../../../src/engine/catalog/records/records-codec.ts';
import type { TableRecord } from '../../../../src/engine/format/records.ts';
import { encodePurge } from '../../../../src/engine/upkeep/retention/entries.ts';
import { collect, tableFiles } from '../../../support/dropped.ts';
import { EngineTable, streamOf } from '../../../support/engine-table.ts';
import { openOther } from '../../../support/engine.ts';
import { anything } from '../../../support/permit.ts';
import { requestOf } from '../../../support/request.ts';
import { keysOf } from '../../../support/stores.ts';
import { tableRecord } from '../../../support/catalog.ts';

const DAY = 86_400_000;

let table: EngineTable;
let root: string;

const rows = (...values: bigint[]) => ({ n: vectorFromArray(values, new Int64()) });

beforeEach(async () => {
  table = await EngineTable.open();
  await table.create(rows(1n, 2n), rows(3n));
  root = join(table.engine.data, 'tables');
});

afterEach(async () => table.close());

async function record(...path: readonly string[]): Promise<TableRecord> {
  return decodeTable((await table.engine.store.get(tableKey(path)))!);
}

/** Writes a file that was written so long ago. */
async function leave(path: string, ageMillis = 2 * DAY): Promise<string> {
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, 'left over');
  const then = new Date(Date.now() - ageMillis);
  await utimes(path, then, then);
  await utimes(dirname(path), then, then);
  return path;
}

const files = () => tableFiles(table.engine.data);

describe('dropped tables', () => {
  it('stay for the retention, then go with everything that belonged to them', async () => {
    await table.post('tags/create', { tag: 'v', version: 1 });
    const { id } = await record('t');
    const all = await files();
    await table.post('drop');
    expect(await collect(table.engine, { retentionMillis: DAY })).toMatchObject({ tables: 0 });
    expect(await files()).toEqual(all);
    const dry = await collect(table.engine, { dryRun: true });
    expect(dry).toMatchObject({ tables: 1, files: all.length, waiting: 0, failures: [] });
    expect(await files()).toEqual(all);
    expect(await collect(table.engine)).toEqual(dry);
    expect(await files()).toEqual([]);
    const keys = await keysOf(table.engine.store, '');
    expect(keys.filter((key) => key.includes(id))).toEqual([]);
    expect(await collect(table.engine)).toMatchObject({ tables: 0, files: 0, bytes: 0 });
  });

  it('free their location, and take from it only what is theirs', async () => {
    const location = join(table.engine.data, 'lance', 'mine');
    const headers = { 'x-service-table-location': location };
    await table.post('drop');
    await table.send('create', { body: streamOf(rows(5n)), headers });
    const stranger = await leave(join(location, 'notes.txt'));
    await table.post('drop');
    expect(await collect(table.engine)).toMatchObject({ tables: 2 });
    expect(await tableFiles(table.engine.data, 'lance')).toEqual(['mine/notes.txt']);
    expect(await keysOf(table.engine.store, 'L')).toEqual([]);
    await rm(stranger);
    await table.send('create', { body: streamOf(rows(6n)), headers });
    expect(await table.column('n')).toEqual([6n]);
  });

  const places: readonly (readonly [string, 'lance' | 'declared', string, number])[] = [
    ['removes one in the managed folder whole', 'lance', 'lance', 0],
    ['removes a declared one in the managed folder whole', 'declared', 'lance', 0],
    ['leaves one that was registered elsewhere', 'lance', 'allowed', 1],
  ];

  it.each(places)('of Lance clients: %s', async (_, kind, inner, left) => {
    const { data, store } = table.engine;
    const location = join(data, inner, 'theirs');
    await leave(join(location, 'data', 'one.lance'));
    const theirs = { ...tableRecord(kind), location };
    const dropped = encodeDropped({ path: ['x'], record: theirs, droppedMillis: 1 });
    await store.commit(
      [],
      [
        { key: droppedKey(theirs.id), value: dropped },
        { key: `L${location}/`, value: Buffer.from(theirs.id) },
      ],
    );
    expect(await collect(table.engine)).toMatchObject({ tables: 1, failures: [] });
    expect(await tableFiles(data, inner)).toHaveLength(left);
    expect(await keysOf(store, 'L')).toEqual([]);
  });

  it('whose removal was cut off are removed to the end', async () => {
    await table.post('drop');
    const { store } = table.engine;
    const [key] = await keysOf(store, 'D');
    const id = key!.slice(1);
    const value = (await store.get(key!))!;
    await store.commit(
      [],
      [
        { key: key!, value: null },
        { key: purgedKey(id), value: Buffer.concat([Buffer.from('killed.json\n'), value]) },
      ],
    );
    expect(await collect(table.engine)).toMatchObject({ tables: 1, failures: [] });
    expect(await files()).toEqual([]);
    expect((await keysOf(store, '')).filter((each) => each.includes(id))).toEqual([]);
  });

  it('that another process is removing are left to it', async () => {
    const other = await openOther(table.engine);
    const [name] = await readdir(join(table.engine.data, 'catalog', 'processes'));
    const { store } = table.engine;
    const dropped = { path: ['x'], record: tableRecord(), droppedMillis: 1 };
    const key = purgedKey(dropped.record.id);
    await store.commit([], [{ key, value: encodePurge({ owner: name!, dropped }) }]);
    const done = await Promise.all([collect(table.engine), collect({ ...table.engine, ...other })]);
    expect(done.reduce((sum, { tables }) => sum + tables, 0)).toBe(1);
    await other.close();
  });

  it('go by the thousand', async () => {
    const { store } = table.engine;
    const many = Array.from({ length: 2000 }, () => tableRecord());
    const writes = many.map((each, at) => ({
      key: droppedKey(each.id),
      value: encodeDropped({ path: [`x${at}`], record: each, droppedMillis: 1 }),
    }));
    await store.commit([], writes);
    expect(await collect(table.engine)).toMatchObject({ tables: 2000, failures: [] });
    expect(await keysOf(store, 'D')).toEqual([]);
    expect(await keysOf(store, 'P')).toEqual([]);
    expect(await table.column('n')).toEqual([1n, 2n, 3n]);
  });
});

describe('files that no version names', () => {
  it('go when they are old, whatever they were to be', async () => {
    const { id } = await record('t');
    const before = await files();
    const left = await Promise.all(
      [
        `data/${randomUUID()}.arrow`,
        `deletions/${randomUUID()}.arrow`,
        `versions/00000000000000000002.arrow-${randomUUID()}`,
        'versions/00000000000000000009.arrow',
        'tree/dev/versions/00000000000000000003.arrow',
      ].map((path) => leave(join(root, id, path))),
    );
    const lost = await leave(join(root, randomUUID(), 'data', `${randomUUID()}.arrow`));
    await utimes(dirname(dirname(lost)), new Date(1), new Date(1));
    const dry = await collect(table.engine, { olderThanMillis: DAY, dryRun: true });
    expect(dry).toMatchObject({ tables: 0, folders: 1, files: left.length + 1, bytes: 54 });
    expect(await collect(table.engine, { olderThanMillis: DAY })).toEqual(dry);
    expect(await files()).toEqual(before);
    expect(await table.column('n')).toEqual([1n, 2n, 3n]);
  });

  it('stay when they are young, or none of this engine', async () => {
    const { id } = await record('t');
    await leave(join(root, id, `data/${randomUUID()}.arrow`), 1000);
    await leave(join(root, id, 'data/README'));
    await leave(join(root, id, 'notes/x.arrow'));
    await leave(join(root, 'backup', 'x'));
    await leave(join(root, randomUUID(), 'data', 'x'), 1000);
    const before = await files();
    expect(await collect(table.engine, { olderThanMillis: DAY })).toMatchObject({
      folders: 0,
      files: 0,
    });
    expect(await files()).toEqual(before);
  });

  it('stay while their writer is at work, however slowly, here or in another process', async () => {
    const other = await openOther(table.engine);
    let goOn: () => void = () => undefined;
    const waiting = new Promise<void>((resolve) => (goOn = resolve));
    // Large enough not to be kept in memory until the end.
    const batch = new Table(rows(...Array.from({ length: 20_000 }, (_, at) => BigInt(at))));
    const body = tableToIPC(batch.concat(batch), 'stream');
    async function* slowly(): AsyncGenerator<Uint8Array> {
      yield body.subarray(0, (3 * body.length) / 4);
      await waiting;
      yield body.subarray((3 * body.length) / 4);
    }
    const inserting = table.engine.backend.handle(
      { ...requestOf('POST /v1/table/t/insert'), body: slowly() },
      anything(),
    );
    const creating = other.backend.handle(
      { ...requestOf('POST /v1/table/new/create'), body: slowly() },
      anything(),
    );
    await expect.poll(files).toHaveLength(6);
    for (const engine of [table.engine, { ...table.engine, ...other }]) {
      expect(await collect(engine)).toMatchObject({ files: 0, folders: 0 });
    }
    goOn();
    await Promise.all([inserting, creating]);
    expect(await table.column('n')).toHaveLength(40_003);
    expect(await collect(table.engine)).toMatchObject({ files: 0, folders: 0 });
    await other.close();
  });

  it('of a table that is damaged are left alone, which is said', async () => {
    const { id } = await record('t');
    await leave(join(root, id, `data/${randomUUID()}.arrow`));
    await writeFile(join(root, id, 'versions/00000000000000000001.arrow'), 'no manifest');
    const before = await files();
    const { failures, files: removed } = await collect(table.engine, { olderThanMillis: DAY });
    expect({ failures, removed }).toEqual({
      failures: [expect.stringMatching(/^\/t is passed over: ./)],
      removed: 0,
    });
    expect(await files()).toEqual(before);
  });

  it('are not looked for in a table that was deregistered', async () => {
    const { id } = await record('t');
    await table.post('deregister');
    await leave(join(root, id, `data/${randomUUID()}.arrow`));
    const before = await files();
    expect(await collect(table.engine)).toMatchObject({ files: 0, folders: 0 });
    expect(await files()).toEqual(before);
  });
});
