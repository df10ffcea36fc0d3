import { disk } from '../../support/disk.ts';
import {
  link,
  lstat,
  mkdir,
  readdir,
  readFile,
  rename,
  rm,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { join } from 'node:path';
import { Int64, vectorFromArray } from 'apache-arrow';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { droppedKey, tableKey } from '../../../src/engine/catalog/records/keys.ts';
import { decodeTable, encodeDropped } from '../../../src/engine/catalog/records/records-codec.ts';
import { KeptFolder, removeTree } from '../../../src/storage/tree.ts';
import { FragmentReader } from '../../../src/engine/query/scan/fragment-reader.ts';
import { LinkedPath } from '../../../src/storage/plain-path.ts';
import { tableRecord } from '../../support/catalog.ts';
import { collect } from '../../support/dropped.ts';
import { EngineTable, refusalOf, streamOf } from '../../support/engine-table.ts';
import { openOther } from '../../support/engine.ts';
import { testFolders } from '../../support/folder.ts';
import { buildIndex } from '../../support/indices.ts';
import { ask } from '../../support/request.ts';

let table: EngineTable;
let data: string;

const rows = (...values: bigint[]) => ({ n: vectorFromArray(values, new Int64()) });
const freshFolder = testFolders();

beforeEach(async () => {
  table = await EngineTable.open();
  ({ data } = table.engine);
  await table.create(rows(1n, 2n), rows(3n));
  await mkdir(join(data, 'private', 'audit'), { recursive: true });
  await writeFile(join(data, 'private', 'keys.json'), 'keys');
  await writeFile(join(data, 'private', 'audit', 'log'), 'log');
});

afterEach(async () => table.close());

async function folderOf(name: string): Promise<string> {
  const record = decodeTable((await table.engine.store.get(tableKey([name])))!);
  return join(data, 'tables', record.id);
}

/** Puts a link in the place of a file or folder, which stays beside it under another name. */
async function replace(path: string, target: string): Promise<void> {
  await rename(path, `${path}.aside`);
  await symlink(target, path);
}

async function expectPrivateWhole(): Promise<void> {
  expect((await readdir(join(data, 'private'), { recursive: true })).toSorted()).toEqual([
    'audit',
    'audit/log',
    'keys.json',
  ]);
}

describe('a removal', () => {
  it.each(['data', 'versions', 'deletions', 'indices', 'fragments', 'tree'])(
    'takes a link in the place of %s as a link',
    async (inner) => {
      const folder = join(await folderOf('t'), inner);
      await mkdir(folder, { recursive: true });
      await replace(folder, join(data, 'private'));
      await table.post('drop');
      expect(await collect(table.engine)).toMatchObject({ tables: 1, failures: [] });
      expect(await readdir(join(data, 'tables'))).toEqual([]);
      await expectPrivateWhole();
    },
  );

  it('takes a link in the place of the whole folder as a link', async () => {
    const folder = await folderOf('t');
    await rm(folder, { recursive: true });
    await symlink(join(data, 'private'), folder);
    await table.post('drop');
    expect(await collect(table.engine)).toMatchObject({ tables: 1, failures: [] });
    expect(await readdir(join(data, 'tables'))).toEqual([]);
    await expectPrivateWhole();
  });

  it.each(['managed folder itself', 'folder on the way'])(
    'of a Lance table does not go through a link: the %s',
    async (which) => {
      const { store } = table.engine;
      const location = join(data, 'lance', 'way', 'theirs');
      await mkdir(join(data, 'lance', 'way'), { recursive: true });
      const [place, target] =
        which === 'folder on the way'
          ? [join(data, 'lance', 'way'), data]
          : [location, join(data, 'private')];
      if (which === 'folder on the way') await mkdir(join(data, 'theirs'));
      await rm(place, { recursive: true, force: true });
      await symlink(target, place);
      const record = { ...tableRecord('lance'), location };
      const dropped = encodeDropped({ path: ['x'], record, droppedMillis: 1 });
      await store.commit([], [{ key: droppedKey(record.id), value: dropped }]);
      await collect(table.engine);
      await expectPrivateWhole();
      if (which === 'folder on the way') {
        expect((await lstat(join(data, 'theirs'))).isDirectory()).toBe(true);
      }
    },
  );

  it('of files that no version names looks behind no link, and says so', async () => {
    const theirs = await freshFolder();
    const file = join(theirs, '0c2ad7a3-46cf-4f8b-94a9-1f5e60d1a2b3.arrow');
    await writeFile(file, 'of somebody else');
    const folder = await folderOf('t');
    await replace(join(folder, 'data'), theirs);
    const { failures } = await collect(table.engine);
    expect(failures).toEqual([
      `/t is passed over: ${join(folder, 'data')} is a symbolic link or lies behind one: it is neither read nor changed`,
    ]);
    expect(await readFile(file, 'utf8')).toBe('of somebody else');
  });

  it('of versions takes nothing of another table, whose files have the same names', async () => {
    await table.send('update', { body: { updates: [['n', 'n + 1']] } });
    const [one, other] = [await folderOf('t'), await freshFolder()];
    for (const name of await readdir(join(one, 'data'))) {
      await link(join(one, 'data', name), join(other, name));
    }
    const names = await readdir(other);
    await replace(join(one, 'data'), other);
    await table.post('version/delete', { ranges: [{ start_version: 1, end_version: 3 }] });
    await collect(table.engine);
    expect(await readdir(other)).toEqual(names);
  });

  it('never enters a folder that is kept, whatever leads there', async () => {
    const folder = join(data, 'private');
    await expect(removeTree(data, { retained: [folder] })).rejects.toThrow(KeptFolder);
    await expect(removeTree(folder, { retained: [folder] })).rejects.toThrow(KeptFolder);
    await expectPrivateWhole();
  });
});

describe('a read', () => {
  beforeEach(async () => {
    await ask(table.engine.backend, 'POST /v1/table/other/create', {
      body: streamOf(rows(7n, 8n)),
    });
  });

  /** Asks an engine that has nothing of the table in memory. */
  async function refused(action: string, body: object): Promise<string> {
    const other = await openOther(table.engine);
    try {
      return await refusalOf(ask(other.backend, `POST /v1/table/t/${action}`, { body }));
    } finally {
      await other.close();
    }
  }

  const query = { vector: [], k: 10 };
  const sentence = (file: string): string =>
    `18 table /t: ${file} is a symbolic link or lies behind one, and is not read: put the file itself there`;

  it('refuses a data file that is a link to a file of another table', async () => {
    const [mine, theirs] = [await folderOf('t'), await folderOf('other')];
    const [theirFile] = await readdir(join(theirs, 'data'));
    const size = (await lstat(join(theirs, 'data', theirFile!))).size;
    for (const name of await readdir(join(mine, 'data'))) {
      const path = join(mine, 'data', name);
      if ((await lstat(path)).size !== size) continue;
      await replace(path, join(theirs, 'data', theirFile!));
      expect(await refused('query', query)).toBe(sentence(`data/${name}`));
      return;
    }
    expect.unreachable('no file has the size of the other');
  });

  it.each([
    ['data', 'query'],
    ['deletions', 'query'],
    ['versions', 'describe'],
  ])('refuses files behind a link in the place of %s', async (inner, action) => {
    await table.send('delete', { body: { predicate: 'n = 1' } });
    const folder = await folderOf('t');
    await replace(join(folder, inner), join(folder, `${inner}.aside`));
    expect(await refused(action, query)).toMatch(
      /^18 table \/t: .*is a symbolic link or lies behind one/,
    );
  });

  it('refuses a folder of a table that is a link to another table of the same versions', async () => {
    const [mine, theirs] = [await folderOf('t'), await folderOf('other')];
    const insert = 'POST /v1/table/other/insert';
    await ask(table.engine.backend, insert, { body: streamOf(rows(9n)) });
    await replace(mine, theirs);
    expect(await refused('query', query)).toMatch(/^18 table \/t: /);
  });

  it('refuses an index behind a link', async () => {
    table.engine.startWork(() => undefined);
    await buildIndex(table.engine.backend, 't', { column: 'n', index_type: 'BTREE' });
    const folder = await folderOf('t');
    await replace(join(folder, 'indices'), join(folder, 'indices.aside'));
    const [file] = (await readdir(join(folder, 'indices.aside'), { recursive: true })).filter(
      (name) => name.endsWith('.arrow'),
    );
    const reader = new FragmentReader(disk);
    await expect(
      reader.prewarm({ path: join(folder, 'indices', file!), seal: undefined }),
    ).rejects.toThrow(LinkedPath);
    await reader.close();
  });

  it('of a clone refuses a source whose file is a link', async () => {
    const folder = await folderOf('t');
    for (const name of await readdir(join(folder, 'data'))) {
      await replace(join(folder, 'data', name), join(folder, 'data', `${name}.aside`));
    }
    const body = { source_location: folder };
    const answer = await refusalOf(ask(table.engine.backend, 'POST /v1/table/c/clone', { body }));
    expect(answer).not.toContain('undefined undefined');
    expect(await readdir(join(data, 'tables'))).toHaveLength(2);
  });
});

describe('a write', () => {
  it('puts nothing behind a link', async () => {
    const theirs = await freshFolder();
    const folder = await folderOf('t');
    await replace(join(folder, 'data'), theirs);
    const answer = await refusalOf(table.send('insert', { body: streamOf(rows(9n)) }));
    expect(answer).toMatch(/^18 table \/t: data\/.* is a symbolic link or lies behind one/);
  });
});
