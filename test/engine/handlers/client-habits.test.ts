import { Field, Int32, Int64, List, Schema, Utf8, vectorFromArray } from 'apache-arrow';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { StreamWriter } from '../../../src/arrow/ipc/stream-writer.ts';
import { refusalOf } from '../../support/engine-table.ts';
import { freshEngine, type TestEngine } from '../../support/engine.ts';
import { ask, type Sent } from '../../support/request.ts';
import { streamOf, TableClient } from '../../support/table-client.ts';

/** What real clients send, and what they are answered. */

const ARROW_STREAM = 'application/vnd.apache.arrow.stream';

let engine: TestEngine;
let table: TableClient;

const rows = (...ids: readonly bigint[]) =>
  streamOf({
    id: vectorFromArray(ids, new Int64()),
    s: vectorFromArray(ids.map(String), new Utf8()),
  });

beforeEach(async () => {
  engine = await freshEngine();
  table = new TableClient(engine);
  await table.send('create', { body: rows(1n, 2n) });
});

afterEach(async () => engine.close());

const post = (path: string, sent: Sent = {}) => ask(engine.backend, `POST /v1/${path}`, sent);
const ids = async () => (await table.rows()).map(({ id }) => id);

/** A stream of a schema without a batch. */
function schemaStream(...fields: readonly Field[]): Uint8Array {
  const writer = new StreamWriter(new Schema([...fields]));
  return Buffer.concat([writer.begin(), writer.end()]);
}

const arrow = (body: Uint8Array, type = ARROW_STREAM): Sent => ({
  body,
  headers: { 'content-type': type },
});

describe('a body', () => {
  it('with an empty id means the table of the route', async () => {
    const { json } = await table.send('count_rows', { body: { id: [] } });
    expect(json).toBe(2);
  });

  it('with a default gives way to the query', async () => {
    const body = { id: ['t'], with_table_uri: false, check_declared: false };
    const { json } = await table.send('describe?with_table_uri=true', { body });
    expect(json).toHaveProperty('table_uri');
  });

  it('with an empty object for a vector asks for none', async () => {
    const { body } = await table.send('query', { body: { id: ['t'], vector: {}, k: 10 } });
    expect(body).not.toBeNull();
    const plan = await table.send('explain_plan', { body: { query: { vector: {}, k: 10 } } });
    expect(plan.status).toBe(200);
  });
});

describe('an Arrow body', () => {
  it.each([undefined, ARROW_STREAM, `${ARROW_STREAM}; charset=x`, 'application/octet-stream'])(
    'of the type %s is taken',
    async (type) => {
      const sent = type === undefined ? { body: rows(3n) } : arrow(rows(3n), type);
      await table.send('insert', sent);
      expect(await ids()).toEqual([1n, 2n, 3n]);
    },
  );

  it.each(['create?mode=overwrite', 'insert', 'merge_insert?on=id'])(
    'of another type is refused by %s',
    async (action) => {
      const sent = table.send(action, arrow(rows(3n), 'application/json'));
      expect(await refusalOf(sent)).toBe(
        `13 the body must be an Arrow IPC stream: send it with the Content-Type ${ARROW_STREAM}, not application/json`,
      );
      expect(await ids()).toEqual([1n, 2n]);
    },
  );
});

describe('new columns as a schema', () => {
  it('are columns of nulls', async () => {
    const tags = new List(new Field('item', new Utf8(), true));
    const body = schemaStream(new Field('n', new Int32(), true), new Field('tags', tags, true));
    const { json } = await table.send('add_columns', arrow(body));
    expect(json).toMatchObject({ version: 2 });
    const { schema } = (await table.json('describe')) as unknown as { schema: object };
    expect(schema).toMatchObject({
      fields: [{}, {}, { name: 'n', type: { type: 'int32' } }, { name: 'tags' }],
    });
    expect((await table.rows())[0]).toMatchObject({ n: null, tags: null });
  });

  it.each([
    ['with rows', rows(1n), '13 the Arrow stream of new columns must have a schema and no rows'],
    ['of nothing', schemaStream(), '13 new_columns must have at least one column'],
    [
      'that are not nullable',
      schemaStream(new Field('n', new Int32(), false)),
      '20 the new column "n" must be nullable: its values are null',
    ],
    [
      'that are there',
      schemaStream(new Field('id', new Int32(), true)),
      '20 the table already has a column "id"',
    ],
    ['that are no stream', Buffer.from('{}'), /^13 /],
  ])('%s are refused', async (_, body, told) => {
    const refusal = await refusalOf(table.send('add_columns', arrow(body)));
    if (typeof told === 'string') expect(refusal).toBe(told);
    else expect(refusal).toMatch(told);
    expect(await table.version()).toBe(1);
  });
});

describe('a merge', () => {
  it('without a step updates what matches and inserts the others', async () => {
    const { json } = await table.send('merge_insert?on=id', { body: rows(2n, 3n) });
    expect(json).toMatchObject({ num_updated_rows: 1, num_inserted_rows: 1 });
    expect(await ids()).toEqual([1n, 2n, 3n]);
  });

  it('with one step does not do the others', async () => {
    const step = 'merge_insert?on=id&when_not_matched_insert_all=true';
    const { json } = await table.send(step, { body: rows(2n, 3n) });
    expect(json).toMatchObject({ num_updated_rows: 0, num_inserted_rows: 1 });
  });

  it('reads every row with use_index=false', async () => {
    const many = Array.from({ length: 100 }, (_, at) => BigInt(at + 10));
    await table.send('insert', { body: rows(...many) });
    await table.send('create_index', { body: { column: 'id', index_type: 'BTREE' } });
    for (const [flag, id] of [
      ['false', 55n],
      ['true', 56n],
    ] as const) {
      const step = `merge_insert?on=id&use_index=${flag}`;
      const { json } = await table.send(step, { body: rows(id) });
      expect(json).toMatchObject({ num_updated_rows: 1, num_inserted_rows: 0 });
    }
  });
});

describe('a clone', () => {
  it('of a bare name is of the table beside it', async () => {
    await post('table/u/clone', { body: { source_location: 't', is_shallow: true } });
    expect((await post('table/u/count_rows', { body: {} })).json).toBe(2);
  });

  it('of an identifier is of the table that it names', async () => {
    await post('namespace/a/create');
    await post('table/a$t/create', { body: rows(7n) });
    await post('table/u/clone', { body: { source_location: 'a$t' } });
    await post('table/a$u/clone', { body: { source_location: 't' } });
    expect((await post('table/u/count_rows', { body: {} })).json).toBe(1);
    expect((await post('table/a$u/count_rows', { body: {} })).json).toBe(1);
  });

  it('of a name that nothing has is refused', async () => {
    const sent = post('table/u/clone', { body: { source_location: 'none' } });
    expect(await refusalOf(sent)).toBe('4 table /none does not exist');
  });
});

describe('exist_ok', () => {
  const warning = 'it exists already with the properties in this answer; those given are ignored';
  const query = (properties: object) =>
    `mode=exist_ok&properties=${encodeURIComponent(JSON.stringify(properties))}`;

  it('says of a table that it has other properties', async () => {
    const other = await post(`table/t/create?${query({ owner: 'ann' })}`, { body: rows(1n) });
    expect(other.json).toEqual({ version: 1, properties: {}, warning });
    const same = await post(`table/t/create?${query({})}`, { body: rows(1n) });
    expect(same.json).toEqual({ version: 1, properties: {} });
  });

  it('says of a namespace that it has other properties', async () => {
    await post('namespace/n/create', { body: { properties: { owner: 'ann' } } });
    const body = { mode: 'exist_ok', properties: { owner: 'bob' } };
    const { json } = await post('namespace/n/create', { body });
    expect(json).toEqual({ properties: { owner: 'ann' }, warning });
    const silent = await post('namespace/n/create', { body: { mode: 'exist_ok' } });
    expect(silent.json).toEqual({ properties: { owner: 'ann' } });
  });
});

it('an index of the type FM is refused by its name', async () => {
  const sent = table.json('create_index', { column: 's', index_type: 'FM' });
  expect(await refusalOf(sent)).toBe(
    '0 an index of type FM is a feature of LanceDB inside a program, which this service does not have; there are BTREE, BITMAP, LABEL_LIST, FTS and those of vectors, such as IVF_PQ',
  );
});
