import type { Connection, Table } from '@lancedb/lancedb';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { arrow, lancedb, rowsOf, tableOf } from '../clients/lancedb.ts';
import { ADMIN_KEY, Service } from '../support/service.ts';
import { send, type Reply } from './http.ts';

/** Columns of Lance tables that the service changes, as a Lance client of the folder sees them. */

const RULES = `rules:
  - { name: fixed, tables: [/locked], require: { schema: locked } }
`;

let service: Service;
let writer: Connection;

beforeAll(async () => {
  service = await Service.start({ commits: RULES });
  const headers = { 'x-api-key': ADMIN_KEY };
  writer = await lancedb.connectNamespace('rest', { uri: service.url, headers });
});

afterAll(() => service.stop());

const { Field, Int32, Struct, Utf8 } = arrow;

async function made(name: string): Promise<Table> {
  const inner = new Struct([new Field('a', new Int32(), true), new Field('b', new Int32(), true)]);
  return writer.createTable(
    name,
    tableOf([
      { name: 'id', type: new Int32(), values: [1, 2, 300] },
      { name: 'word', type: new Utf8(), values: ['x', null, 'z'] },
      { name: 'inner', type: inner, values: [1, 2, 3].map((a) => ({ a, b: -a })) },
    ]),
  );
}

function ask(name: string, action: string, body: object): Promise<Reply> {
  return send(service.url, `POST /v1/table/${name}/${action}`, { body });
}

/** Columns and their types as a Lance client reads them. */
async function columnsOf(name: string): Promise<readonly (readonly [string, string, boolean])[]> {
  const { fields } = await (await writer.openTable(name)).schema();
  return fields.map((field) => [field.name, String(field.type), field.nullable]);
}

describe('columns of a Lance table', () => {
  it('are added, from expressions and of nulls', async () => {
    await made('added');
    const expressions = [
      { name: 'twice', expression: 'id * 2' },
      { name: 'upper', expression: 'upper(word)' },
    ];
    const computed = await ask('added', 'add_columns', { new_columns: expressions });
    expect(computed.json).toEqual({ version: 2 });
    const nulls = [
      { name: 'n', all_null: true, data_type: { type: 'int64' } },
      {
        name: 'place',
        all_null: true,
        data_type: {
          type: 'fixed_size_list',
          fields: [{ name: 'item', type: { type: 'float' }, nullable: true }],
          length: 2,
        },
      },
    ];
    expect((await ask('added', 'add_columns', { new_columns: nulls })).json).toEqual({
      version: 3,
    });
    const rows = await rowsOf((await writer.openTable('added')).query().where('id = 2'));
    expect(rows).toEqual([
      { id: 2, word: null, inner: { a: 2, b: -2 }, twice: 4, upper: null, n: null, place: null },
    ]);
  });

  it('are renamed, cast and made nullable or not', async () => {
    await made('altered');
    const alterations = [
      { path: 'id', rename: 'number', data_type: { type: 'int64' }, nullable: false },
      { path: 'inner.a', rename: 'first' },
    ];
    const reply = await ask('altered', 'alter_columns', { alterations });
    expect(reply.json).toEqual({ version: 2 });
    expect(await columnsOf('altered')).toEqual([
      ['number', 'Int64', false],
      ['word', 'Utf8', true],
      ['inner', 'Struct<{first:Int32, b:Int32}>', true],
    ]);
    const found = await send(service.url, 'POST /v1/table/altered/count_rows', {
      body: { predicate: 'number > 2' },
    });
    expect(found.text).toBe('1');
  });

  it('are dropped, whole and inside of others', async () => {
    await made('dropped');
    const reply = await ask('dropped', 'drop_columns', { columns: ['word', 'inner.b'] });
    expect(reply.json).toEqual({ version: 2 });
    expect((await columnsOf('dropped')).map(([name, type]) => [name, type])).toEqual([
      ['id', 'Int32'],
      ['inner', 'Struct<{a:Int32}>'],
    ]);
  });

  it('get metadata', async () => {
    await made('described');
    const first = { updates: [{ path: 'inner.a', metadata: { unit: 'm', gone: 'x' } }] };
    expect((await ask('described', 'update_field_metadata', first)).json).toEqual({
      version: 2,
      fields: { 'inner.a': { unit: 'm', gone: 'x' } },
    });
    const second = { updates: [{ path: 'inner.a', metadata: { gone: null, by: 'hand' } }] };
    expect((await ask('described', 'update_field_metadata', second)).json).toEqual({
      version: 3,
      fields: { 'inner.a': { unit: 'm', by: 'hand' } },
    });
  });

  it('change as one recorded commit', async () => {
    await made('audited');
    const headers = { 'x-request-id': 'drops-a-column' };
    const sent = { body: { columns: ['word'] }, headers };
    const first = await send(service.url, 'POST /v1/table/audited/drop_columns', sent);
    const again = await send(service.url, 'POST /v1/table/audited/drop_columns', sent);
    expect([first.json, again.json]).toEqual([{ version: 2 }, { version: 2 }]);
    const records = (await service.audit()).filter(
      (each) => each['request_id'] === 'drops-a-column' && each['phase'] === 'outcome',
    );
    expect(records[0]).toMatchObject({
      operation: 'AlterTableDropColumns',
      commit: { kind: 'drop_columns', version: 2, schema_changed: true, columns: ['word'] },
    });
  });
});

describe('a refused change of columns', () => {
  const refusals: readonly (readonly [string, object, number, number, RegExp])[] = [
    [
      'add_columns',
      { new_columns: [{ name: 'id', expression: 'id + 1' }] },
      400,
      20,
      /already exists|conflicts/,
    ],
    [
      'add_columns',
      { new_columns: [{ name: 'n', expression: 'nope + 1' }] },
      404,
      12,
      /No field named nope/,
    ],
    [
      'add_columns',
      { new_columns: [{ name: 'n', expression: '1 +' }] },
      400,
      13,
      /not valid: 1 \+/,
    ],
    [
      'add_columns',
      { new_columns: [{ name: 'n', computed: 'id' }] },
      406,
      0,
      /no computed columns/,
    ],
    [
      'add_columns',
      {
        new_columns: [
          { name: 'n', expression: '1' },
          { name: 'm', all_null: true, data_type: { type: 'int64' } },
        ],
      },
      406,
      0,
      /by a request of their own/,
    ],
    ['alter_columns', { alterations: [{ path: 'nope', rename: 'n' }] }, 404, 12, /nope/],
    [
      'alter_columns',
      { alterations: [{ path: 'word', rename: 'id' }] },
      400,
      20,
      /Duplicate field name/,
    ],
    ['alter_columns', { alterations: [{ path: 'word', nullable: false }] }, 400, 20, /NULL values/],
    [
      'alter_columns',
      { alterations: [{ path: 'word', data_type: { type: 'int64' } }] },
      400,
      20,
      /Cannot cast/,
    ],
    [
      'alter_columns',
      { alterations: [{ path: 'id', data_type: { type: 'int8' } }] },
      400,
      13,
      /300/,
    ],
    ['drop_columns', { columns: ['nope'] }, 404, 12, /nope/],
    ['drop_columns', { columns: ['id', 'word', 'inner'] }, 400, 13, /./],
    [
      'update_field_metadata',
      { updates: [{ path: 'nope', metadata: { a: 'b' } }] },
      404,
      12,
      /nope/,
    ],
    ['schema_metadata/update', { a: 'b' }, 406, 0, /library for Node sets no metadata/],
  ];

  beforeAll(() => made('kept'));

  it.each(refusals)('%s %j', async (action, body, status, code, sentence) => {
    const reply = await ask('kept', action, body);
    expect([reply.status, reply.json['code']]).toEqual([status, code]);
    expect(String(reply.json['error'])).toMatch(sentence);
    expect(String(reply.json['error'])).not.toMatch(/\.rs|Caused by|lance error/);
    expect((await ask('kept', 'describe', {})).json['version']).toBe(1);
  });

  it('by a commit rule changes nothing', async () => {
    await made('locked');
    const reply = await ask('locked', 'drop_columns', { columns: ['word'] });
    expect([reply.status, reply.json['code']]).toEqual([400, 20]);
    expect(String(reply.json['error'])).toContain('fixed');
    expect((await ask('locked', 'describe', {})).json['version']).toBe(1);
  });
});
