import { mkdir, readdir, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Int64, vectorFromArray } from 'apache-arrow';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { refusalOf, streamOf } from '../../../support/engine-table.ts';
import { freshEngine, type TestEngine } from '../../../support/engine.ts';
import { ownFiles } from '../../../support/own-files.ts';
import { TestPermit } from '../../../support/permit.ts';
import { ask, lancedb, type Sent } from '../../../support/request.ts';

let engine: TestEngine;

beforeEach(async () => {
  engine = await freshEngine();
  await post('/v1/namespace/a/create');
  await post('/v1/namespace/a$b/create');
});

afterEach(async () => engine.close());

function post(path: string, sent: Sent = {}) {
  return ask(engine.backend, `POST ${path}`, sent);
}

async function declare(id: string, body: object = {}) {
  const answer = await post(`/v1/table/${id}/declare`, { body });
  return { ...answer, location: (answer.json as { location: string }).location };
}

function place(...names: readonly string[]): string {
  return join(engine.data, 'allowed', ...names);
}

async function names(query = ''): Promise<unknown> {
  return (await ask(engine.backend, `GET /v1/table${query}`)).json;
}

const rows = () => streamOf({ n: vectorFromArray([1n, 2n], new Int64()) });

describe('DeclareTable', () => {
  it('makes a folder of its own among the managed ones', async () => {
    const first = await declare('a$t', { properties: { owner: 'ann' } });
    expect(first.json).toStrictEqual({
      location: first.location,
      properties: { owner: 'ann' },
      managed_versioning: true,
    });
    expect(first.commit).toMatchObject({ kind: 'declare', version: null, rowsAdded: 0n });
    const second = await declare('u');
    const managed = join(engine.data, 'lance');
    expect((await readdir(managed)).map((name) => join(managed, name)).toSorted()).toEqual(
      [first.location, second.location].toSorted(),
    );
    expect(await readdir(first.location)).toEqual([]);
  });

  it('is what DescribeTable then says, and neither version nor schema', async () => {
    const { location } = await declare('a$t', { properties: { owner: 'ann' } });
    const described = {
      table: 't',
      namespace: ['a'],
      properties: { owner: 'ann' },
      is_only_declared: true,
      location,
      managed_versioning: true,
    };
    for (const [path, headers] of [
      ['describe', {}],
      ['describe?load_detailed_metadata=true&check_declared=true', {}],
      ['describe/', lancedb],
    ] as const) {
      expect((await post(`/v1/table/a$t/${path}`, { headers })).json).toStrictEqual(described);
    }
    const answer = await post('/v1/table/a$t/describe?with_table_uri=true');
    expect(answer.json).toStrictEqual({ ...described, table_uri: pathToFileURL(location).href });
  });

  it('takes a location that is allowed, there or not, as a path or a file: URI', async () => {
    await mkdir(place('there'), { recursive: true });
    await symlink(place('there'), place('alias'));
    const given: readonly (readonly [string, string])[] = [
      [place('deep', 'down'), place('deep', 'down')],
      [pathToFileURL(place('with space')).href, place('with space')],
      [`${place('x')}/../up/`, place('up')],
      [place('alias'), place('there')],
      [join(engine.data, 'lance', 'mine'), join(engine.data, 'lance', 'mine')],
    ];
    for (const [index, [location, folder]] of given.entries()) {
      expect((await declare(`t${index}`, { location })).location).toBe(folder);
      expect((await stat(folder)).isDirectory()).toBe(true);
    }
  });

  it('is listed unless only tables with data are asked for', async () => {
    await declare('a$t');
    await post('/v1/table/u/create', { body: rows() });
    expect(await names()).toEqual({ tables: ['a$t', 'u'] });
    expect(await names('?include_declared=false')).toEqual({ tables: ['u'] });
    const listed = await ask(engine.backend, 'GET /v1/namespace/a/table/list');
    expect(listed.json).toEqual({ tables: ['t'] });
  });

  it('gives no credentials, and asks for the right to commit when they are asked for', async () => {
    const permit = new TestPermit();
    const body = { vend_credentials: true };
    const answer = await post('/v1/table/t/declare', { body, permit });
    expect(permit.required).toEqual(['CreateTableVersion /t']);
    expect(answer.json).not.toHaveProperty('storage_options');
    const plain = new TestPermit();
    await post('/v1/table/u/declare', { body: { vend_credentials: false }, permit: plain });
    expect(plain.required).toEqual([]);
  });

  it('vends to callers that may commit, or may read, once it is there', async () => {
    await declare('t');
    const described = (right: string) => {
      const rights = ['DescribeTable', right];
      const permit = new TestPermit({ holds: (action) => rights.includes(action) });
      return post('/v1/table/t/describe', { body: { vend_credentials: true }, permit });
    };
    for (const right of ['QueryTable', 'CreateTableVersion']) {
      expect((await described(right)).json).not.toHaveProperty('storage_options');
    }
    expect(await refusalOf(described('DescribeTable'))).toBe(
      '15 user:tester may not QueryTable on /t',
    );
  });

  it('lets one of many have a location, and the others take nothing from it', async () => {
    const location = place('one');
    const tries = await Promise.allSettled(
      [1, 2, 3, 4].map((number) => declare(`t${number}`, { location })),
    );
    expect(tries.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    expect(await readdir(location)).toEqual([]);
    expect(await names()).toMatchObject({ tables: [expect.stringMatching(/^t[1-4]$/)] });
  });

  it('gives one of many a name, and leaves no folder of the others', async () => {
    const tries = await Promise.allSettled([1, 2, 3, 4].map(() => declare('t')));
    expect(tries.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    expect(await readdir(join(engine.data, 'lance'))).toHaveLength(1);
  });

  it('frees its folder when it is deregistered, and leaves the files in it', async () => {
    const { location } = await declare('t', { location: place('t') });
    await writeFile(join(location, 'file'), '');
    const answer = await post('/v1/table/t/deregister');
    expect(answer.json).toEqual({ id: ['t'], location, properties: {} });
    expect(await readdir(location)).toEqual(['file']);
    await rm(join(location, 'file'));
    expect((await declare('u', { location })).location).toBe(location);
  });

  it('keeps its folder when it is dropped or renamed', async () => {
    const { location } = await declare('t', { location: place('t') });
    await post('/v1/table/t/rename', { body: { new_table_name: 'u', new_namespace_id: ['a'] } });
    expect((await post('/v1/table/a$u/describe')).json).toMatchObject({ table: 'u', location });
    const dropped = await post('/v1/table/a$u/drop');
    expect(dropped.json).toEqual({ id: ['a', 'u'], location, properties: {} });
    expect(dropped.commit).toMatchObject({ kind: 'drop', rowsRemoved: 0n });
    expect(await readdir(location)).toEqual([]);
    expect(await refusalOf(declare('v', { location }))).toBe(
      `13 the location ${JSON.stringify(location)} overlaps the location of another table`,
    );
    expect((await declare('a$u')).location).not.toBe(location);
  });
});

describe('CreateTable on a declared name', () => {
  it('is refused, and told where the table lies when it may exist', async () => {
    const { location } = await declare('t', { properties: { owner: 'ann' } });
    expect(await refusalOf(post('/v1/table/t/create', { body: rows() }))).toBe(
      '5 table /t already exists',
    );
    const there = await post('/v1/table/t/create?mode=exist_ok', { body: rows() });
    expect(there.json).toEqual({ location, properties: { owner: 'ann' } });
  });

  it('overwrites it with a table of the service, which keeps its properties', async () => {
    const { location } = await declare('t', { properties: { owner: 'ann' } });
    const answer = await post('/v1/table/t/create?mode=overwrite', { body: rows() });
    expect(answer.json).toEqual({ version: 1, properties: { owner: 'ann' } });
    expect(answer.commit).toMatchObject({ kind: 'overwrite', rowsAdded: 2n, rowsRemoved: 0n });
    const described = await post('/v1/table/t/describe');
    expect(described.json).toMatchObject({ version: 1, is_only_declared: false });
    expect(described.json).not.toHaveProperty('location');
    expect(await readdir(location)).toEqual([]);
  });
});

describe('DeclareTable refuses, and changes nothing:', () => {
  const outside = 'lies outside the folders where tables may be';
  const locations: readonly (readonly [string, () => string, string])[] = [
    ['a relative path', () => 'tables/t', 'is neither an absolute path nor a file: or s3: URI'],
    ['an empty path', () => '', 'is neither an absolute path nor a file: or s3: URI'],
    ['another scheme', () => 'gs://bucket/t', 'is neither an absolute path nor a file: or s3: URI'],
    ['another machine', () => 'file://host/t', 'is not a file: URI of this machine'],
    ['a place that is not allowed', () => join(engine.data, 'other'), outside],
    ['the allowed folder itself', () => place(), outside],
    ['the root of the disk', () => '/', outside],
    ['a way up and out', () => `${place('x')}/../../tables/t`, outside],
    ['a way out in a URI', () => `${pathToFileURL(place('x')).href}/%2e%2e/%2e%2e/t`, outside],
    ['a link that leads out', () => place('link', 't'), outside],
    ['the folders of the service', () => join(engine.data, 'tables', 't'), outside],
    ['a folder with something in it', () => place('full'), 'is not an empty folder'],
    ['a file', () => place('full', 'file'), 'is not a folder, or lies in something that is none'],
    ["another table's folder", () => place('taken'), 'overlaps the location of another table'],
    [
      "a folder in another table's",
      () => place('taken', 'inner'),
      'overlaps the location of another table',
    ],
  ];

  async function state(): Promise<unknown> {
    const tables = await ownFiles(engine.data);
    return { names: await names(), tables, taken: (await post('/v1/table/taken/describe')).json };
  }

  beforeEach(async () => {
    await mkdir(place('full'), { recursive: true });
    await writeFile(place('full', 'file'), '');
    await symlink(engine.data, place('link'));
    await declare('taken', { location: place('taken') });
  });

  it.each(locations)('%s', async (_, location, why) => {
    const before = await state();
    const given = location();
    expect(await refusalOf(declare('t', { location: given }))).toBe(
      `13 the location ${JSON.stringify(given)} ${why}`,
    );
    expect(await state()).toEqual(before);
  });

  it('a folder around another table', async () => {
    await declare('inner', { location: place('deep', 'inner') });
    await rm(place('deep'), { recursive: true });
    const before = await state();
    expect(await refusalOf(declare('t', { location: place('deep') }))).toBe(
      `13 the location ${JSON.stringify(place('deep'))} overlaps the location of another table`,
    );
    expect(await state()).toEqual(before);
  });

  const rest: readonly (readonly [string, string, object, string])[] = [
    ['a table that is there', 'taken', {}, '5 table /taken already exists'],
    ['a namespace of that name', 'a', {}, '2 the name /a is taken by a namespace'],
    ['a namespace that is not there', 'no$t', {}, '1 namespace /no does not exist'],
    ['a table for a namespace', 'taken$t', {}, '1 namespace /taken does not exist'],
    ['the root', '$', {}, '13 the root is not a table'],
    [
      'the reserved namespace',
      'system$t',
      {},
      '13 the namespace "system" is reserved: nothing is created in it',
    ],
    [
      'properties that are too many',
      't',
      { properties: { x: 'y'.repeat(65_536) } },
      '13 properties may have at most 65536 bytes, not 65537',
    ],
    [
      'properties that are no strings',
      't',
      { properties: { x: 1 } },
      '13 DeclareTableRequest: the field "properties.x" must be a string, not the number 1',
    ],
    [
      'a location that is no string',
      't',
      { location: 1 },
      '13 DeclareTableRequest: the field "location" must be a string, not the number 1',
    ],
  ];

  it.each(rest)('%s', async (_, id, body, sentence) => {
    const before = await state();
    expect(await refusalOf(post(`/v1/table/${id}/declare`, { body }))).toBe(sentence);
    expect(await state()).toEqual(before);
  });

  it('credentials for callers that may not commit', async () => {
    const before = await state();
    const permit = new TestPermit({ holds: () => false });
    const refused = post('/v1/table/t/declare', { body: { vend_credentials: true }, permit });
    expect(await refusalOf(refused)).toBe('15 user:tester may not CreateTableVersion on /t');
    expect(await state()).toEqual(before);
  });
});
