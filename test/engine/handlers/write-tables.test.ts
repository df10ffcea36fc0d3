import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { Int32, Int64, Table, Utf8, tableToIPC, vectorFromArray, type Vector } from 'apache-arrow';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { JsonValue } from '../../../src/protocol/json.ts';
import { freshEngine, type TestEngine } from '../../support/engine.ts';
import { TestPermit } from '../../support/permit.ts';
import { ask, lancedb, type Sent } from '../../support/request.ts';

let engine: TestEngine;

beforeEach(async () => {
  engine = await freshEngine();
});

afterEach(async () => engine.close());

const one = () => stream({ n: vectorFromArray([1n, 2n], new Int64()) });
const dotted = () => stream({ 's.k': vectorFromArray([1], new Int32()) });
const DOTTED = 'the column name "s.k" has a dot: that is how a field inside of a column is named';
const other = () => stream({ text: vectorFromArray(['a'], new Utf8()) });

describe('CreateTable', () => {
  it('makes a table from a stream, with properties from a header', async () => {
    const created = await send('create', {
      body: one(),
      headers: { 'x-service-table-properties': '{"owner":"me"}' },
    });
    expect(created.json).toEqual({ version: 1, properties: { owner: 'me' } });
    expect(created.commit).toMatchObject({ kind: 'create', version: 1n, rowsAdded: 2n });
    expect(await count()).toBe(2);
  });

  it('reads properties that were sent as UTF-8', async () => {
    const sent = Buffer.from('{"owner":"Zo\u00eb \u4e16"}').toString('latin1');
    const created = await send('create', {
      body: one(),
      headers: { 'x-service-table-properties': sent },
    });
    expect(created.json).toMatchObject({ properties: { owner: 'Zo\u00eb \u4e16' } });
  });

  it('makes an empty table from a stream without rows', async () => {
    await send('create', { body: stream({ n: vectorFromArray([], new Int64()) }) });
    expect(await count()).toBe(0);
    expect(await describeTable()).toMatchObject({
      version: 1,
      schema: { fields: [{ name: 'n' }] },
    });
  });

  it('refuses a name with a dot, in a new table and in one that is overwritten', async () => {
    await refuses(send('create', { body: dotted() }), 20, DOTTED);
    await refuses(describeTable(), 4, 'table /t does not exist');
    await send('create', { body: one() });
    await refuses(send('create?mode=overwrite', { body: dotted() }), 20, DOTTED);
    await unchanged();
  });

  it('answers the table that is there to exist_ok, and reads no body', async () => {
    await send('create', { body: one() });
    const answer = await send('create?mode=exist_ok', { body: 'not arrow at all' });
    expect(answer.json).toMatchObject({ version: 1 });
    expect(await count()).toBe(2);
  });

  it('makes the next version when it overwrites, in the new schema', async () => {
    await send('create', { body: one() });
    const answer = await send('create?mode=overwrite', { body: other() });
    expect(answer.json).toMatchObject({ version: 2 });
    expect(answer.commit).toMatchObject({ rowsAdded: 1n, rowsRemoved: 2n, schemaChanged: true });
    expect(await describeTable()).toMatchObject({ schema: { fields: [{ name: 'text' }] } });
    expect(await count({ version: 1 })).toBe(2);
  });

  it('puts a table at a location that is allowed, and no other table in it', async () => {
    const location = join(engine.data, 'lance', 'mine');
    await send('create', { body: one(), headers: { 'x-service-table-location': location } });
    expect(await readdir(join(location, 'data'))).toHaveLength(1);
    const inside = { 'x-lance-table-location': join(location, 'versions', 'more') };
    const refused = ask(engine.backend, 'POST /v1/table/inner/create', {
      body: one(),
      headers: inside,
    });
    const overlap = `the location ${JSON.stringify(join(location, 'versions', 'more'))} overlaps the location of another table`;
    await refuses(refused, 13, overlap);
    expect(await count()).toBe(2);
  });

  it('lets one of many tables have a location, and the others take nothing from it', async () => {
    const location = join(engine.data, 'lance', 'deep', 'down', 'mine');
    const creating = Array.from({ length: 6 }, (_, index) =>
      ask(engine.backend, `POST /v1/table/t${index}/create`, {
        body: one(),
        headers: { 'x-service-table-location': location },
      }).then(
        () => index,
        () => undefined,
      ),
    );
    const made = (await Promise.all(creating)).filter((index) => index !== undefined);
    expect(made).toHaveLength(1);
    const counted = await ask(engine.backend, `POST /v1/table/t${made[0]}/count_rows`);
    expect(counted.json).toBe(2);
    const rows = await ask(engine.backend, `POST /v1/table/t${made[0]}/query`, { body: { k: 5 } });
    expect(rows.status).toBe(200);
    expect(await readdir(join(location, 'data'))).toHaveLength(1);
    expect(await readdir(join(location, 'versions'))).toHaveLength(1);
  });

  const refusals: readonly (readonly [string, string, () => Sent, number, string])[] = [
    ['a table that exists', 'create', () => ({ body: one() }), 5, 'table /t already exists'],
    [
      'an unknown mode',
      'create?mode=append',
      () => ({ body: one() }),
      13,
      '"append" is no mode of CreateTable; it knows create, exist_ok, overwrite',
    ],
    ['no body', 'create?mode=overwrite', () => ({}), 13, 'The stream is empty: it has no schema.'],
    ['no stream', 'create?mode=overwrite', () => ({ body: 'hello, this is text' }), 13, ''],
    [
      'a truncated stream',
      'create?mode=overwrite',
      () => ({ body: one().subarray(0, -40) }),
      13,
      '',
    ],
    [
      'a body that is too long',
      'create?mode=overwrite',
      () => ({ body: long() }),
      13,
      'the body is longer than 1048576 bytes',
    ],
    [
      'a reserved column',
      'create?mode=overwrite',
      () => ({ body: stream({ _rowid: vectorFromArray([1n], new Int64()) }) }),
      20,
      'the column name _rowid is reserved for queries',
    ],
    [
      'properties that are no map',
      'create?mode=overwrite',
      () => ({ body: one(), headers: { 'x-service-table-properties': '[1]' } }),
      13,
      'properties must be a JSON object of strings',
    ],
    [
      'properties that differ',
      'create?mode=overwrite',
      () => ({
        body: one(),
        headers: {
          'x-service-table-properties': '{"a":"1"}',
          'x-lance-table-properties': '{"a":"2"}',
        },
      }),
      13,
      "the table's properties are given twice and differ",
    ],
    [
      'another location',
      'create?mode=overwrite',
      () => ({ body: one(), headers: { 'x-service-table-location': '/elsewhere' } }),
      13,
      'a table that is overwritten keeps its location',
    ],
  ];

  it.each(refusals)('refuses %s and changes nothing', async (_, action, sent, code, sentence) => {
    await send('create', { body: one() });
    await refuses(send(action, sent()), code, sentence);
    await unchanged();
  });

  it('leaves nothing of a table whose stream is corrupt', async () => {
    await refuses(send('create', { body: one().subarray(0, -40) }), 13, '');
    expect(await readdir(join(engine.data, 'tables'))).toEqual([]);
    await refuses(ask(engine.backend, 'POST /v1/table/t/describe'), 4, 'table /t does not exist');
  });

  it('refuses a parent that does not exist, and names that nothing may have', async () => {
    const create = (id: string, query = '') =>
      ask(engine.backend, `POST /v1/table/${id}/create${query}`, { body: one() });
    await refuses(create('a$b'), 1, 'namespace /a does not exist');
    await refuses(
      create('system$mine'),
      13,
      'the namespace "system" is reserved: nothing is created in it',
    );
    await refuses(
      create('a%24b', '?delimiter=.'),
      13,
      'the name "a$b" holds "$", which separates names',
    );
    await refuses(create('$'), 13, 'the root is not a table');
  });

  it('says "already exists" to the LanceDB client', async () => {
    await send('create', { body: one() });
    await refuses(send('create', { body: one(), headers: lancedb }), 5, 'table /t already exists');
  });
});

describe('InsertIntoTable', () => {
  beforeEach(async () => {
    await send('create', { body: one() });
  });

  it('appends, and says how many rows and which version', async () => {
    const answer = await send('insert', {
      body: stream({ n: vectorFromArray([2n ** 62n], new Int64()) }),
    });
    expect(answer.json).toEqual({ version: 2, num_inserted_rows: 1 });
    expect(answer.commit).toMatchObject({
      kind: 'append',
      baseVersion: 1n,
      rowsAdded: 1n,
      schemaChanged: false,
    });
    expect(await count()).toBe(3);
  });

  it('puts rows in the place of the others when it overwrites', async () => {
    const answer = await send('insert?mode=overwrite', {
      body: stream({ n: vectorFromArray([7n], new Int64()) }),
    });
    expect(answer.commit).toMatchObject({ kind: 'overwrite', rowsAdded: 1n, rowsRemoved: 2n });
    expect(await count()).toBe(1);
  });

  it('takes the schema of other rows when it overwrites, and asks for the right to', async () => {
    const permit = new TestPermit();
    const body = stream({
      n: vectorFromArray(['a'], new Utf8()),
      m: vectorFromArray([1], new Int32()),
    });
    const answer = await send('insert?mode=overwrite', { body, permit });
    expect(answer.commit).toMatchObject({ rowsAdded: 1n, rowsRemoved: 2n, schemaChanged: true });
    expect(permit.required).toContain('schema /t@main');
    expect(await describeTable()).toMatchObject({
      version: 2,
      schema: { fields: [{ name: 'n', type: { type: 'utf8' } }, { name: 'm' }] },
    });
    // The columns are others, though one has the name of one that was there.
    await send('insert', { body });
    expect(await count({ predicate: "n = 'a'" })).toBe(2);
    expect(await count({ predicate: 'n < 2', version: 1 })).toBe(1);
  });

  it('drops the columns that an overwrite does not send', async () => {
    const both = { n: vectorFromArray([1n], new Int64()), m: vectorFromArray([1], new Int32()) };
    await send('insert?mode=overwrite', { body: stream(both) });
    await send('insert?mode=overwrite', { body: stream({ m: both.m }) });
    expect(await describeTable()).toMatchObject({ schema: { fields: [{ name: 'm' }] } });
  });

  it('asks for no right to change schemas when rows have the columns of the table', async () => {
    const permit = new TestPermit({ holds: (action) => action !== 'schema' });
    const body = stream({ n: vectorFromArray([9n], new Int64()) });
    expect((await send('insert?mode=overwrite', { body, permit })).commit).toMatchObject({
      schemaChanged: false,
    });
    await refuses(
      send('insert?mode=overwrite', { body: other(), permit }),
      15,
      'user:tester may not schema on /t',
    );
    expect(await describeTable()).toMatchObject({
      version: 2,
      schema: { fields: [{ name: 'n' }] },
    });
  });

  it('takes every one of many concurrent appends', async () => {
    const answers = await Promise.all(
      Array.from({ length: 16 }, () => send('insert', { body: one() })),
    );
    expect(new Set(answers.map(({ json }) => JSON.stringify(json))).size).toBe(16);
    expect(await count()).toBe(34);
  });

  const refusals: readonly (readonly [string, string, () => Sent, number, string])[] = [
    [
      'an unknown mode',
      'insert?mode=create',
      () => ({ body: one() }),
      13,
      '"create" is no mode of InsertIntoTable; it knows append, overwrite',
    ],
    [
      'an unknown branch',
      'insert?branch=b',
      () => ({ body: one() }),
      22,
      'the table has no branch "b"',
    ],
    [
      'a column of another type',
      'insert',
      () => ({ body: stream({ n: vectorFromArray([1], new Int32()) }) }),
      20,
      '',
    ],
    [
      'a column that is not there',
      'insert',
      () => ({
        body: stream({
          n: vectorFromArray([1n], new Int64()),
          m: vectorFromArray([1], new Int32()),
        }),
      }),
      20,
      '',
    ],
    [
      'an overwrite with a name with a dot',
      'insert?mode=overwrite',
      () => ({ body: dotted() }),
      20,
      DOTTED,
    ],
    ['a truncated stream', 'insert', () => ({ body: one().subarray(0, -40) }), 13, ''],
    ['no body', 'insert', () => ({}), 13, 'The stream is empty: it has no schema.'],
  ];

  it.each(refusals)('refuses %s and changes nothing', async (_, action, sent, code, sentence) => {
    await refuses(send(action, sent()), code, sentence);
    await unchanged();
  });

  it('refuses a table that does not exist', async () => {
    await refuses(
      ask(engine.backend, 'POST /v1/table/no/insert', { body: one() }),
      4,
      'table /no does not exist',
    );
  });
});

function stream(columns: Readonly<Record<string, Vector>>): Uint8Array {
  return tableToIPC(new Table(columns), 'stream');
}

function long(): Uint8Array {
  return stream({
    n: vectorFromArray(
      Array.from({ length: 200_000 }, () => 0n),
      new Int64(),
    ),
  });
}

async function send(action: string, sent: Sent = {}) {
  return ask(engine.backend, `POST /v1/table/t/${action}`, sent);
}

async function count(body: object = {}): Promise<JsonValue> {
  return (await send('count_rows', { body })).json;
}

async function describeTable(): Promise<JsonValue> {
  return (await send('describe')).json;
}

/** An empty sentence stands for one that another layer's tests pin down. */
async function refuses(refused: Promise<unknown>, code: number, sentence: string): Promise<void> {
  const error = await refused.catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ row: { code } });
  if (sentence !== '') expect(error).toMatchObject({ message: sentence });
}

async function unchanged(): Promise<void> {
  expect(await describeTable()).toMatchObject({ version: 1, schema: { fields: [{ name: 'n' }] } });
  expect(await count()).toBe(2);
  const [folder] = await readdir(join(engine.data, 'tables'));
  expect(await readdir(join(engine.data, 'tables', folder!, 'data'))).toHaveLength(1);
  expect(await readdir(join(engine.data, 'tables', folder!, 'versions'))).toHaveLength(1);
}
