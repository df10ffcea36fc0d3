import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { Int64, vectorFromArray } from 'apache-arrow';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { tableKey } from '../../../../src/engine/catalog/records/keys.ts';
import { encodeTable } from '../../../../src/engine/catalog/records/records-codec.ts';
import { tableRecord } from '../../../support/catalog.ts';
import { EngineTable, refusalOf, streamOf } from '../../../support/engine-table.ts';
import { TestPermit } from '../../../support/permit.ts';
import { ask, lancedb } from '../../../support/request.ts';

let table: EngineTable;

const rows = (...values: bigint[]) => ({ n: vectorFromArray(values, new Int64()) });
const insert = (branch: string, ...values: bigint[]) =>
  table.send(`insert?branch=${branch}`, { body: streamOf(rows(...values)) });
const create = (name: string, more: object = {}) =>
  table.post('branches/create', { name, ...more });
const numbers = (branch: string, version?: number) => table.column('n', { branch, version });
const versions = async (branch: string) => {
  const { versions: found } = (await table.post(`version/list?branch=${branch}`)) as {
    versions: { version: number; manifest_path: string }[];
  };
  return found;
};
const numbered = async (branch: string) => (await versions(branch)).map(({ version }) => version);
const listed = async () =>
  ((await table.post('branches/list')) as { branches: Record<string, object> }).branches;

/** Two versions: rows 1 and 2, and then 3. */
beforeEach(async () => {
  table = await EngineTable.open();
  await table.create(rows(1n, 2n), rows(3n));
});

afterEach(async () => table.close());

describe('CreateTableBranch', () => {
  it('begins with the newest version of main, or with a version that is named', async () => {
    const before = Math.floor(Date.now() / 1000);
    const answer = await table.send('branches/create', { body: { name: 'dev' } });
    expect(answer).toMatchObject({ status: 200, json: {}, branch: 'dev' });
    expect(answer.commit).toMatchObject({ kind: 'create_branch', version: null });
    await create('old', { from_version: 1 });
    await create('older', { from_branch: 'dev', from_version: 1 });
    const list = (await table.post('version/list')) as { versions: { manifest_size: number }[] };
    const entry = (parentVersion: number) => ({
      parentVersion,
      createAt: expect.any(Number),
      manifestSize: list.versions[parentVersion - 1]!.manifest_size,
      metadata: {},
    });
    const found = await listed();
    expect(found).toStrictEqual({
      dev: entry(2),
      old: entry(1),
      older: { parentBranch: 'dev', ...entry(1) },
    });
    expect((found['dev'] as { createAt: number }).createAt).toBeGreaterThanOrEqual(before);
    expect(await numbers('dev')).toEqual([1n, 2n, 3n]);
    expect([await numbers('old'), await numbers('older')]).toEqual([
      [1n, 2n],
      [1n, 2n],
    ]);
  });

  it('takes main by any of its names', async () => {
    await create('a', { from_branch: 'main' });
    await create('b', { from_branch: '' });
    await create('c', { from_branch: null, from_version: null });
    expect(Object.values(await listed()).every((one) => !('parentBranch' in one))).toBe(true);
  });

  it('copies no file', async () => {
    const before = await table.files();
    await create('dev');
    expect(await table.files()).toEqual(before);
  });

  it('is made once, however many ask at the same time', async () => {
    const outcomes = await Promise.all(
      Array.from({ length: 6 }, () => create('dev').then(() => 0, codeOf)),
    );
    expect(outcomes.filter((code) => code === 0)).toHaveLength(1);
    expect(outcomes.filter((code) => code === 23)).toHaveLength(5);
    expect(await treeFolders()).toHaveLength(1);
  });

  it('can have every name that is allowed', async () => {
    const names = ['a', 'feature/x-1.0_y', 'Main', 'ä/日本', 'x'.repeat(255), 'a/b/c', '.a'];
    for (const name of names) await create(name);
    expect(Object.keys(await listed()).toSorted()).toEqual(names.toSorted());
    for (const name of names) {
      await table.post('delete', { predicate: 'n = 1', branch: name });
      expect(await numbers(name)).toEqual([2n, 3n]);
    }
  });

  const refusals: readonly (readonly [string, object, number, string])[] = [
    ['a branch that exists', { name: 'b' }, 23, 'the table already has a branch "b"'],
    ['a version that does not', { name: 'x', from_version: 9 }, 11, 'the table has no version 9'],
    [
      'a version that its source does not have',
      { name: 'x', from_branch: 'b', from_version: 3 },
      11,
      'the table has no version 3',
    ],
    ['an unknown source', { name: 'x', from_branch: 'y' }, 22, 'the table has no branch "y"'],
    [
      'a source that has no name',
      { name: 'x', from_branch: 'y\u0000' },
      22,
      'the table has no branch "y\\u0000"',
    ],
    [
      'a version below zero',
      { name: 'x', from_version: -1 },
      13,
      'from_version must be at least 0, not -1',
    ],
    ['no name', {}, 13, 'CreateTableBranchRequest: the field "name" is missing'],
    ['an empty name', { name: '' }, 13, 'the branch name "" is empty'],
    [
      'the name of main',
      { name: 'main' },
      13,
      'the branch name "main" is that of the branch that every table begins with',
    ],
    [
      'a name with a control character',
      { name: 'a\u0007' },
      13,
      'the branch name "a\\u0007" may hold only letters, digits, ".", "-", "_" and "/"',
    ],
    [
      'a name with a space',
      { name: 'a b' },
      13,
      'the branch name "a b" may hold only letters, digits, ".", "-", "_" and "/"',
    ],
    [
      'a name with a part that leads out',
      { name: 'a/../b' },
      13,
      'the branch name "a/../b" may not hold ".." nor be "." anywhere',
    ],
    [
      'a name with a part that is a dot',
      { name: './b' },
      13,
      'the branch name "./b" may not hold ".." nor be "." anywhere',
    ],
    [
      'a name that begins with a slash',
      { name: '/a' },
      13,
      'the branch name "/a" may not begin or end with "/" nor hold "//"',
    ],
    [
      'a name with two slashes',
      { name: 'a//b' },
      13,
      'the branch name "a//b" may not begin or end with "/" nor hold "//"',
    ],
    [
      'the name of a lock',
      { name: 'a.lock' },
      13,
      'the branch name "a.lock" may not end with ".lock"',
    ],
    [
      'a name that is too long',
      { name: 'ä'.repeat(128) },
      13,
      `the branch name "${'ä'.repeat(128)}" is longer than 255 bytes`,
    ],
  ];

  it.each(refusals)('refuses %s and changes nothing', async (_, body, code, sentence) => {
    await create('b');
    const before = [await listed(), await treeFolders()];
    await table.refuses('branches/create', body, code, sentence);
    expect([await listed(), await treeFolders()]).toEqual(before);
  });
});

describe('ListTableBranches', () => {
  it('answers pages in the order of names, and all to the LanceDB client', async () => {
    expect(await table.post('branches/list')).toStrictEqual({ branches: {} });
    for (const name of ['c', 'a/b', 'b']) await create(name);
    const names = async (query: string, headers = {}) => {
      const { json } = await table.send(`branches/list${query}`, { headers });
      const { branches, page_token: token } = json as {
        branches: object;
        page_token?: string;
      };
      return [Object.keys(branches), token];
    };
    expect(await names('')).toEqual([['a/b', 'b', 'c'], undefined]);
    expect(await names('?limit=2')).toEqual([['a/b', 'b'], 'b']);
    expect(await names('?limit=2&page_token=b')).toEqual([['c'], undefined]);
    expect(await names('?page_token=zz')).toEqual([[], undefined]);
    expect(await names('/', lancedb)).toEqual([['a/b', 'b', 'c'], undefined]);
    expect(await names('/?limit=1', lancedb)).toEqual([['a/b'], 'a/b']);
  });
});

describe('what is done on a branch', () => {
  it('leaves the others as they are, and continues version numbers and row ids', async () => {
    await create('dev');
    expect((await insert('dev', 4n)).json).toMatchObject({ version: 3 });
    expect(
      await table.post('update', { updates: [['n', '30']], predicate: 'n = 3', branch: 'dev' }),
    ).toMatchObject({ version: 4, updated_rows: 1 });
    expect(await table.post('delete', { predicate: 'n = 1', branch: 'dev' })).toMatchObject({
      version: 5,
    });
    const merged = await table.send(
      'merge_insert?on=n&when_not_matched_insert_all=true&branch=dev',
      { body: streamOf(rows(2n, 7n)) },
    );
    expect(merged.json).toMatchObject({ version: 6, num_inserted_rows: 1 });
    await insert('main', 100n);
    expect(new Set(await numbers('dev'))).toEqual(new Set([2n, 4n, 7n, 30n]));
    expect(await numbers('main')).toEqual([1n, 2n, 3n, 100n]);
    expect(await table.rows({ branch: 'dev', filter: 'n in (4, 7)', with_row_id: true })).toEqual([
      { n: 4n, _rowid: 3n },
      { n: 7n, _rowid: 4n },
    ]);
    expect(await table.rows({ filter: 'n = 100', with_row_id: true })).toEqual([
      { n: 100n, _rowid: 3n },
    ]);
  });

  it('can be every change of columns and metadata', async () => {
    await create('dev');
    const on = (action: string, body: object) => table.post(action, { ...body, branch: 'dev' });
    await on('add_columns', { new_columns: [{ name: 'm', expression: 'n * 2' }] });
    await on('alter_columns', { alterations: [{ path: 'm', rename: 'k' }] });
    expect(await table.column('k', { branch: 'dev' })).toEqual([2n, 4n, 6n]);
    await on('update_field_metadata', { updates: [{ path: 'n', metadata: { a: '1' } }] });
    await table.post('schema_metadata/update?branch=dev', { branch: 'a value', b: '2' });
    expect(await table.fields({ branch: 'dev' })).toMatchObject([{ metadata: { a: '1' } }, {}]);
    expect(await on('describe', {})).toMatchObject({
      version: 6,
      metadata: { branch: 'a value', b: '2' },
    });
    await on('drop_columns', { columns: ['k'] });
    expect(await table.fields({ branch: 'dev' })).toHaveLength(1);
    expect(await table.post('describe')).toMatchObject({ version: 2, metadata: {} });
    expect(await table.fields()).toEqual(await table.fields({ version: 1 }));
    expect(await table.column('k', { branch: 'dev', version: 4 })).toEqual([2n, 4n, 6n]);
  });

  it('can be every read', async () => {
    await create('dev');
    await insert('dev', 4n);
    expect(await table.post('count_rows', { branch: 'dev' })).toBe(4);
    expect(await table.post('count_rows', { branch: 'dev', version: 2 })).toBe(3);
    expect(await table.post('count_rows?branch=dev')).toBe(4);
    expect(await table.post('stats', { branch: 'dev' })).toMatchObject({ num_rows: 4 });
    expect(await table.post('index/list', { branch: 'dev' })).toEqual({ indexes: [] });
    expect(await table.post('version/describe', { branch: 'dev' })).toMatchObject({
      version: { version: 3 },
    });
    const query = { vector: [], columns: ['n'] };
    for (const body of [{ query, branch: 'dev' }, { query: { ...query, branch: 'dev' } }]) {
      const explained = await table.post('explain_plan', body);
      expect(explained).toBe(await table.post('explain_plan', { ...query, branch: 'dev' }));
      expect(explained).not.toBe(await table.post('explain_plan', query));
      expect(await table.post('analyze_plan', body)).toMatch(/4 rows/);
    }
  });

  it('can be an overwrite and a restore of any version that it has', async () => {
    await create('dev', { from_version: 1 });
    await table.send('insert?mode=overwrite&branch=dev', { body: streamOf(rows(9n)) });
    expect(await numbers('dev')).toEqual([9n]);
    const restored = await table.send('restore', { body: { version: 1, branch: 'dev' } });
    expect(restored).toMatchObject({ json: { version: 3 }, branch: 'dev' });
    expect(await numbers('dev')).toEqual([1n, 2n]);
    await table.post('restore', { version: 2, branch: 'dev' });
    expect(await numbers('dev')).toEqual([9n]);
    expect(await refusalOf(table.post('restore', { version: 5, branch: 'dev' }))).toBe(
      '11 the table has no version 5',
    );
    expect(await numbers('main')).toEqual([1n, 2n, 3n]);
    expect(await numbered('main')).toEqual([1, 2]);
  });

  it('shows the versions that it came from among its own, in pages', async () => {
    await create('dev', { from_version: 1 });
    await insert('dev', 4n);
    await create('deep', { from_branch: 'dev' });
    await insert('deep', 5n);
    await insert('main', 6n);
    expect(await numbered('main')).toEqual([1, 2, 3]);
    expect(await numbered('dev')).toEqual([1, 2]);
    const id = (await treeFolders()).length;
    expect(id).toBe(2);
    const paths = (await versions('deep')).map(({ manifest_path: path }) => path);
    expect(paths).toEqual([
      'versions/00000000000000000001.arrow',
      expect.stringMatching(/^tree\/[0-9a-f-]{36}\/versions\/00000000000000000002\.arrow$/),
      expect.stringMatching(/^tree\/[0-9a-f-]{36}\/versions\/00000000000000000003\.arrow$/),
    ]);
    const page = (query: string) => table.post(`version/list?branch=deep&${query}`);
    const of = (...all: number[]) => all.map((version) => expect.objectContaining({ version }));
    expect(await page('limit=2')).toEqual({ versions: of(1, 2), page_token: '2' });
    expect(await page('limit=2&page_token=2')).toEqual({ versions: of(3) });
    expect(await page('limit=1&descending=true')).toEqual({ versions: of(3), page_token: '3' });
    expect(await page('descending=true&page_token=3')).toEqual({ versions: of(2, 1) });
  });
});

describe('tags of a branch', () => {
  it('name a version of it, or one that it came from', async () => {
    await create('dev');
    await insert('dev', 4n);
    await insert('main', 5n);
    await table.post('tags/create', { tag: 'new', version: 3, branch: 'dev' });
    await table.post('tags/create', { tag: 'base', version: 1, branch: 'dev' });
    await table.post('tags/create', { tag: 'main', version: 3, branch: '' });
    const size = expect.any(Number);
    expect(await table.post('tags/list')).toStrictEqual({
      tags: {
        base: { branch: 'dev', version: 1, manifestSize: size },
        main: { version: 3, manifestSize: size },
        new: { branch: 'dev', version: 3, manifestSize: size },
      },
    });
    expect(await table.post('tags/version', { tag: 'new' })).toStrictEqual({
      version: 3,
      branch: 'dev',
    });
    expect(await table.post('tags/version', { tag: 'main' })).toStrictEqual({ version: 3 });
    await table.post('add_columns', {
      new_columns: [{ name: 'm', expression: 'n' }],
      branch: 'dev',
    });
    await table.post('tags/update', { tag: 'main', version: 4, branch: 'dev' });
    expect(await table.post('describe', { tag: 'main' })).toMatchObject({ version: 4 });
    expect(await table.post('describe', { tag: 'main', branch: 'dev' })).toMatchObject({
      schema: { fields: [{ name: 'n' }, { name: 'm' }] },
    });
    await table.refuses(
      'describe',
      { tag: 'new', branch: 'main' },
      13,
      'the tag "new" names a version of the branch "dev", not of "main"',
    );
    await table.refuses(
      'tags/create',
      { tag: 'x', version: 5, branch: 'dev' },
      11,
      'the table has no version 5',
    );
  });
});

describe('DeleteTableBranch', () => {
  const remove = (name: string) => table.send('branches/delete', { body: { name } });

  it('takes the branch and every file that nothing else needs', async () => {
    const before = await table.files();
    await create('dev');
    await insert('dev', 4n);
    await table.post('delete', { predicate: 'n = 1', branch: 'dev' });
    await table.post('add_columns', {
      new_columns: [{ name: 'm', expression: 'n' }],
      branch: 'dev',
    });
    expect(await remove('dev')).toMatchObject({
      json: {},
      branch: 'dev',
      commit: { kind: 'delete_branch' },
    });
    expect(await table.files()).toEqual(before);
    expect(await treeFolders()).toEqual([]);
    expect(await listed()).toEqual({});
    expect(await refusalOf(numbers('dev'))).toBe('22 the table has no branch "dev"');
    expect(await numbers('main')).toEqual([1n, 2n, 3n]);
  });

  it('leaves nothing of itself to a branch that gets its name', async () => {
    await create('dev');
    await insert('dev', 4n);
    await remove('dev');
    await create('dev', { from_version: 1 });
    expect(await numbers('dev')).toEqual([1n, 2n]);
    await insert('dev', 5n);
    expect(await numbers('dev')).toEqual([1n, 2n, 5n]);
    expect(await numbered('dev')).toEqual([1, 2]);
  });

  it('does not make a writer write to another branch of the same name', async () => {
    await create('dev');
    const late = insert('dev', 4n).then(() => 'written', codeOf);
    const again = async () => {
      await remove('dev');
      await create('dev', { from_version: 1 });
    };
    await again();
    const outcome = await late;
    expect(['written', 22]).toContain(outcome);
    // Written to the one before, or to the one after it was made.
    expect([
      [1n, 2n],
      [1n, 2n, 4n],
    ]).toContainEqual(await numbers('dev'));
  });

  it('keeps a branch that another came from, and one with a tag', async () => {
    await create('dev');
    await create('next', { from_branch: 'dev' });
    const refusal = (why: string) => `the branch "dev" cannot be deleted: ${why}`;
    const body = { name: 'dev' };
    await table.refuses('branches/delete', body, 19, refusal('the branch "next" came from it'));
    await remove('next');
    await table.post('tags/create', { tag: 'v', version: 2, branch: 'dev' });
    await table.refuses('branches/delete', body, 19, refusal('the tag "v" names its version 2'));
    await table.post('tags/delete', { tag: 'v' });
    await remove('dev');
    expect(await listed()).toEqual({});
  });

  const refusals: readonly (readonly [string, object, number, string])[] = [
    ['an unknown branch', { name: 'x' }, 22, 'the table has no branch "x"'],
    [
      'the main one',
      { name: 'main' },
      13,
      'the branch "main" cannot be deleted: it is that which every table begins with',
    ],
    ['an empty name', { name: '' }, 22, 'the table has no branch ""'],
    ['no name', {}, 13, 'DeleteTableBranchRequest: the field "name" is missing'],
  ];

  it.each(refusals)('refuses %s and changes nothing', async (_, body, code, sentence) => {
    await create('b');
    await table.refuses('branches/delete', body, code, sentence);
    expect(Object.keys(await listed())).toEqual(['b']);
  });
});

describe('BatchDeleteTableVersions', () => {
  const everything = [{ start_version: 0, end_version: -1 }];
  const remove = (branch: string) => table.post('version/delete', { ranges: everything, branch });

  it('keeps what a branch begins with, and every file that a branch needs', async () => {
    await create('old', { from_version: 1 });
    await insert('main', 4n);
    await table.send('insert?mode=overwrite', { body: streamOf(rows(9n)) });
    await table.post('delete', { predicate: 'n = 2', branch: 'old' });
    expect(await remove('main')).toEqual({ deleted_count: 2 });
    expect(await numbered('main')).toEqual([1, 4]);
    expect([await numbers('main'), await numbers('old')]).toEqual([[9n], [1n]]);
    expect(await numbers('old', 1)).toEqual([1n, 2n]);
    await table.post('branches/delete', { name: 'old' });
    expect(await remove('main')).toEqual({ deleted_count: 1 });
    expect(await table.files()).toHaveLength(2);
  });

  it('removes of a branch only versions that were made on it', async () => {
    await create('dev');
    for (const value of [4n, 5n, 6n]) await insert('dev', value);
    await create('next', { from_branch: 'dev', from_version: 3 });
    await table.post('tags/create', { tag: 'base', version: 1, branch: 'next' });
    expect(await remove('dev')).toEqual({ deleted_count: 1 });
    expect(await numbered('dev')).toEqual([1, 2, 3, 5]);
    expect(await remove('next')).toEqual({ deleted_count: 0 });
    expect(await remove('main')).toEqual({ deleted_count: 0 });
    expect(await numbers('next')).toEqual([1n, 2n, 3n, 4n]);
    await table.post('tags/delete', { tag: 'base' });
    expect(await remove('main')).toEqual({ deleted_count: 1 });
    expect(await refusalOf(numbers('next', 1))).toBe('11 the table has no version 1');
    expect(await numbers('dev')).toEqual([1n, 2n, 3n, 4n, 5n, 6n]);
  });
});

describe('at the same time', () => {
  it('a version is removed or becomes the beginning of a branch, never both', async () => {
    for (let round = 0; round < 6; round++) {
      const version = 2 + round;
      await insert('main', BigInt(round));
      const rowsThen = await numbers('main', version);
      const ranges = [{ start_version: version, end_version: version + 1 }];
      const name = `b${round}`;
      const both = [
        () => create(name, { from_version: version }).then(() => 'made', codeOf),
        () => table.post('version/delete', { ranges }),
      ];
      const order = round % 2 === 0 ? both : both.toReversed();
      await Promise.all(order.map((work) => work()));
      const isThere = name in (await listed());
      expect((await numbered('main')).includes(version)).toBe(isThere);
      if (isThere) expect(await numbers(name)).toEqual(rowsThen);
    }
  });

  it("writers of several branches do not get in each other's way", async () => {
    const names = ['main', 'a', 'b'];
    for (const name of names.slice(1)) await create(name);
    await Promise.all(names.flatMap((name) => [4n, 5n, 6n].map((value) => insert(name, value))));
    for (const name of names) {
      expect(new Set(await numbers(name))).toEqual(new Set([1n, 2n, 3n, 4n, 5n, 6n]));
      expect(await numbered(name)).toEqual([1, 2, 3, 4, 5]);
    }
  });
});

describe('a table with branches', () => {
  it('is renamed with them, and a new one of its name has none', async () => {
    await create('dev');
    await insert('dev', 4n);
    const post = (id: string, action: string, body: object) =>
      ask(table.engine.backend, `POST /v1/table/${id}/${action}`, { body });
    await post('t', 'rename', { new_table_name: 'u' });
    expect((await post('u', 'count_rows', { branch: 'dev' })).json).toBe(4);
    await post('u', 'drop', {});
    await ask(table.engine.backend, 'POST /v1/table/u/create', { body: streamOf(rows(1n)) });
    expect((await post('u', 'branches/list', {})).json).toEqual({ branches: {} });
  });

  it('keeps them when it is overwritten', async () => {
    await create('dev');
    await table.send('create?mode=overwrite', { body: streamOf({ k: rows(7n).n }) });
    expect(await numbers('dev')).toEqual([1n, 2n, 3n]);
    expect(await table.column('k')).toEqual([7n]);
  });

  it('has data, and its clients make the branches of a Lance table', async () => {
    for (const kind of ['declared', 'lance'] as const) {
      const value = encodeTable({ ...tableRecord(kind), location: `/lance/${kind}` });
      await table.engine.store.commit([], [{ key: tableKey([kind]), value }]);
    }
    for (const action of ['create', 'list', 'delete']) {
      const post = (id: string) =>
        ask(table.engine.backend, `POST /v1/table/${id}/branches/${action}`, {
          body: { name: 'b' },
        });
      expect(await refusalOf(post('gone'))).toBe('4 table /gone does not exist');
      expect(await refusalOf(post('declared'))).toBe(
        '19 table /declared is declared and has no data',
      );
    }
    const onLance = (action: string) =>
      ask(table.engine.backend, `POST /v1/table/lance/branches/${action}`, { body: { name: 'b' } });
    expect(await refusalOf(onLance('create'))).toBe(
      '0 table /lance is written by Lance clients: a branch begins when one of them commits to it',
    );
    expect((await onLance('list')).json).toEqual({ branches: {} });
    expect(await refusalOf(onLance('delete'))).toBe('22 the table has no branch "b"');
  });
});

describe('rights', () => {
  const asked = async (action: string, body: object | Uint8Array) => {
    const permit = new TestPermit();
    await table.send(action, { body, permit }).catch(() => undefined);
    return permit.required;
  };

  it('are asked for each branch that only the body names', async () => {
    expect(await asked('branches/create', { name: 'dev' })).toEqual([
      'CreateTableBranch /t@dev',
      'CreateTableBranch /t@main',
      'QueryTable /t@main',
    ]);
    expect(await asked('branches/create', { name: 'next', from_branch: 'dev' })).toEqual([
      'CreateTableBranch /t@next',
      'CreateTableBranch /t@dev',
      'QueryTable /t@dev',
    ]);
    expect(await asked('branches/delete', { name: 'next' })).toEqual(['DeleteTableBranch /t@next']);
    expect(await asked('query', { vector: [], branch: 'dev' })).toEqual(['QueryTable /t@dev']);
    expect(await asked('delete', { predicate: 'n = 1', branch: '' })).toEqual([
      'DeleteFromTable /t@main',
    ]);
    expect(await asked('explain_plan', { query: { vector: [], branch: 'dev' } })).toEqual([
      'ExplainTableQueryPlan /t@dev',
    ]);
    expect(await asked('describe', { branch: 'dev', vend_credentials: true })).toEqual([
      'DescribeTable /t@dev',
      'QueryTable /t@dev',
    ]);
    expect(await asked('describe', {})).toEqual([]);
    expect(await asked('query?branch=dev', { vector: [], branch: 'dev' })).toEqual([]);
    // It is no field of this operation, so it may be anything.
    expect(await asked('branches/list', { branch: 5 })).toEqual([]);
    await table.post('tags/create', { tag: 'v', version: 1, branch: 'dev' });
    expect(await asked('describe', { tag: 'v' })).toEqual(['DescribeTable /t@dev']);
  });

  it('that are missing leave everything as it is', async () => {
    await create('dev');
    const permit = new TestPermit({ holds: (_, __, branch) => branch !== 'secret' });
    const refused = async (action: string, body: object) => {
      const before = [await table.state(), await listed()];
      expect(await refusalOf(table.send(action, { body, permit }))).toMatch(/^15 /);
      expect([await table.state(), await listed()]).toEqual(before);
    };
    await refused('branches/create', { name: 'secret' });
    await refused('branches/create', { name: 'x', from_branch: 'secret' });
    await create('secret');
    await refused('branches/delete', { name: 'secret' });
    await refused('update', { updates: [['n', '0']], branch: 'secret' });
    await refused('version/delete', { ranges: [], branch: 'secret' });
    await refused('query', { vector: [], branch: 'secret' });
  });
});

const codeOf = (error: { row?: { code: number } }) => error.row?.code;

/** The folders of branches on disk. */
async function treeFolders(): Promise<readonly string[]> {
  const root = join(table.engine.data, 'tables');
  const [id] = await readdir(root);
  return readdir(join(root, id!, 'tree')).catch(() => []);
}
