import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Table } from '@lancedb/lancedb';
import { Service } from '../support/service.ts';
import { send } from './http.ts';
import { arrow, connectTo, refusalOf, rowsOf, tableOf, valuesOf } from './lancedb.ts';

let service: Service;
let table: Table;

const { Int64, Utf8, Float64, Bool, DateDay, TimestampMicrosecond, Int32, List, Field } = arrow;
const LARGE = 2n ** 53n;

beforeAll(async () => {
  service = await Service.start();
  const db = await connectTo(service);
  table = await db.createTable('people', people());
});

afterAll(() => service.stop());

/** Six people in the order of their ids; `id` differs beyond what a double can tell apart. */
function people() {
  const names = ['Ann', 'Bob', 'Çelik', 'Dæg', '李', "O'Neil"];
  const born = ['1970-01-01', '1999-12-31', null, '1815-12-10', '2024-02-29', '2000-01-01'];
  const scores = [[1, 2], [], null, [3], [4, 5, 6], [7]];
  return tableOf([
    {
      name: 'id',
      type: new Int64(),
      values: [1n, 2n, LARGE, LARGE + 1n, LARGE + 2n, 2n ** 63n - 1n],
    },
    { name: 'name', type: new Utf8(), values: names },
    { name: 'age', type: new Int32(), values: [51, 21, null, 36, 0, 20] },
    { name: 'height', type: new Float64(), values: [1.6, 1.85, null, 1.7, 0.5, -0] },
    { name: 'here', type: new Bool(), values: [true, false, null, true, false, true] },
    { name: 'born', type: new DateDay(), values: born.map((day) => day && new Date(day)) },
    {
      name: 'seen',
      type: new TimestampMicrosecond('UTC'),
      values: [0, 1.5, null, 1e12, 1e12 + 1, 2e12].map((millis) => millis && millis),
    },
    { name: 'scores', type: new List(new Field('item', new Int32(), true)), values: scores },
  ]);
}

describe('where', () => {
  const predicates: readonly (readonly [string, string])[] = [
    ['id = 9007199254740992', 'Çelik'],
    ['id = 9007199254740993', 'Dæg'],
    ['id > 9007199254740992 AND id < 9007199254740994', 'Dæg'],
    ['id = 9223372036854775807', "O'Neil"],
    ['id IN (1, 9007199254740993)', 'Ann Dæg'],
    ['id BETWEEN 2 AND 9007199254740992', 'Bob Çelik'],
    ['id - 9007199254740992 = 1', 'Dæg'],
    ['id % 2 = 1', "Ann Dæg O'Neil"],
    ["name = '李'", '李'],
    ["name = 'O''Neil'", "O'Neil"],
    ["name LIKE '%e%'", "Çelik O'Neil"],
    ["name LIKE '_æ_'", 'Dæg'],
    ["name NOT LIKE '%n%'", "Bob Çelik Dæg 李 O'Neil"],
    ["lower(name) = 'çelik'", 'Çelik'],
    ["name > 'Bob' AND name < 'E'", 'Dæg'],
    ['age IS NULL', 'Çelik'],
    ['age IS NOT NULL AND age < 21', "李 O'Neil"],
    ['NOT (age > 20)', "李 O'Neil"],
    ['age = 20 OR age = 21', "Bob O'Neil"],
    ['here', "Ann Dæg O'Neil"],
    ['NOT here', 'Bob 李'],
    ['here IS NULL', 'Çelik'],
    ['here IS NOT TRUE', 'Bob Çelik 李'],
    ['height >= 1.7', 'Bob Dæg'],
    ['height = 0', "O'Neil"],
    ['height * 2 > 3.3', 'Bob Dæg'],
    ["born = date '2024-02-29'", '李'],
    ["born < date '1970-01-01'", 'Dæg'],
    ["born >= date '1999-12-31' AND born <= date '2000-01-01'", "Bob O'Neil"],
    ["seen > timestamp '2001-09-09T01:46:40Z'", "李 O'Neil"],
    ["seen = timestamp '1970-01-01 00:00:00'", 'Ann'],
    ['array_length(scores) > 1', 'Ann 李'],
    ['scores IS NULL', 'Çelik'],
    ['_rowid = 3', 'Dæg'],
    ['_rowid IN (0, 5)', "Ann O'Neil"],
    ['true', "Ann Bob Çelik Dæg 李 O'Neil"],
    ['false', ''],
    ['null', ''],
    ["case when age > 40 then 'old' else 'young' end = 'old'", 'Ann'],
    ["`name` = 'Ann'", 'Ann'],
  ];

  it.each(predicates)('keeps the rows of %s', async (predicate, names) => {
    const found = await valuesOf(table.query().where(predicate).select(['name']), 'name');
    expect(found.join(' ')).toBe(names);
    expect(await table.countRows(predicate)).toBe(found.length);
  });

  const refused: readonly (readonly [string, number, string])[] = [
    ['id ==== 1', 13, 'filter: expected an expression, found "==", at position 6'],
    ['id =', 13, 'filter: expected an expression, found the end of the text, at position 5'],
    ['(id = 1', 13, 'filter: expected ")", found the end of the text, at position 8'],
    ["id = 'x'", 13, 'int64 and string'],
    ['id + 1', 13, 'filter must be true or false of each row, not of type int64'],
    ['nope = 1', 12, 'found nope'],
    ['sqrt(id', 13, 'at position'],
    ['unheard_of(id) = 1', 13, 'unheard_of'],
    ['id = 1; DROP TABLE people', 13, 'at position 7'],
  ];

  it.each(refused)('refuses %s', async (predicate, code, words) => {
    const refusal = await refusalOf(table.query().where(predicate).toArray());
    expect(refusal).toMatchObject({ status: 400, code });
    expect(refusal.error).toContain(words);
  });

  it('refuses a text without an end, which newer clients do not send', async () => {
    const body = { vector: [], k: 1, filter: "name = 'x" };
    const { status, body: refusal } = await send(service, '/v1/table/people/query/', { body });
    expect(status).toBe(400);
    expect(refusal).toMatchObject({ code: 13, error: expect.stringContaining('at position 8') });
  });

  it('refuses a count by a predicate that makes no sense', async () => {
    expect(await refusalOf(table.countRows('id >'))).toMatchObject({
      status: 400,
      code: 13,
      error: 'predicate: expected an expression, found the end of the text, at position 5',
    });
  });
});

describe('select', () => {
  it('gives the columns in the order they are asked for', async () => {
    const found = await table.query().select(['age', 'name']).limit(1).toArrow();
    expect(found.schema.names).toEqual(['age', 'name']);
    expect(await rowsOf(table.query().select(['age', 'name']).limit(1))).toEqual([
      { age: 51, name: 'Ann' },
    ]);
  });

  it('computes columns under names of the caller', async () => {
    const query = table.query().where('id < 3');
    const found = query.select({ next: 'id + 1', shout: 'upper(name)', tall: 'height > 1.7' });
    expect(await rowsOf(found)).toEqual([
      { next: 2n, shout: 'ANN', tall: false },
      { next: 3n, shout: 'BOB', tall: true },
    ]);
  });

  it('computes with 64-bit integers exactly', async () => {
    const query = table
      .query()
      .where("name = 'Dæg'")
      .select({ before: 'id - 1', double: 'id * 2' });
    expect(await rowsOf(query)).toEqual([{ before: LARGE, double: 2n * LARGE + 2n }]);
  });

  it('refuses a number that does not fit', async () => {
    const query = table.query().where("name = 'O''Neil'").select({ more: 'id + 1' });
    expect(await refusalOf(query.toArray())).toMatchObject({ status: 400, code: 13 });
  });

  it('renames a column', async () => {
    const found = await rowsOf(table.query().where('id = 1').select({ who: 'name' }));
    expect(found).toEqual([{ who: 'Ann' }]);
  });

  it('refuses a column that is not there', async () => {
    expect(await refusalOf(table.query().select(['nope']).toArray())).toMatchObject({
      status: 400,
      code: 12,
      error: 'the table has no column "nope"',
    });
  });

  it('keeps the schema when nothing is found', async () => {
    const query = table.query().where('false').select({ id: 'id', tall: 'height > 1.7' });
    const found = await query.withRowId().toArrow();
    expect(found.numRows).toBe(0);
    expect(found.schema.fields.map(String)).toEqual(['id: Int64', 'tall: Bool', '_rowid: Uint64']);
  });
});

describe('limit and offset', () => {
  const ids = () => table.query().select(['_rowid']);

  it.each([
    [undefined, undefined, '0 1 2 3 4 5'],
    [2, undefined, '0 1'],
    [undefined, 4, '4 5'],
    [2, 1, '1 2'],
    [100, 5, '5'],
    [5, 6, ''],
    [5, 600, ''],
  ])('with limit %s and offset %s gives %s', async (limit, offset, expected) => {
    const query = ids();
    if (limit !== undefined) query.limit(limit);
    if (offset !== undefined) query.offset(offset);
    expect((await valuesOf(query, '_rowid')).join(' ')).toBe(expected);
  });

  it('counts from the rows that the filter keeps', async () => {
    const query = ids().where('here').offset(1).limit(1);
    expect(await valuesOf(query, '_rowid')).toEqual([3n]);
  });

  it('answers no row where none is asked for', async () => {
    expect(await table.query().limit(0).toArray()).toEqual([]);
  });
});

describe('withRowId', () => {
  it('adds a column of unsigned 64-bit integers behind the others', async () => {
    const found = await table.query().select(['name']).withRowId().toArrow();
    expect(found.schema.fields.map(String)).toEqual(['name: Utf8', '_rowid: Uint64']);
    expect(Array.from(found.getChild('_rowid')!)).toEqual([0n, 1n, 2n, 3n, 4n, 5n]);
  });

  it('finds the rows again', async () => {
    const [row] = await rowsOf(table.query().where("name = '李'").withRowId());
    const taken = table.takeRowIds([row!['_rowid'] as bigint]).select(['name']);
    expect(await rowsOf(taken)).toEqual([{ name: '李' }]);
    expect(await rowsOf(table.takeOffsets([5]).select(['name']))).toEqual([{ name: "O'Neil" }]);
  });
});

describe('orderBy', () => {
  it('sorts by several columns', async () => {
    const query = table.query().select(['name']);
    query.orderBy([{ columnName: 'here' }, { columnName: 'age', ascending: false }]);
    expect(await valuesOf(query.where('here IS NOT NULL'), 'name')).toEqual([
      'Bob',
      '李',
      'Ann',
      'Dæg',
      "O'Neil",
    ]);
  });

  it('puts nulls where it is told to', async () => {
    const order = (nullsFirst: boolean) =>
      table.query().select(['age']).orderBy({ columnName: 'age', nullsFirst });
    expect(await valuesOf(order(true), 'age')).toEqual([null, 0, 20, 21, 36, 51]);
    expect(await valuesOf(order(false), 'age')).toEqual([0, 20, 21, 36, 51, null]);
  });
});

describe('names of columns', () => {
  const type = new Int32();
  const values = [1, 2, 3];
  const inner = new arrow.Struct([new Field('name', new Utf8(), true)]);
  let odd: Table;

  beforeAll(async () => {
    const names = ['Two Words', 'größe', 'UP', 'select'];
    const people = [{ name: 'Ann' }, { name: null }, null];
    const rows = tableOf([
      ...names.map((name) => ({ name, type, values })),
      { name: 'who', type: inner, values: people },
    ]);
    odd = await (await connectTo(service)).createTable('odd', rows);
  });

  it.each(['Two Words', 'größe', 'UP', 'select'])('may be %s', async (name) => {
    const query = odd.query().where(`\`${name}\` = 2`);
    expect(await rowsOf(query.select([name]))).toEqual([{ [name]: 2 }]);
    const doubled = odd.query().select({ doubled: `2 * \`${name}\`` });
    expect(await valuesOf(doubled, 'doubled')).toEqual([2, 4, 6]);
  });

  it('lead into structs', async () => {
    const query = odd.query().where("who.name = 'Ann'");
    expect(await rowsOf(query.select(['who']))).toEqual([{ who: { name: 'Ann' } }]);
    const inside = odd.query().select({ name: 'who.name' });
    expect(await valuesOf(inside, 'name')).toEqual(['Ann', null, null]);
    expect(await odd.countRows('who.name IS NULL')).toBe(2);
  });
});

describe('many rows', () => {
  it('come in the order of the table, whole and in batches', async () => {
    const count = 50_000;
    const values = Array.from({ length: count }, (_, index) => index);
    const rows = tableOf([{ name: 'n', type: new Int32(), values }]);
    const many = await (await connectTo(service)).createTable('many', rows);
    await many.add(rows);
    const found = await many.toArrow();
    expect(Array.from(found.getChild('n')!)).toEqual([...values, ...values]);
    let seen = 0;
    for await (const batch of many.query().where('n >= 49990')) seen += batch.numRows;
    expect(seen).toBe(20);
  });
});

describe('countRows', () => {
  it('counts all rows, or those of a predicate', async () => {
    expect(await table.countRows()).toBe(6);
    expect(await table.countRows('id > 9007199254740992')).toBe(3);
  });
});

describe('explainPlan and analyzePlan', () => {
  it('tell the steps, what is skipped, and what each step did', async () => {
    const query = table.query().where('id < 3').select(['name']).limit(5);
    const steps = [
      'Project: name',
      '  Read: columns name',
      '    Window: offset 0, limit 5',
      '      Filter: id < 3',
      '        Scan: version 1, 1 of 1 files, 1 of 1 batches, 6 rows, columns id',
    ];
    expect(await query.explainPlan(false)).toBe(steps.join('\n'));
    expect(await query.explainPlan(true)).toContain('\n          - pruned by: id < 3\n');
    const analyzed = (await query.analyzePlan()).split('\n').filter((line) => line.includes('['));
    expect(analyzed.map((line) => line.slice(0, line.indexOf(' [')))).toEqual(steps);
    expect(analyzed[3]).toMatch(/\[6 rows in, 2 rows out, 1 batch, 0 bytes, [\d.]+ ms\]$/);
  });

  it('show that a file without a row to find is not read', async () => {
    const none = table.query().where('id < 0');
    expect(await none.explainPlan(false)).toContain('Filter: id < 0 (true of no row)');
    expect(await rowsOf(none)).toEqual([]);
  });
});
