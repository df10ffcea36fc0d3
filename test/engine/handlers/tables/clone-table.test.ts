import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { Int64, Utf8, vectorFromArray } from 'apache-arrow';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { EngineTable, refusalOf, streamOf } from '../../../support/engine-table.ts';
import { TestPermit } from '../../../support/permit.ts';
import { ask, lancedb, type Sent } from '../../../support/request.ts';

let table: EngineTable;
let location: string;

const rows = (...values: readonly bigint[]) => ({
  n: vectorFromArray(values, new Int64()),
  t: vectorFromArray(values.map(String), new Utf8()),
});
const post = (line: string, sent: Sent = {}) => ask(table.engine.backend, `POST ${line}`, sent);
const clone = (name: string, body: object, sent: Sent = {}) =>
  post(`/v1/table/${name}/clone`, { ...sent, body: { source_location: location, ...body } });
const count = async (name: string, predicate: string | null = null) =>
  (await post(`/v1/table/${name}/count_rows`, { body: { predicate } })).json;

/** The files in the folder of a table. */
async function filesOf(folder: string): Promise<readonly string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile());
  return files.map((entry) => join(entry.parentPath, entry.name)).toSorted();
}

async function folderOf(name: string): Promise<string> {
  const { json } = await post(`/v1/table/${name}/describe`, { headers: lancedb });
  return String(Object(json)['location']);
}

beforeEach(async () => {
  table = await EngineTable.open();
  await table.create(rows(1n, 2n, 3n));
  await table.post('delete', { predicate: 'n = 2' });
  await table.post('tags/create', { tag: 'two', version: 2 });
  await table.send('insert', { body: streamOf(rows(4n)) });
  location = await folderOf('t');
});

afterEach(async () => table.close());

describe('CloneTable', () => {
  it.each([true, false])('has the rows of the newest version, shallow: %s', async (is_shallow) => {
    const answer = await clone('u', { is_shallow });
    expect(answer.json).toEqual({ version: 1 });
    expect(answer.commit).toMatchObject({ kind: 'clone', baseVersion: null, rowsAdded: 3n });
    expect(await count('u')).toBe(3);
    expect(await count('u', 'n = 2')).toBe(0);
    const { pathname } = new URL(await folderOf('u'));
    const [data] = (await filesOf(join(pathname, 'data'))).map((path) => stat(path));
    expect((await data!).nlink > 1).toBe(is_shallow);
  });

  it('is of a version, of a tag and of a path', async () => {
    await clone('a', { source_version: 1 });
    await clone('b', { source_tag: 'two' });
    await clone('c', { source_tag: 'two', source_version: 2 });
    await clone('d', { source_location: new URL(location).pathname });
    expect(await Promise.all(['a', 'b', 'c', 'd'].map((name) => count(name)))).toEqual([
      3, 2, 2, 3,
    ]);
    expect(await refusalOf(clone('e', { source_tag: 'two', source_version: 1 }))).toBe(
      '13 the tag "two" names version 2, not version 1',
    );
  });

  it('is of a branch that a tag names', async () => {
    await table.post('branches/create', { name: 'side' });
    await table.post('delete', { predicate: 'true', branch: 'side' });
    await table.post('tags/create', { tag: 'none', version: 4, branch: 'side' });
    const permit = new TestPermit();
    await clone('u', { source_tag: 'none' }, { permit });
    expect(await count('u')).toBe(0);
    expect(permit.required).toEqual(['QueryTable /t@side']);
  });

  it('goes its own way, and stays when the other goes', async () => {
    await clone('u', {});
    await post('/v1/table/u/update', { body: { updates: [['n', 'n * 10']] } });
    await post('/v1/table/u/insert', { body: streamOf(rows(7n)) });
    expect(await count('t', 'n > 9')).toBe(0);
    await table.post('drop', {});
    expect(await count('u', 'n > 9')).toBe(3);
    expect(await count('u', 't is not null')).toBe(4);
  });

  it('is asked for with the right to read, and of what the caller sees', async () => {
    const noRight = new TestPermit({ holds: (action) => action !== 'QueryTable' });
    expect(await refusalOf(clone('u', {}, { permit: noRight }))).toBe(
      '15 user:tester may not QueryTable on /t',
    );
    const unseen = new TestPermit({ sees: () => false });
    const refused = `4 no table lies at ${JSON.stringify(location)}`;
    expect(await refusalOf(clone('u', {}, { permit: unseen }))).toBe(refused);
    expect(await refusalOf(count('u'))).toBe('4 table /u does not exist');
  });

  it('leaves nothing behind when it is refused', async () => {
    const folder = join(table.engine.data, 'tables');
    const before = await filesOf(folder);
    expect(await refusalOf(clone('u', { source_version: 9 }))).toBe(
      '11 the table has no version 9',
    );
    expect(await refusalOf(clone('t', {}))).toBe('5 table /t already exists');
    await post('/v1/table/d/declare');
    expect(await refusalOf(clone('u', { source_location: await folderOf('d') }))).toBe(
      '19 table /d is declared and has no data',
    );
    const [one, other] = await Promise.allSettled([clone('u', {}), clone('u', {})]);
    const made = [one, other].filter(({ status }) => status === 'fulfilled');
    expect(made).toHaveLength(1);
    const folders = await readdir(folder);
    expect(folders).toHaveLength(2);
    expect((await filesOf(folder)).length).toBeGreaterThan(before.length);
  });
});
