import {
  mkdtemp,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  truncate,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Int64, tableFromIPC, vectorFromArray } from 'apache-arrow';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { tableKey } from '../../../src/engine/catalog/records/keys.ts';
import { decodeTable } from '../../../src/engine/catalog/records/records-codec.ts';
import { rebuild } from '../../../src/engine/upkeep/recovery/rebuild.ts';
import { CatalogError } from '../../../src/protocol/errors.ts';
import type { Engine } from '../../../src/engine/engine.ts';
import { disk } from '../../support/disk.ts';
import { collect, tableFiles } from '../../support/dropped.ts';
import { openOther } from '../../support/engine.ts';
import { EngineTable, refusalOf, streamOf } from '../../support/engine-table.ts';
import { MemoryStore } from '../../support/memory-store.ts';
import { bytesOf, rowsOf } from '../../support/query-answer.ts';
import { ask } from '../../support/request.ts';

const INSERTS = 90;
const NEWEST = INSERTS + 1;

let table: EngineTable;
let others: Engine[];

const rows = (...values: readonly number[]) =>
  streamOf({ n: vectorFromArray(values.map(BigInt), new Int64()) });
const upTo = (count: number) => Array.from({ length: count }, (_, at) => at);
const post = (line: string, body: object | Uint8Array = {}, engine: Engine = table.engine) =>
  ask(engine.backend, `POST /v1/table/${line}`, { body });

/** The values of a version, in a process that has read nothing yet. */
async function values(name: string, body: object = {}): Promise<readonly number[]> {
  const other = await openOther(table.engine);
  others.push(other);
  return valuesOf(other, name, body);
}

async function valuesOf(engine: Engine, name: string, body: object = {}) {
  const answer = await post(`${name}/query`, { vector: [], ...body }, engine);
  return rowsOf(tableFromIPC(await bytesOf(answer.body))).map(({ n }) => Number(n));
}

async function folderOf(name: string): Promise<string> {
  const { id } = decodeTable((await table.engine.store.get(tableKey([name])))!);
  return join(table.engine.data, 'tables', id);
}

const listsOf = async (name: string) =>
  (await readdir(join(await folderOf(name), 'fragments'))).toSorted();

async function expectSound(): Promise<void> {
  const { findings } = await table.engine.upkeep!.verifier.verify({ deep: { bytesPerSecond: 0 } });
  expect(findings).toEqual([]);
  // Nothing lies there that no version names.
  expect(await collect(table.engine)).toMatchObject({ files: 0, failures: [] });
}

/** The newest list, which version `NEWEST` needs and the first versions do not. */
async function newestList(): Promise<string> {
  const folder = join(await folderOf('t'), 'fragments');
  const files = await Promise.all(
    (await readdir(folder)).map(async (name) => {
      const path = join(folder, name);
      return { path, at: (await stat(path)).mtimeMs };
    }),
  );
  return files.toSorted((one, other) => other.at - one.at)[0]!.path;
}

beforeEach(async () => {
  others = [];
  table = await EngineTable.open();
  await post('t/create', rows(0));
  for (let at = 1; at <= INSERTS; at++) await post('t/insert', rows(at));
});

afterEach(async () => {
  for (const other of others) await other.close();
  await table.close();
});

it('stays while a version names it, and goes with the last one', async () => {
  const before = await listsOf('t');
  expect(before.length).toBeGreaterThan(2);
  await post('t/tags/create', { tag: 'kept', version: 60 });
  const expiry = { policy: { keepForMillis: 0, keepLast: 2 } };
  expect(await collect(table.engine, { expiry })).toMatchObject({
    versions: NEWEST - 3,
    failures: [],
  });
  const after = await listsOf('t');
  expect(after.length).toBeLessThan(before.length);
  expect(await values('t')).toEqual(upTo(NEWEST));
  expect(await values('t', { version: NEWEST - 1 })).toEqual(upTo(NEWEST - 1));
  expect(await values('t', { version: 60 })).toEqual(upTo(60));
  await expectSound();
  await post('t/insert?mode=overwrite', rows(7));
  await post('t/tags/delete', { tag: 'kept' });
  await collect(table.engine, { expiry: { policy: { keepForMillis: 0, keepLast: 1 } } });
  expect(await listsOf('t')).toEqual([]);
  expect(await values('t')).toEqual([7]);
  await expectSound();
});

it('is shared by clones, branches and restored versions, and outlives their sources', async () => {
  await post('c/clone', { source_location: 't', source_version: 85 });
  await post('t/branches/create', { name: 'b', from_version: 80 });
  await post('t/insert?branch=b', rows(100));
  await post('t/restore', { version: 75 });
  await post('t/rename', { new_table_name: 'r' });
  await post('r/drop');
  await table.engine.upkeep!.dropped.undrop(['r']);
  await collect(table.engine, { expiry: { policy: { keepForMillis: 0, keepLast: 1 } } });
  expect(await values('r')).toEqual(upTo(75));
  expect(await values('r', { branch: 'b' })).toEqual([...upTo(80), 100]);
  expect(await values('c')).toEqual(upTo(85));
  await expectSound();
  await post('r/drop');
  await collect(table.engine);
  expect(await tableFiles(table.engine.data)).not.toEqual([]);
  expect(await values('c')).toEqual(upTo(85));
  await post('c/insert', rows(101));
  expect(await values('c')).toEqual([...upTo(85), 101]);
  await expectSound();
});

/** Inserts a row, again if others were faster every time: nothing was done then. */
async function insertAgainstOthers(at: number, engine: Engine): Promise<void> {
  try {
    await post('t/insert', rows(at), engine);
  } catch (error) {
    if (!(error instanceof CatalogError) || error.row.name !== 'ConcurrentModification')
      throw error;
    await insertAgainstOthers(at, engine);
  }
}

it('is not removed while writers of two processes make versions that name it', async () => {
  const other = await openOther(table.engine);
  others.push(other);
  const writing = new Set<Engine>([table.engine, other]);
  const write = async (engine: Engine, first: number): Promise<void> => {
    for (let at = first; at < first + 40; at++) await insertAgainstOthers(at, engine);
    writing.delete(engine);
  };
  const collecting = async (): Promise<void> => {
    const expiry = { policy: { keepForMillis: 0, keepLast: 1 } };
    while (writing.size > 0)
      expect(await collect(table.engine, { expiry })).toMatchObject({ failures: [] });
  };
  await Promise.all([write(table.engine, 1000), write(other, 2000), collecting()]);
  const [mine, theirs] = [upTo(40).map((at) => 1000 + at), upTo(40).map((at) => 2000 + at)];
  const found = (await values('t')).toSorted((one, another) => one - another);
  expect(found).toEqual([...upTo(NEWEST), ...mine, ...theirs]);
  await collect(table.engine, { expiry: { policy: { keepForMillis: 0, keepLast: 1 } } });
  await expectSound();
});

it('is in a backup, from which a lost store is rebuilt', async () => {
  const target = await mkdtemp(join(tmpdir(), 'backup-'));
  await table.engine.upkeep!.backup({ target, progress: () => undefined });
  const store = new MemoryStore();
  const quiet = { dryRun: false, force: false, progress: () => undefined };
  await rebuild({ storage: disk, data: target, store, ...quiet });
  const other = await openOther({ data: target, store });
  expect(await valuesOf(other, 't')).toEqual(upTo(NEWEST));
  expect(await valuesOf(other, 't', { version: 20 })).toEqual(upTo(20));
  expect((await other.upkeep!.verifier.verify({ deep: { bytesPerSecond: 0 } })).findings).toEqual(
    [],
  );
  await other.close();
  await rm(target, { recursive: true });
});

it('is found by a rebuild for a version whose line the journal lost', async () => {
  const { store, data } = table.engine;
  const folder = join(data, 'catalog');
  const [name = ''] = (await readdir(folder)).filter((file) => file.startsWith('journal-'));
  const lines = (await readFile(join(folder, name), 'utf8')).trimEnd().split('\n');
  const lost = new MemoryStore();
  const path = join(folder, name);
  const quiet = { dryRun: false, force: false, progress: () => undefined };
  await writeFile(
    path,
    lines
      .slice(0, -1)
      .map((line) => `${line}\n`)
      .join(''),
  );
  expect(await rebuild({ storage: disk, data, store: lost, ...quiet })).toMatchObject({
    versionsAhead: 1,
  });
  const other = await openOther({ data, store: lost });
  expect(await valuesOf(other, 't')).toEqual(upTo(NEWEST));
  await other.close();
  expect(await store.sequence()).toBeGreaterThan(0n);
});

it.each([
  ['missing', (path: string) => rename(path, `${path}.away`), 'is missing', 'is missing: restore'],
  [
    'damaged',
    (path: string) => truncate(path, 1000),
    'cannot be read: the footer does not match the seal of the file',
    'the footer of fragments/.* does not match the seal of the file: restore',
  ],
])('is named when it is %s, and other versions are read', async (_, spoil, fault, sentence) => {
  const list = await newestList();
  await spoil(list);
  const refusal = await refusalOf(values('t'));
  expect(refusal).toMatch(new RegExp(`^18 table /t: .*${sentence}`));
  expect(refusal).toContain(list.slice(list.indexOf('fragments/')));
  expect(await values('t', { version: 3 })).toEqual(upTo(3));
  const { findings } = await table.engine.upkeep!.verifier.verify();
  const file = list.slice(list.indexOf('fragments/'));
  expect(findings).toEqual([{ kind: 'manifest', table: '/t', file, fault }]);
});
