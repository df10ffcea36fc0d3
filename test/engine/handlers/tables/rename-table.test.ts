import { mkdir, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Int64, vectorFromArray } from 'apache-arrow';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { EngineTable, refusalOf, streamOf } from '../../../support/engine-table.ts';
import { anything, TestPermit } from '../../../support/permit.ts';
import { ask, lancedb, type Sent } from '../../../support/request.ts';

let table: EngineTable;

const one = { n: vectorFromArray([1n, 2n], new Int64()) };
const post = (line: string, sent: Sent = {}) => ask(table.engine.backend, `POST ${line}`, sent);
const count = async (id: string) => (await post(`/v1/table/${id}/count_rows`)).json;

beforeEach(async () => {
  table = await EngineTable.open();
  await table.create(one);
  await post('/v1/namespace/a/create');
  await post('/v1/namespace/a$b/create');
});

afterEach(async () => table.close());

describe('RenameTable', () => {
  it('gives another name in the same namespace, and asks for the right to make it', async () => {
    const permit = anything();
    const answer = await table.send('rename', { body: { new_table_name: 'u' }, permit });
    expect(answer.json).toEqual({});
    expect(answer.objects).toEqual([['u']]);
    expect(answer.commit).toMatchObject({ kind: 'rename', version: null });
    expect(permit.required).toEqual(['CreateTable /u']);
    expect(await count('u')).toBe(2);
    expect(await refusalOf(count('t'))).toBe('4 table /t does not exist');
  });

  it.each([
    ['new_namespace_id', {}],
    ['new_namespace', lancedb],
  ])('moves into the namespace of %s and back to the root', async (key, headers) => {
    const into = { new_table_name: 'u', [key]: ['a', 'b'] };
    await table.send('rename', { body: into, headers });
    expect(await count('a$b$u')).toBe(2);
    await post('/v1/table/a$b$u/rename/', { body: { new_table_name: 'v' }, headers });
    expect(await count('a$b$v')).toBe(2);
    await post('/v1/table/a$b$v/rename', { body: { new_table_name: 't', [key]: [] }, headers });
    expect(await count('t')).toBe(2);
  });

  it('takes the new name from the route, for which the gateway has asked', async () => {
    const permit = anything();
    await post('/v1/table/t/rename/to/a$u', { permit });
    expect(permit.required).toEqual([]);
    expect(await count('a$u')).toBe(2);
  });

  it('keeps versions and tags', async () => {
    await table.send('insert', { body: streamOf(one) });
    await table.post('tags/create', { tag: 'first', version: 1 });
    await table.post('rename', { new_table_name: 'u' });
    const described = await post('/v1/table/u/describe', { body: { tag: 'first' } });
    expect(described.json).toMatchObject({ table: 'u', version: 1 });
    expect((await post('/v1/table/u/count_rows', { body: { version: 2 } })).json).toBe(4);
  });

  it('lets one of two renames to the same name win', async () => {
    await post('/v1/table/other/create', { body: streamOf(one) });
    const to = { body: { new_table_name: 'won' } };
    const outcomes = await Promise.all(
      ['t', 'other'].map(async (id) =>
        post(`/v1/table/${id}/rename`, to).then(
          () => 'done',
          (error: Error) => error.message,
        ),
      ),
    );
    expect(outcomes.toSorted()).toEqual(['done', 'table /won already exists']);
    const listed = (await post('/v1/table/won/exists')).status;
    expect(listed).toBe(200);
  });

  it('refuses whom the permit refuses, and changes nothing', async () => {
    const permit = new TestPermit({ holds: (action) => action !== 'CreateTable' });
    const refused = table.send('rename', { body: { new_table_name: 'u' }, permit });
    expect(await refusalOf(refused)).toBe('15 user:tester may not CreateTable on /u');
    expect(await count('t')).toBe(2);
  });

  const refusals: readonly (readonly [string, object, number, string])[] = [
    ['a name that is taken', { new_table_name: 'taken' }, 5, 'table /taken already exists'],
    ['its own name', { new_table_name: 't' }, 5, 'table /t already exists'],
    ['the name of a namespace', { new_table_name: 'a' }, 2, 'the name /a is taken by a namespace'],
    [
      'a namespace that does not exist',
      { new_table_name: 'u', new_namespace_id: ['no'] },
      1,
      'namespace /no does not exist',
    ],
    [
      'a name with the delimiter',
      { new_table_name: 'x$y' },
      13,
      'the name "x$y" holds "$", which separates names',
    ],
    ['an empty name', { new_table_name: '' }, 13, 'an identifier has an empty segment'],
    [
      'a lone surrogate',
      { new_table_name: '\ud800' },
      13,
      'a segment of an identifier is not valid Unicode',
    ],
    [
      'a reserved namespace',
      { new_table_name: 'u', new_namespace_id: ['system'] },
      13,
      'the namespace "system" is reserved: nothing is created in it',
    ],
    ['no name', {}, 13, 'RenameTableRequest: the field "new_table_name" is missing'],
  ];

  it.each(refusals)('refuses %s and changes nothing', async (_, body, code, sentence) => {
    await post('/v1/table/taken/create', { body: streamOf(one) });
    await table.refuses('rename', body, code, sentence);
    expect(await count('taken')).toBe(2);
  });

  it('refuses a table that does not exist before anything about the new name', async () => {
    const body = { new_table_name: 'u', new_namespace_id: ['no'] };
    expect(await refusalOf(post('/v1/table/gone/rename', { body }))).toBe(
      '4 table /gone does not exist',
    );
  });
});

describe('DeregisterTable', () => {
  it('forgets the table and leaves its files', async () => {
    const files = await table.files();
    const answer = await table.send('deregister');
    expect(answer.json).toMatchObject({ id: ['t'], properties: {} });
    expect(answer.commit).toMatchObject({ kind: 'deregister', rowsRemoved: 0n });
    const { location } = answer.json as { location: string };
    expect(await readdir(join(fileURLToPath(location), 'data'))).toHaveLength(1);
    expect(await table.files()).toEqual(files);
    expect(await refusalOf(table.post('describe'))).toBe('4 table /t does not exist');
    expect(await refusalOf(table.post('deregister'))).toBe('4 table /t does not exist');
    await table.create(one);
    expect(await count('t')).toBe(2);
  });

  it('frees the location that the table had', async () => {
    const location = join(table.engine.data, 'lance', 'mine');
    const headers = { 'x-service-table-location': location };
    await post('/v1/table/placed/create', { body: streamOf(one), headers });
    await mkdir(join(location, 'inner'));
    const inner = { 'x-service-table-location': join(location, 'inner') };
    const create = () =>
      post('/v1/table/inner/create', { body: streamOf(one), headers: inner }).then(
        ({ status }) => status,
      );
    await expect(create()).rejects.toThrow('overlaps the location of another table');
    await post('/v1/table/placed/deregister');
    expect(await create()).toBe(200);
  });
});
