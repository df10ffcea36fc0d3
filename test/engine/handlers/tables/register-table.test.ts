import { mkdir, readdir, rename, rm, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Int64, vectorFromArray } from 'apache-arrow';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { droppedKey } from '../../../../src/engine/catalog/records/keys.ts';
import { refusalOf, streamOf } from '../../../support/engine-table.ts';
import { freshEngine, type TestEngine } from '../../../support/engine.ts';
import { lanceTable } from '../../../support/lance-table.ts';
import { ownFiles } from '../../../support/own-files.ts';
import { TestPermit } from '../../../support/permit.ts';
import { ask, lancedb, type Sent } from '../../../support/request.ts';

let engine: TestEngine;

beforeEach(async () => {
  engine = await freshEngine();
  await post('/v1/namespace/a/create');
  await lanceTable(place('set'), 3);
});

afterEach(async () => engine.close());

function post(path: string, sent: Sent = {}) {
  return ask(engine.backend, `POST ${path}`, sent);
}

function register(id: string, body: object) {
  return post(`/v1/table/${id}/register`, { body });
}

function place(...names: readonly string[]): string {
  return join(engine.data, 'allowed', ...names);
}

const rows = () => streamOf({ n: vectorFromArray([1n, 2n], new Int64()) });

describe('RegisterTable', () => {
  it('names a table of Lance clients, which DescribeTable then places', async () => {
    const properties = { owner: 'ann' };
    const answer = await register('a$t', { location: place('set'), properties });
    expect(answer.json).toStrictEqual({ location: place('set'), properties });
    expect(answer).toMatchObject({
      mode: 'create',
      commit: { kind: 'register', version: null, rowsAdded: 0n },
    });
    const described = {
      table: 't',
      namespace: ['a'],
      properties,
      is_only_declared: false,
      version: 3,
      schema: { fields: [{ name: 'n', type: { type: 'int64' }, nullable: true }] },
      metadata: {},
      stats: { num_deleted_rows: 0, num_fragments: 3 },
      location: place('set'),
      managed_versioning: true,
    };
    expect((await post('/v1/table/a$t/describe')).json).toStrictEqual(described);
    const slash = await post('/v1/table/a$t/describe/', { headers: lancedb });
    expect(slash.json).toStrictEqual(described);
    const older = await post('/v1/table/a$t/describe?with_table_uri=true', {
      body: { version: 2 },
    });
    expect(older.json).toStrictEqual({
      ...described,
      version: 2,
      stats: { num_deleted_rows: 0, num_fragments: 2 },
      table_uri: pathToFileURL(place('set')).href,
    });
  });

  it('takes paths, file: URIs and links that stay inside, and answers where they lead', async () => {
    await lanceTable(place('with space'));
    await lanceTable(place('target'));
    await lanceTable(join(engine.data, 'lance', 'managed'));
    await symlink(place('target'), place('alias'));
    const given: readonly (readonly [string, string])[] = [
      [`${place('x')}/../set/`, place('set')],
      [pathToFileURL(place('with space')).href, place('with space')],
      [place('alias'), place('target')],
      [join(engine.data, 'lance', 'managed'), join(engine.data, 'lance', 'managed')],
    ];
    for (const [index, [location, folder]] of given.entries()) {
      expect((await register(`t${index}`, { location })).json).toMatchObject({ location: folder });
    }
  });

  it('knows the versions that lay in the folder, and others when it is registered again', async () => {
    await register('t', { location: place('set') });
    const exists = (version: number) => post('/v1/table/t/exists', { body: { version } });
    expect((await exists(1)).status).toBe(200);
    expect(await refusalOf(exists(4))).toBe('11 the table has no version 4');
    const described = post('/v1/table/t/describe', { body: { version: 4 } });
    expect(await refusalOf(described)).toBe('11 the table has no version 4');
    await lanceTable(place('set'), 4);
    expect(await refusalOf(exists(4))).toBe('11 the table has no version 4');
    await register('t', { location: place('set'), mode: 'overwrite' });
    expect((await exists(4)).status).toBe(200);
    expect((await post('/v1/table/t/describe')).json).toMatchObject({ version: 4 });
  });

  it('is undone by DeregisterTable, and done again', async () => {
    const files = (await readdir(place('set'), { recursive: true })).toSorted();
    await register('t', { location: place('set'), properties: { a: '1' } });
    const gone = await post('/v1/table/t/deregister');
    expect(gone.json).toEqual({ id: ['t'], location: place('set'), properties: { a: '1' } });
    expect((await readdir(place('set'), { recursive: true })).toSorted()).toEqual(files);
    expect(await refusalOf(post('/v1/table/t/describe'))).toBe('4 table /t does not exist');
    const again = await register('a$u', { location: place('set') });
    expect(again.json).toEqual({ location: place('set'), properties: {} });
  });

  it('shows the table where only tables with data are listed', async () => {
    await register('t', { location: place('set') });
    const listed = await ask(engine.backend, 'GET /v1/table?include_declared=false');
    expect(listed.json).toEqual({ tables: ['t'] });
  });

  it('lets one of many have a location', async () => {
    const tries = await Promise.allSettled(
      [1, 2, 3, 4].map((number) => register(`t${number}`, { location: place('set') })),
    );
    expect(tries.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
  });
});

describe('RegisterTable with overwrite', () => {
  const overwrite = (id: string, more: object, permit = new TestPermit()) =>
    post(`/v1/table/${id}/register`, { body: { mode: 'Overwrite', ...more }, permit });

  it('asks for the right to drop, even of a name that is free', async () => {
    const permit = new TestPermit();
    const answer = await overwrite('t', { location: place('set') }, permit);
    expect(permit.required).toEqual(['DropTable /t']);
    expect(answer.mode).toBe('overwrite');
    const none = new TestPermit({ holds: () => false });
    expect(await refusalOf(overwrite('t', { location: place('set') }, none))).toBe(
      '15 user:tester may not DropTable on /t',
    );
  });

  it.each(['engine', 'declared', 'lance'])('takes the name of another table: %s', async (kind) => {
    if (kind === 'engine') await post('/v1/table/t/create', { body: rows() });
    if (kind === 'declared') await post('/v1/table/t/declare');
    if (kind === 'lance') await register('t', { location: await lanceTable(place('other')) });
    const answer = await overwrite('t', { location: place('set'), properties: { b: '2' } });
    expect(answer.json).toEqual({ location: place('set'), properties: { b: '2' } });
    const described = (await post('/v1/table/t/describe')).json;
    expect(described).toMatchObject({ location: place('set'), version: 3 });
    const dropped = await engine.store.range({ start: 'D', end: 'E', limit: 10 });
    expect(dropped).toHaveLength(1);
  });

  it('leaves a table at its own location what it is, with the properties that are given', async () => {
    const location = place('mine');
    await post('/v1/table/t/declare', { body: { location, properties: { a: '1' } } });
    await lanceTable(location);
    expect((await overwrite('t', { location })).json).toEqual({
      location,
      properties: { a: '1' },
    });
    expect((await post('/v1/table/t/describe')).json).toMatchObject({
      is_only_declared: false,
      version: 1,
    });
    const answer = await overwrite('t', { location, properties: {} });
    expect(answer.json).toEqual({ location, properties: {} });
    const dropped = await engine.store.range({ start: droppedKey(''), end: 'E', limit: 10 });
    expect(dropped).toEqual([]);
    await post('/v1/table/t/deregister');
    expect((await register('u', { location })).status).toBe(200);
  });

  it('is refused at the location of another table, and changes nothing', async () => {
    await register('t', { location: place('set') });
    await post('/v1/table/u/create', { body: rows() });
    const before = (await post('/v1/table/u/describe')).json;
    expect(await refusalOf(overwrite('u', { location: place('set') }))).toBe(
      `13 the location ${JSON.stringify(place('set'))} overlaps the location of another table`,
    );
    expect((await post('/v1/table/u/describe')).json).toEqual(before);
  });
});

describe('RegisterTable refuses, and changes nothing:', () => {
  const outside = 'lies outside the folders where tables may be';
  const overlaps = 'overlaps the location of another table';
  const noManifest = 'holds no Lance table: there is no manifest in its folder _versions';
  const ours = 'holds no table of a Lance client: one that this service wrote cannot be registered';
  const locations: readonly (readonly [string, () => string, string])[] = [
    ['a relative path', () => 'set', 'is neither an absolute path nor a file: or s3: URI'],
    ['an empty path', () => '', 'is neither an absolute path nor a file: or s3: URI'],
    ['another scheme', () => 'gs://bucket/t', 'is neither an absolute path nor a file: or s3: URI'],
    ['another machine', () => 'file://host/t', 'is not a file: URI of this machine'],
    ['a control character', () => place('a\nb'), 'holds a control character'],
    ['a place that is not allowed', () => join(engine.data, 'other'), outside],
    ['the allowed folder itself', () => place(), outside],
    ['a way up and out', () => `${place('x')}/../../other`, outside],
    ['a link that leads out', () => place('link', 'other'), outside],
    ['a link to what is outside', () => place('straight'), outside],
    [
      'what is not there',
      () => place('none'),
      'does not exist: DeclareTable makes the place of a new table',
    ],
    ['an empty folder', () => place('empty'), noManifest],
    ['the folder around a table', () => place('around'), noManifest],
    ["a table's folder that is named", () => place('taken'), overlaps],
    ["a table in another's folder", () => place('taken', 'inner'), overlaps],
    ['a table of the service that left it', () => place('left'), ours],
    [
      'its manifest',
      () => place('set', '_versions', '18446744073709551614.manifest'),
      'is not a folder, or lies in something that is none',
    ],
  ];

  async function state(): Promise<unknown> {
    return {
      tables: (await ask(engine.backend, 'GET /v1/table')).json,
      files: await ownFiles(engine.data),
      taken: (await post('/v1/table/taken/describe')).json,
    };
  }

  beforeEach(async () => {
    await lanceTable(join(engine.data, 'other'));
    await symlink(engine.data, place('link'));
    await symlink(join(engine.data, 'other'), place('straight'));
    await mkdir(place('empty'));
    await lanceTable(place('around', 'inner'));
    await lanceTable(place('taken'));
    await lanceTable(place('taken', 'inner'));
    await register('taken', { location: place('taken') });
    const headers = { 'x-service-table-location': place('left') };
    await post('/v1/table/left/create', { body: rows(), headers });
    await post('/v1/table/left/deregister');
  });

  it.each(locations)('%s', async (_, location, why) => {
    const before = await state();
    const given = location();
    expect(await refusalOf(register('t', { location: given }))).toBe(
      `13 the location ${JSON.stringify(given)} ${why}`,
    );
    expect(await state()).toEqual(before);
  });

  it('the folder of a table of the service', async () => {
    await post('/v1/table/made/create', { body: rows() });
    const before = await state();
    for (const name of await readdir(join(engine.data, 'tables'))) {
      const location = join(engine.data, 'tables', name);
      expect(await refusalOf(register('t', { location }))).toBe(
        `13 the location ${JSON.stringify(location)} ${outside}`,
      );
    }
    expect(await state()).toEqual(before);
  });

  it('the folder around a table that is named', async () => {
    await register('inner', { location: place('around', 'inner') });
    await rename(place('set', '_versions'), place('around', '_versions'));
    const before = await state();
    expect(await refusalOf(register('t', { location: place('around') }))).toBe(
      `13 the location ${JSON.stringify(place('around'))} ${overlaps}`,
    );
    expect(await state()).toEqual(before);
  });

  const rest: readonly (readonly [string, string, object, string])[] = [
    ['a table that is there', 'taken', {}, '5 table /taken already exists'],
    ['a namespace of that name', 'a', {}, '2 the name /a is taken by a namespace'],
    ['a namespace that is not there', 'no$t', {}, '1 namespace /no does not exist'],
    [
      'the reserved namespace',
      'system$t',
      {},
      '13 the namespace "system" is reserved: nothing is created in it',
    ],
    [
      'a mode that it does not know',
      't',
      { mode: 'append' },
      '13 "append" is no mode of RegisterTable; it knows create, overwrite',
    ],
    [
      'properties that are too many',
      't',
      { properties: { x: 'y'.repeat(65_536) } },
      '13 properties may have at most 65536 bytes, not 65537',
    ],
    [
      'no location',
      't',
      { location: undefined },
      '13 RegisterTableRequest: the field "location" is missing',
    ],
  ];

  it.each(rest)('%s', async (_, id, body, sentence) => {
    const before = await state();
    expect(await refusalOf(register(id, { location: place('set'), ...body }))).toBe(sentence);
    expect(await state()).toEqual(before);
  });

  it('a folder that lost its manifests', async () => {
    await rm(place('set', '_versions'), { recursive: true });
    expect(await refusalOf(register('t', { location: place('set') }))).toBe(
      `13 the location ${JSON.stringify(place('set'))} ${noManifest}`,
    );
  });
});
