import { Int64, vectorFromArray } from 'apache-arrow';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { tableKey } from '../../../src/engine/catalog/records/keys.ts';
import { encodeTable } from '../../../src/engine/catalog/records/records-codec.ts';
import { EngineTable, refusalOf, streamOf } from '../../support/engine-table.ts';
import { ask, lancedb } from '../../support/request.ts';
import { tableRecord } from '../../support/catalog.ts';

let table: EngineTable;

const rows = (...values: bigint[]) => ({ n: vectorFromArray(values, new Int64()) });
const versions = async () => {
  const { versions: found } = (await table.post('version/list')) as {
    versions: { version: number }[];
  };
  return found.map(({ version }) => version);
};

beforeEach(async () => {
  table = await EngineTable.open();
  await table.create(rows(1n, 2n), rows(3n));
});

afterEach(async () => table.close());

describe('RestoreTable', () => {
  it('makes a new version of an old one, and gives no id out twice', async () => {
    await table.post('delete', { predicate: 'n = 1' });
    await table.post('add_columns', { new_columns: [{ name: 'm', expression: 'n' }] });
    const answer = await table.send('restore', { body: { version: 1 } });
    expect(answer.json).toEqual({ version: 5 });
    expect(answer.commit).toMatchObject({
      kind: 'restore',
      baseVersion: 4n,
      rowsAdded: 1n,
      rowsRemoved: 1n,
      schemaChanged: true,
    });
    expect(await table.rows({ with_row_id: true })).toEqual([
      { n: 1n, _rowid: 0n },
      { n: 2n, _rowid: 1n },
    ]);
    await table.send('insert', { body: streamOf(rows(9n)) });
    expect(await table.rows({ filter: 'n = 9', with_row_id: true })).toEqual([
      { n: 9n, _rowid: 3n },
    ]);
    await table.post('add_columns', {
      new_columns: [{ name: 'k', all_null: true, data_type: 'int64' }],
    });
    expect(await table.column('k')).toEqual([null, null, null]);
    expect(await table.column('m', { version: 4 })).toEqual([2n, 3n]);
  });

  const refusals: readonly (readonly [string, object, number, string])[] = [
    ['an unknown version', { version: 9 }, 11, 'the table has no version 9'],
    ['a negative version', { version: -1 }, 13, 'version must be at least 0, not -1'],
    ['no version', { version: null }, 13, 'RestoreTableRequest: the field "version" is missing'],
    ['an unknown branch', { version: 1, branch: 'b' }, 22, 'the table has no branch "b"'],
  ];

  it.each(refusals)('refuses %s and changes nothing', async (_, body, code, sentence) => {
    await table.refuses('restore', body, code, sentence);
  });
});

describe('DescribeTableVersion', () => {
  it('answers one version, or the newest', async () => {
    const { versions: listed } = (await table.post('version/list')) as { versions: object[] };
    expect(await table.post('version/describe', { version: 1 })).toEqual({ version: listed[0] });
    expect(await table.post('version/describe')).toEqual({ version: listed[1] });
    expect(listed[0]).toMatchObject({
      version: 1,
      manifest_path: 'versions/00000000000000000001.arrow',
      manifest_size: expect.any(Number),
      timestamp_millis: expect.any(Number),
    });
  });

  it('refuses a version that is not there', async () => {
    await table.refuses('version/describe', { version: 7 }, 11, 'the table has no version 7');
    await table.refuses('version/describe', { branch: 'b' }, 22, 'the table has no branch "b"');
  });
});

describe('tags', () => {
  it('are made, moved, read and removed', async () => {
    expect(await table.post('tags/create', { tag: 'v1', version: 1 })).toEqual({});
    await table.post('tags/create', { tag: 'v-2.0_x', version: 2 });
    expect(await table.post('tags/version', { tag: 'v1' })).toEqual({ version: 1 });
    expect(await table.post('describe', { tag: 'v1' })).toMatchObject({ version: 1 });
    expect(await table.post('describe', { tag: 'v1', version: 1 })).toMatchObject({ version: 1 });
    await table.post('tags/update', { tag: 'v1', version: 2 });
    expect(await table.post('describe', { tag: 'v1' })).toMatchObject({ version: 2 });
    await table.post('tags/delete', { tag: 'v1' });
    expect(await table.post('tags/list')).toEqual({
      tags: { 'v-2.0_x': { version: 2, manifestSize: expect.any(Number) } },
    });
  });

  it('are listed in the form that each client reads, and in pages', async () => {
    for (const tag of ['c', 'a', 'b']) await table.post('tags/create', { tag, version: 1 });
    const entry = { version: 1, manifestSize: expect.any(Number) };
    expect((await table.send('tags/list', { headers: lancedb })).json).toStrictEqual({
      a: entry,
      b: entry,
      c: entry,
    });
    expect((await table.send('tags/list?limit=2')).json).toStrictEqual({
      tags: { a: entry, b: entry },
      page_token: 'b',
    });
    expect((await table.send('tags/list?limit=2&page_token=b')).json).toStrictEqual({
      tags: { c: entry },
    });
    expect((await table.send('tags/list?page_token=zzz')).json).toStrictEqual({ tags: {} });
  });

  it('say how large the manifest of their version is', async () => {
    await table.post('tags/create', { tag: 'v', version: 2 });
    const { version } = (await table.post('version/describe', { version: 2 })) as {
      version: { manifest_size: number };
    };
    expect(await table.post('tags/list')).toEqual({
      tags: { v: { version: 2, manifestSize: version.manifest_size } },
    });
  });

  it('are made once, however many ask at the same time', async () => {
    const outcomes = await Promise.all(
      Array.from({ length: 8 }, () =>
        table.post('tags/create', { tag: 'v', version: 1 }).then(
          () => 0,
          (error: { row: { code: number } }) => error.row.code,
        ),
      ),
    );
    expect(outcomes.filter((code) => code === 0)).toHaveLength(1);
    expect(outcomes.filter((code) => code === 9)).toHaveLength(7);
  });

  const refusals: readonly (readonly [string, string, object, number, string])[] = [
    ['a tag that exists', 'create', { tag: 'v', version: 1 }, 9, 'the table already has a tag "v"'],
    [
      'a version that does not',
      'create',
      { tag: 'w', version: 8 },
      11,
      'the table has no version 8',
    ],
    [
      'moving to a version that is not there',
      'update',
      { tag: 'v', version: 8 },
      11,
      'the table has no version 8',
    ],
    ['moving an unknown tag', 'update', { tag: 'w', version: 1 }, 8, 'the table has no tag "w"'],
    ['removing an unknown tag', 'delete', { tag: 'w' }, 8, 'the table has no tag "w"'],
    ['reading an unknown tag', 'version', { tag: 'w' }, 8, 'the table has no tag "w"'],
    ['an empty name', 'create', { tag: '', version: 1 }, 13, 'the tag name "" is empty'],
    [
      'a name with a slash',
      'create',
      { tag: 'a/b', version: 1 },
      13,
      'the tag name "a/b" may hold only letters, digits, ".", "-" and "_"',
    ],
    [
      'a name with a dot in front',
      'create',
      { tag: '.a', version: 1 },
      13,
      'the tag name ".a" may not begin or end with "."',
    ],
    [
      'a name with two dots',
      'create',
      { tag: 'a..b', version: 1 },
      13,
      'the tag name "a..b" may not hold ".."',
    ],
    [
      'the name of a lock',
      'create',
      { tag: 'a.lock', version: 1 },
      13,
      'the tag name "a.lock" may not end with ".lock"',
    ],
    [
      'a name that is too long',
      'create',
      { tag: 'x'.repeat(256), version: 1 },
      13,
      `the tag name "${'x'.repeat(256)}" is longer than 255 bytes`,
    ],
    [
      'no version',
      'create',
      { tag: 'w' },
      13,
      'CreateTableTagRequest: the field "version" is missing',
    ],
    [
      'an unknown branch',
      'create',
      { tag: 'w', version: 1, branch: 'b' },
      22,
      'the table has no branch "b"',
    ],
  ];

  it.each(refusals)('refuses %s and changes nothing', async (_, action, body, code, sentence) => {
    await table.post('tags/create', { tag: 'v', version: 1 });
    await table.refuses(`tags/${action}`, body, code, sentence);
  });

  it('refuses to describe a tag that is not there, or that names another version', async () => {
    await table.post('tags/create', { tag: 'v', version: 1 });
    await table.refuses('describe', { tag: 'w' }, 8, 'the table has no tag "w"');
    await table.refuses(
      'describe',
      { tag: 'v', version: 2 },
      13,
      'the tag "v" names version 1, not version 2',
    );
  });
});

describe('BatchDeleteTableVersions', () => {
  const range = (start: number, end: number) => ({ start_version: start, end_version: end });
  const remove = (...ranges: object[]) => table.post('version/delete', { ranges });

  it('removes ranges that include their start and not their end', async () => {
    for (const value of [4n, 5n, 6n]) await table.send('insert', { body: streamOf(rows(value)) });
    const answer = await table.send('version/delete', {
      body: { ranges: [range(1, 2), range(3, 5)] },
    });
    expect(answer.json).toEqual({ deleted_count: 3 });
    expect(answer.commit).toMatchObject({ kind: 'delete_versions' });
    expect(await versions()).toEqual([2, 5]);
    expect(await table.column('n')).toEqual([1n, 2n, 3n, 4n, 5n, 6n]);
    expect(await table.column('n', { version: 2 })).toEqual([1n, 2n, 3n]);
    expect(await refusalOf(table.rows({ version: 3 }))).toBe('11 the table has no version 3');
    expect(await remove(range(1, 2), range(3, 5))).toEqual({ deleted_count: 0 });
  });

  it('keeps the newest version and those with a tag, and the files that they need', async () => {
    await table.post('tags/create', { tag: 'v', version: 1 });
    await table.post('delete', { predicate: 'n = 1' });
    await table.send('insert?mode=overwrite', { body: streamOf(rows(8n)) });
    await table.post('add_columns', { new_columns: [{ name: 'm', expression: 'n' }] });
    expect(await remove(range(0, -1))).toEqual({ deleted_count: 3 });
    expect(await versions()).toEqual([1, 5]);
    expect(await table.column('n', { version: 1 })).toEqual([1n, 2n]);
    expect(await table.rows()).toEqual([{ n: 8n, m: 8n }]);
    expect(await table.files()).toHaveLength(5);
    await table.post('tags/delete', { tag: 'v' });
    expect(await remove(range(0, -1))).toEqual({ deleted_count: 1 });
    expect(await table.files()).toHaveLength(3);
    expect(await table.rows()).toEqual([{ n: 8n, m: 8n }]);
  });

  it('gives no number out again, and removes nothing from under a restore', async () => {
    await table.send('insert?mode=overwrite', { body: streamOf(rows(8n)) });
    const [restored] = await Promise.all([
      table
        .post('restore', { version: 2 })
        .catch((error: { row: { code: number } }) => error.row.code),
      remove(range(0, -1)),
    ]);
    const newest = await table.column('n');
    expect(newest).toEqual(restored === 11 ? [8n] : [1n, 2n, 3n]);
    await table.send('insert', { body: streamOf(rows(9n)) });
    expect((await versions()).at(-1)).toBe(restored === 11 ? 4 : 5);
    expect(await table.column('n')).toEqual([...newest, 9n]);
  });

  it('does nothing for no ranges and for versions that are not there', async () => {
    expect(await remove()).toEqual({ deleted_count: 0 });
    expect(await remove(range(5, 5), range(70, 90))).toEqual({ deleted_count: 0 });
    expect(await versions()).toEqual([1, 2]);
  });

  const refusals: readonly (readonly [string, object, number, string])[] = [
    [
      'a start below zero',
      { ranges: [range(-1, 2)] },
      13,
      'start_version must be at least 0, not -1',
    ],
    [
      'an end before the start',
      { ranges: [range(3, 2)] },
      13,
      'a range of versions cannot end at 2 before it begins at 3',
    ],
    [
      'a range without an end',
      { ranges: [{ start_version: 1 }] },
      13,
      'BatchDeleteTableVersionsRequest: the field "ranges[0].end_version" is missing',
    ],
    ['no list of ranges', {}, 13, 'BatchDeleteTableVersionsRequest: the field "ranges" is missing'],
    [
      'an unknown branch',
      { ranges: [range(1, 2)], branch: 'b' },
      22,
      'the table has no branch "b"',
    ],
  ];

  it.each(refusals)('refuses %s and changes nothing', async (_, body, code, sentence) => {
    await table.refuses('version/delete', body, code, sentence);
  });
});

describe('metadata', () => {
  const fields = (updates: object[]) => table.post('update_field_metadata', { updates });

  beforeEach(async () => {
    await table.post('add_columns', {
      new_columns: [{ name: 's', all_null: true, data_type: pair() }],
    });
  });

  it('of fields is merged, taken away by null, or replaced', async () => {
    expect(await fields([{ path: 'n', metadata: { a: '1', b: '2' } }])).toEqual({
      version: 4,
      fields: { n: { a: '1', b: '2' } },
    });
    expect(
      await fields([
        { path: 'n', metadata: { a: null, c: '3' }, replace: false },
        { path: 's.`x.y`', metadata: { deep: 'yes' } },
      ]),
    ).toEqual({ version: 5, fields: { n: { b: '2', c: '3' }, 's.`x.y`': { deep: 'yes' } } });
    expect(await fields([{ path: 'n', metadata: { z: '9' }, replace: true }])).toMatchObject({
      fields: { n: { z: '9' } },
    });
    expect(await table.fields()).toMatchObject([
      { metadata: { z: '9' } },
      { type: { fields: [{ name: 'x.y', metadata: { deep: 'yes' } }] } },
    ]);
    expect(await table.fields({ version: 4 })).toMatchObject([
      { metadata: { a: '1', b: '2' } },
      {},
    ]);
    expect(await table.column('n')).toEqual([1n, 2n, 3n]);
  });

  it('of the schema is a bare map that is merged, and null takes a key away', async () => {
    const update = (map: object) => table.post('schema_metadata/update', map);
    expect(await update({ id: 'x', owner: 'me' })).toStrictEqual({ id: 'x', owner: 'me' });
    expect(await update({ owner: 'you', more: '1' })).toStrictEqual({
      id: 'x',
      owner: 'you',
      more: '1',
    });
    expect(await update({ id: null })).toStrictEqual({ owner: 'you', more: '1' });
    expect(await table.post('describe')).toMatchObject({
      version: 6,
      metadata: { owner: 'you', more: '1' },
    });
    expect(await table.post('describe', { version: 4 })).toMatchObject({
      metadata: { id: 'x', owner: 'me' },
    });
  });

  const refusals: readonly (readonly [string, string, object, number, string])[] = [
    [
      'no update',
      'update_field_metadata',
      { updates: [] },
      13,
      'updates must have at least one entry',
    ],
    [
      'an unknown field',
      'update_field_metadata',
      { updates: [{ path: 'zz', metadata: {} }] },
      12,
      'the table has no column "zz"',
    ],
    [
      'an unknown field inside',
      'update_field_metadata',
      { updates: [{ path: 's.q', metadata: {} }] },
      12,
      'the table has no column "s.q"',
    ],
    [
      'a value that is no text',
      'update_field_metadata',
      { updates: [{ path: 'n', metadata: { a: 1 } }] },
      13,
      'UpdateFieldMetadataRequest: the field "updates[0].metadata.a" must be a string, not the number 1',
    ],
    [
      'a branch',
      'update_field_metadata',
      { updates: [{ path: 'n', metadata: {} }], branch: 'b' },
      22,
      'the table has no branch "b"',
    ],
    [
      'a schema value that is no text',
      'schema_metadata/update',
      { a: { b: 'c' } },
      13,
      'metadata.a must be a string or null, not an object',
    ],
    [
      'a branch of the schema',
      'schema_metadata/update?branch=b',
      { a: 'b' },
      22,
      'the table has no branch "b"',
    ],
  ];

  it.each(refusals)('refuses %s and changes nothing', async (_, action, body, code, sentence) => {
    await table.refuses(action, body, code, sentence);
  });
});

function pair(): object {
  return {
    type: 'struct',
    fields: [{ name: 'x.y', type: { type: 'string' }, nullable: true }],
  };
}

describe('a table without rows here', () => {
  const operations: readonly (readonly [string, object])[] = [
    ['add_columns', { new_columns: [{ name: 'x', expression: 'n' }] }],
    ['drop_columns', { columns: ['n'] }],
    ['alter_columns', { alterations: [{ path: 'n', rename: 'm' }] }],
    ['update_field_metadata', { updates: [{ path: 'n', metadata: {} }] }],
    ['schema_metadata/update', {}],
    ['restore', { version: 1 }],
  ];
  const onVersions: readonly (readonly [string, object])[] = [
    ['version/delete', { ranges: [] }],
    ['tags/list', {}],
    ['tags/create', { tag: 'v', version: 1 }],
    ['tags/update', { tag: 'v', version: 1 }],
    ['tags/delete', { tag: 'v' }],
    ['tags/version', { tag: 'v' }],
  ];
  const post = (id: string, action: string, body: object) =>
    ask(table.engine.backend, `POST /v1/table/${id}/${action}`, { body });

  beforeEach(async () => {
    for (const kind of ['declared', 'lance'] as const) {
      const value = encodeTable({ ...tableRecord(kind), location: `/lance/${kind}` });
      await table.engine.store.commit([], [{ key: tableKey([kind]), value }]);
    }
  });

  it.each(operations)('is refused by %s', async (action, body) => {
    expect(await refusalOf(post('gone', action, body))).toBe('4 table /gone does not exist');
    expect(await refusalOf(post('declared', action, body))).toBe(
      '19 table /declared is declared and has no data',
    );
    expect(await refusalOf(post('lance', action, body))).toBe(
      action === 'restore'
        ? '0 table /lance is written by Lance clients: one of them restores a version, with a commit of its own'
        : '0 table /lance is written by Lance clients: open it at its location',
    );
  });

  it.each(onVersions)('is refused by %s if nobody has written to it', async (action, body) => {
    expect(await refusalOf(post('gone', action, body))).toBe('4 table /gone does not exist');
    expect(await refusalOf(post('declared', action, body))).toBe(
      '19 table /declared is declared and has no data',
    );
  });

  it('can be renamed and deregistered, and has no version to describe', async () => {
    expect(await refusalOf(post('declared', 'version/describe', {}))).toBe(
      '11 the table has no version',
    );
    for (const kind of ['declared', 'lance']) {
      await post(kind, 'rename', { new_table_name: 'moved' });
      expect((await post('moved', 'deregister', {})).json).toEqual({
        id: ['moved'],
        location: `/lance/${kind}`,
        properties: {},
      });
    }
  });
});
