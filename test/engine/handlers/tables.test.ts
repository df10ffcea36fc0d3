import { disk } from '../../support/disk.ts';
import { Field, Int64, Schema, Utf8 } from 'apache-arrow';
import { describe, expect, it } from 'vitest';
import { newFragment } from '../../../src/engine/format/change.ts';
import type { Fragment, Snapshot } from '../../../src/engine/format/snapshot.ts';
import { catalogBackend } from '../../support/catalog-backend.ts';
import { plant, refusalOf } from '../../support/catalog.ts';
import { TestPermit } from '../../support/permit.ts';
import { ask, lancedb } from '../../support/request.ts';

const schema = new Schema(
  [new Field('id', new Int64(), false), new Field('name', new Utf8(), true)],
  new Map([['made', 'here']]),
);

function fragment(rows: number, bytes = 100): Fragment {
  return newFragment({ file: `data/${rows}.arrow`, rows, bytes, seal: '' }, [0, 1], 0n);
}

function version(number: bigint, fragments: readonly Fragment[] = []): Omit<Snapshot, 'tableId'> {
  const rows = fragments.reduce((sum, each) => sum + BigInt(each.rows), 0n);
  const timestampMillis = Number(number) * 1000;
  return {
    storage: disk,
    folder: '/data/tables/some id',
    version: number,
    timestampMillis,
    schema,
    fieldIds: [0, 1],
    nextFieldId: 2,
    fragments,
    rows,
    nextRowId: rows,
  };
}

async function planted(
  versions: readonly Omit<Snapshot, 'tableId'>[] = [version(1n), version(2n)],
) {
  const parts = catalogBackend();
  const table = await plant(parts.catalog, ['a', 't']);
  parts.tables.give(table, versions);
  return { ...parts, table };
}

describe('DescribeTable', () => {
  it('gives a namespace client version and schema and no place to write to', async () => {
    const { backend } = await planted();
    const answer = await ask(backend, 'POST /v1/table/a%24t/describe', {
      body: { id: ['a', 't'] },
    });
    expect(answer.json).toStrictEqual({
      table: 't',
      namespace: ['a'],
      properties: {},
      is_only_declared: false,
      version: 2,
      schema: {
        fields: [
          { name: 'id', type: { type: 'int64' }, nullable: false },
          { name: 'name', type: { type: 'utf8' }, nullable: true },
        ],
        metadata: { made: 'here' },
      },
      metadata: { made: 'here' },
      stats: { num_deleted_rows: 0, num_fragments: 0 },
      managed_versioning: true,
    });
  });

  it.each([
    ['POST /v1/table/a$t/describe/', {}],
    ['POST /v1/table/a$t/describe', lancedb],
  ])('gives the LanceDB client its own vocabulary and a location: %s', async (line, headers) => {
    const { backend } = await planted();
    const answer = await ask(backend, line, { headers });
    expect(answer.json).toMatchObject({
      version: 2,
      schema: {
        fields: [
          { name: 'id', type: { type: 'int64' }, nullable: false },
          { name: 'name', type: { type: 'string' }, nullable: true },
        ],
      },
      location: 'file:///data/tables/some%20id',
    });
    expect(answer.json).not.toHaveProperty('managed_versioning');
  });

  it.each([
    ['?with_table_uri=true', {}],
    ['', { with_table_uri: true }],
  ])('gives the table’s address when asked with %j and %j', async (query, body) => {
    const { backend } = await planted();
    const answer = await ask(backend, `POST /v1/table/a$t/describe${query}`, { body });
    expect(answer.json).toMatchObject({ table_uri: 'file:///data/tables/some%20id' });
    expect(answer.json).not.toHaveProperty('location');
  });

  it('gives the version that is asked for, however large', async () => {
    const { backend } = await planted([version(1n), version(2n ** 53n + 1n)]);
    const first = await ask(backend, 'POST /v1/table/a$t/describe', { body: { version: 1 } });
    expect(first.json).toMatchObject({ version: 1 });
    const body = '{"version":9007199254740993}';
    const large = await ask(backend, 'POST /v1/table/a$t/describe', { body });
    expect(large.json).toMatchObject({ version: 9007199254740993n });
  });

  it.each([{ version: null }, { branch: 'main' }, { branch: '' }, { tag: null }])(
    'takes %j for the newest version',
    async (body) => {
      const { backend } = await planted();
      const answer = await ask(backend, 'POST /v1/table/a$t/describe', { body });
      expect(answer.json).toMatchObject({ version: 2 });
    },
  );

  it('asks for the right to read before it would give credentials, and gives none', async () => {
    const { backend } = await planted();
    const body = { vend_credentials: true };
    const permit = new TestPermit();
    const answer = await ask(backend, 'POST /v1/table/a$t/describe', { body, permit });
    expect(permit.required).toStrictEqual(['QueryTable /a/t@main']);
    expect(answer.json).not.toHaveProperty('storage_options');
    const refused = ask(backend, 'POST /v1/table/a$t/describe', {
      body,
      permit: new TestPermit({ holds: (action) => action === 'DescribeTable' }),
    });
    expect(await refusalOf(refused)).toBe(
      '15 PermissionDenied: user:tester may not QueryTable on /a/t',
    );
  });

  it('says of a declared table where to write, and neither version nor schema', async () => {
    const { backend, catalog } = catalogBackend();
    const record = {
      id: 'x',
      kind: 'declared',
      location: '/lance/d',
      properties: {},
      createdMillis: 1,
    } as const;
    await catalog.createTableCommit(['d'], record, [], []);
    const answer = await ask(backend, 'POST /v1/table/d/describe');
    expect(answer.json).toStrictEqual({
      table: 'd',
      namespace: [],
      properties: {},
      is_only_declared: true,
      location: '/lance/d',
      managed_versioning: true,
    });
  });

  it.each([
    ['a$gone', {}, '4 TableNotFound: table /a/gone does not exist'],
    ['a', {}, '4 TableNotFound: table /a does not exist'],
    ['a$t', { version: 9 }, '11 TableVersionNotFound: the table has no version 9'],
    ['a$t', { version: -1 }, '13 InvalidInput: version must be at least 0, not -1'],
    ['a$t', { branch: 'dev' }, '22 TableBranchNotFound: the table has no branch "dev"'],
    ['a$t', { tag: 'v1' }, '8 TableTagNotFound: the table has no tag "v1"'],
    [
      'a$t',
      { id: ['t'] },
      '13 InvalidInput: the field "id" of the body differs from what the request says elsewhere',
    ],
  ])('refuses %s with %j', async (id, body, sentence) => {
    const { backend } = await planted();
    expect(await refusalOf(ask(backend, `POST /v1/table/${id}/describe`, { body }))).toBe(sentence);
  });
});

describe('TableExists', () => {
  it('answers nothing but the status', async () => {
    const { backend } = await planted();
    const answer = await ask(backend, 'POST /v1/table/a$t/exists', { body: { version: 1 } });
    expect(answer).toMatchObject({ status: 200, body: null });
  });

  it.each([
    ['gone', {}, '4 TableNotFound: table /gone does not exist'],
    ['a$t', { version: 9 }, '11 TableVersionNotFound: the table has no version 9'],
  ])('refuses %s with %j', async (id, body, sentence) => {
    const { backend } = await planted();
    expect(await refusalOf(ask(backend, `POST /v1/table/${id}/exists`, { body }))).toBe(sentence);
  });
});

describe('DropTable', () => {
  it('answers what was dropped', async () => {
    const { backend, catalog } = await planted();
    const answer = await ask(backend, 'POST /v1/table/a$t/drop/', { headers: lancedb });
    expect(answer).toMatchObject({ status: 200, json: { id: ['a', 't'], properties: {} } });
    expect(await catalog.table(['a', 't'])).toBeUndefined();
  });

  it('tells the audit log what went', async () => {
    const { backend } = await planted([version(1n), version(2n, [fragment(30), fragment(4)])]);
    const answer = await ask(backend, 'POST /v1/table/a$t/drop');
    expect(answer.commit).toStrictEqual({
      kind: 'drop',
      baseVersion: 2n,
      version: null,
      rowsAdded: 0n,
      rowsRemoved: 34n,
      schemaChanged: false,
      table: expect.stringMatching(/^[0-9a-f-]{36}$/),
      rowsChanged: 0n,
      columns: [],
      statement: null,
      rules: [],
    });
  });

  it('drops a table that cannot be read', async () => {
    const { backend, catalog } = await planted([]);
    const answer = await ask(backend, 'POST /v1/table/a$t/drop');
    expect(answer.commit).toMatchObject({ baseVersion: null, rowsRemoved: 0n });
    expect(await catalog.table(['a', 't'])).toBeUndefined();
  });

  it('refuses one that is missing', async () => {
    const { backend } = await planted();
    expect(await refusalOf(ask(backend, 'POST /v1/table/a$gone/drop'))).toBe(
      '4 TableNotFound: table /a/gone does not exist',
    );
  });

  it('refuses a body that is neither object nor null', async () => {
    const { backend, catalog } = await planted();
    const refused = ask(backend, 'POST /v1/table/a$t/drop', { body: '[]' });
    expect(await refusalOf(refused)).toBe(
      '13 InvalidInput: the body must be a JSON object, not a list',
    );
    expect(await catalog.table(['a', 't'])).toBeDefined();
  });
});

describe('ListTableVersions', () => {
  const seven = [1n, 2n, 3n, 4n, 5n, 6n, 7n].map((number) => version(number));
  const numbers = (json: unknown) =>
    (json as { versions: { version: number }[] }).versions.map((entry) => entry.version);

  it('answers both forms of the time', async () => {
    const { backend } = await planted();
    const answer = await ask(backend, 'POST /v1/table/a$t/version/list?limit=1', { body: 'null' });
    expect(answer.json).toStrictEqual({
      versions: [
        {
          version: 1,
          manifest_path: 'versions/00000000000000000001.arrow',
          manifest_size: 1234,
          timestamp_millis: 1000,
          timestamp: '1970-01-01T00:00:01.000Z',
          metadata: {},
        },
      ],
      page_token: '1',
    });
  });

  it('answers pages in either order', async () => {
    const { backend } = await planted(seven);
    const path = 'POST /v1/table/a$t/version/list';
    const newest = await ask(backend, `${path}?limit=1&descending=true`);
    expect(newest.json).toMatchObject({ versions: [{ version: 7 }], page_token: '7' });
    const next = await ask(backend, `${path}?limit=2&descending=true&page_token=7`);
    expect([numbers(next.json), next.json]).toMatchObject([[6, 5], { page_token: '5' }]);
    const first = await ask(backend, path);
    expect([numbers(first.json), first.json]).toMatchObject([[1, 2, 3, 4, 5], { page_token: '5' }]);
    const last = await ask(backend, `${path}?page_token=5`);
    expect(numbers(last.json)).toStrictEqual([6, 7]);
    expect(last.json).not.toHaveProperty('page_token');
  });

  it('answers the LanceDB client everything at once', async () => {
    const { backend } = await planted(seven);
    const answer = await ask(backend, 'POST /v1/table/a$t/version/list/', { headers: lancedb });
    expect(numbers(answer.json)).toStrictEqual([1, 2, 3, 4, 5, 6, 7]);
    expect(answer.json).not.toHaveProperty('page_token');
  });

  it('has none of a table that was never written', async () => {
    const { backend, catalog } = catalogBackend();
    await plant(catalog, ['d'], 'declared');
    const answer = await ask(backend, 'POST /v1/table/d/version/list?descending=true&limit=1');
    expect(answer.json).toStrictEqual({ versions: [] });
  });

  it.each([
    ['gone/version/list', '4 TableNotFound: table /gone does not exist'],
    ['a$t/version/list?branch=dev', '22 TableBranchNotFound: the table has no branch "dev"'],
    [
      'a$t/version/list?page_token=x',
      '13 InvalidInput: page_token must be the last version of the page before, not "x"',
    ],
  ])('refuses %s', async (target, sentence) => {
    const { backend } = await planted();
    expect(await refusalOf(ask(backend, `POST /v1/table/${target}`))).toBe(sentence);
  });
});

describe('GetTableStats', () => {
  it('sums up the data files in whole numbers', async () => {
    const fragments = [fragment(10, 1), fragment(100_000, 2), fragment(15, 3), fragment(20, 4)];
    const { backend } = await planted([version(1n, fragments)]);
    const answer = await ask(backend, 'POST /v1/table/a$t/stats/');
    expect(answer.json).toStrictEqual({
      total_bytes: 10,
      num_rows: 100_045,
      num_indices: 0,
      fragment_stats: {
        num_fragments: 4,
        num_small_fragments: 3,
        lengths: { min: 10, max: 100_000, mean: 25_011, p25: 10, p50: 15, p75: 20, p99: 100_000 },
      },
    });
  });

  it('has nothing but zeros of an empty table', async () => {
    const { backend } = await planted([version(1n)]);
    const answer = await ask(backend, 'POST /v1/table/a$t/stats');
    expect(answer.json).toStrictEqual({
      total_bytes: 0,
      num_rows: 0,
      num_indices: 0,
      fragment_stats: {
        num_fragments: 0,
        num_small_fragments: 0,
        lengths: { min: 0, max: 0, mean: 0, p25: 0, p50: 0, p75: 0, p99: 0 },
      },
    });
  });
});

describe('indices and tags', () => {
  it('are none, in the form that each client reads', async () => {
    const { backend } = await planted();
    const body = { version: null };
    expect((await ask(backend, 'POST /v1/table/a$t/index/list/', { body })).json).toStrictEqual({
      indexes: [],
    });
    expect((await ask(backend, 'POST /v1/table/a$t/tags/list/')).json).toStrictEqual({});
    expect((await ask(backend, 'POST /v1/table/a$t/tags/list')).json).toStrictEqual({ tags: {} });
    expect((await ask(backend, 'GET /v1/table/a%24t/tags/list')).json).toStrictEqual({ tags: {} });
  });

  it.each(['index/list', 'tags/list'])('of a missing table are refused: %s', async (path) => {
    const { backend } = await planted();
    expect(await refusalOf(ask(backend, `POST /v1/table/gone/${path}`))).toBe(
      '4 TableNotFound: table /gone does not exist',
    );
  });
});
