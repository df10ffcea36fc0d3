import {
  Bool,
  DataType,
  Decimal,
  Dictionary,
  Field,
  FixedSizeList,
  Float64,
  Int32,
  Int64,
  Int8,
  List,
  Struct,
  TimestampMicrosecond,
  TimestampNanosecond,
  Utf8,
  makeData,
  makeVector,
  vectorFromArray,
  type Vector,
} from 'apache-arrow';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { EngineTable, streamOf } from '../../../support/engine-table.ts';

let table: EngineTable;

const numbers = (...values: (bigint | null)[]) => vectorFromArray(values, new Int64());
const texts = (...values: (string | null)[]) => vectorFromArray(values, new Utf8());
const point = new Struct([new Field('x', new Int32(), true), new Field('y.z', new Utf8(), true)]);
const points = (...values: ({ x: number | null; 'y.z': string } | null)[]) =>
  vectorFromArray(values, point);

beforeEach(async () => {
  table = await EngineTable.open();
  await table.create(
    {
      n: numbers(1n, 2n, 300n),
      s: texts('a', null, 'c'),
      p: points({ x: 1, 'y.z': 'q' }, null, null),
    },
    {
      n: numbers(4n, 5n),
      s: texts('d', 'e'),
      p: points({ x: null, 'y.z': 'r' }, { x: 5, 'y.z': 't' }),
    },
  );
});

afterEach(async () => table.close());

const alter = (...alterations: object[]) => table.post('alter_columns', { alterations });

describe('a rename', () => {
  it('keeps the values, and what older versions call them', async () => {
    const answer = await table.send('alter_columns', {
      body: { alterations: [{ path: 'n', rename: 'number' }] },
    });
    expect(answer.json).toEqual({ version: 3 });
    expect(answer.commit).toMatchObject({
      kind: 'alter_columns',
      rowsAdded: 0n,
      schemaChanged: true,
    });
    expect(await table.column('number')).toEqual([1n, 2n, 300n, 4n, 5n]);
    expect(await table.column('n', { version: 2 })).toEqual([1n, 2n, 300n, 4n, 5n]);
    await table.send('insert', { body: streamOf({ number: numbers(6n) }) });
    expect(await table.column('number', { filter: 'number > 4' })).toEqual([300n, 5n, 6n]);
  });

  it('may swap two names', async () => {
    await alter({ path: 'n', rename: 's' }, { path: 's', rename: 'n' });
    expect(await table.column('s')).toEqual([1n, 2n, 300n, 4n, 5n]);
    expect(await table.column('n')).toEqual(['a', null, 'c', 'd', 'e']);
  });

  it('reaches fields inside, by paths with backticks', async () => {
    await alter({ path: 'p.`y.z`', rename: 'w' }, { path: 'p.x', nullable: true });
    expect(await table.column('p.w')).toEqual(['q', null, null, 'r', 't']);
    expect(await table.fields()).toMatchObject([
      {},
      {},
      { type: { fields: [{ name: 'x' }, { name: 'w' }] } },
    ]);
    expect(await table.column('p.`y.z`', { version: 2 })).toEqual(['q', null, null, 'r', 't']);
  });
});

describe('a change of nullability', () => {
  it('is checked where nulls are forbidden, and makes writers obey', async () => {
    await alter({ path: 'n', nullable: false });
    expect(await table.fields()).toMatchObject([
      { name: 'n', nullable: false },
      { nullable: true },
      {},
    ]);
    const refused = table.send('insert', { body: streamOf({ s: texts('x') }) });
    await expect(refused).rejects.toMatchObject({ row: { code: 20 } });
    await alter({ path: 'n', nullable: true });
    await table.send('insert', { body: streamOf({ s: texts('x') }) });
    expect(await table.column('n')).toEqual([1n, 2n, 300n, 4n, 5n, null]);
  });

  it('does not look at rows that are deleted, nor inside a struct that is null', async () => {
    await table.post('delete', { predicate: 's IS NULL' });
    await table.post('delete', { predicate: 'n = 4' });
    await alter({ path: 's', nullable: false }, { path: 'p.x', nullable: false });
    expect(await table.column('s')).toEqual(['a', 'c', 'e']);
    expect(await table.column('p.x')).toEqual([1, null, 5]);
  });
});

describe('a cast', () => {
  it('gives every live row the value in the new type, and leaves the older versions alone', async () => {
    await table.post('delete', { predicate: 'n = 300' });
    await alter({ path: 'n', data_type: { type: 'int8' } }, { path: 's', rename: 't' });
    expect(await table.rows({ columns: ['n', 't'], with_row_id: true })).toEqual([
      { n: 1, t: 'a', _rowid: 0n },
      { n: 2, t: null, _rowid: 1n },
      { n: 4, t: 'd', _rowid: 3n },
      { n: 5, t: 'e', _rowid: 4n },
    ]);
    expect(await table.column('n', { version: 2 })).toEqual([1n, 2n, 300n, 4n, 5n]);
    await table.send('insert', { body: streamOf({ n: vectorFromArray([7], new Int8()) }) });
    await alter({ path: 'n', data_type: { type: 'double' }, rename: 'f' });
    expect(await table.column('f')).toEqual([1, 2, 4, 5, 7]);
    expect(await table.files('fragments')).toHaveLength(15);
  });

  it('keeps whether a column may be null', async () => {
    await alter({ path: 'n', nullable: false });
    await table.post('delete', { predicate: 'n = 1' });
    await alter({ path: 'n', data_type: { type: 'string' } });
    expect(await table.fields()).toMatchObject([
      { nullable: false, type: { type: 'string' } },
      {},
      {},
    ]);
    expect(await table.column('n')).toEqual(['2', '300', '4', '5']);
  });

  const list = (type: DataType) => new List(new Field('item', type, true));
  const vector = (type: DataType) => new FixedSizeList(2, new Field('item', type, true));
  const listJson = (type: string, more: object = { type: 'list' }) => ({
    ...more,
    fields: [{ name: 'item', type: { type }, nullable: true }],
  });
  const casts: readonly (readonly [
    string,
    DataType,
    readonly unknown[],
    object | string,
    readonly unknown[],
  ])[] = [
    ['int8 to int64', new Int8(), [-1, null], 'int64', [-1n, null]],
    ['int64 to double', new Int64(), [2n ** 53n, null], 'float64', [2 ** 53, null]],
    [
      'double to float by rounding',
      new Float64(),
      [0.1, -0, null],
      'float',
      [Math.fround(0.1), -0, null],
    ],
    ['double to int32', new Float64(), [3, null], 'int32', [3, null]],
    ['int64 to bool', new Int64(), [0n, 1n], 'bool', [false, true]],
    ['bool to int32', new Bool(), [true, false, null], 'int32', [1, 0, null]],
    ['text to int32', new Utf8(), ['7', ' 8', null], 'int32', [7, 8, null]],
    ['int32 to text', new Int32(), [7, null], { type: 'large_string' }, ['7', null]],
    ['text to date', new Utf8(), ['1970-01-02'], 'date32', [86_400_000]],
    ['ns to us', new TimestampNanosecond(), [1000n], 'timestamp:us:-', [0.001]],
    ['us to ns', new TimestampMicrosecond(), [5n], 'timestamp:ns:UTC', [0.005]],
    [
      'a dictionary to text',
      new Dictionary(new Utf8(), new Int8()),
      ['x', 'y', null],
      'utf8',
      ['x', 'y', null],
    ],
    ['lists', list(new Int64()), [[1n, null], null, []], listJson('int8'), [[1, null], null, []]],
    [
      'vectors',
      vector(new Float64()),
      [[0.5, 1], null],
      listJson('float', { type: 'fixed_size_list', length: 2 }),
      [[0.5, 1], null],
    ],
  ];

  it.each(casts)('%s', async (_, type, values, target, expected) => {
    await table.post('drop');
    await table.create({ c: columnOf(values, type) });
    await alter({ path: 'c', data_type: typeOf(target) });
    expect((await table.column('c')).map(plain)).toEqual(expected);
  });

  const losses: readonly (readonly [
    string,
    DataType,
    readonly unknown[],
    string | object,
    string,
  ])[] = [
    [
      'an integer that is too large',
      new Int64(),
      [1n, 128n, 500n],
      'int8',
      'cannot become int8: the value 128 would be lost',
    ],
    [
      'an integer with more digits than a double',
      new Int64(),
      [2n ** 53n + 1n],
      'double',
      'cannot become float64: the value 9007199254740993 would be lost',
    ],
    [
      'a fraction',
      new Float64(),
      [1, 2.5],
      'int32',
      'cannot become int32: the value 2.5 would be lost',
    ],
    [
      'not a number',
      new Float64(),
      [1, Number.NaN],
      'int32',
      'cannot become int32: the value NaN would be lost',
    ],
    [
      'a double beyond floats',
      new Float64(),
      [1e300],
      'float',
      'cannot become float32: the value 1e300 would be lost',
    ],
    [
      'a text that is no number',
      new Utf8(),
      ['7', 'seven'],
      'int32',
      'cannot become int32: the value "seven" would be lost',
    ],
    [
      'nanoseconds',
      new TimestampNanosecond(),
      [1001n],
      'timestamp:us:-',
      'cannot become timestamp[us]: the value 1970-01-01T00:00:00.000001001 would be lost',
    ],
    [
      'digits of a decimal',
      new Decimal(2, 10, 128),
      [new Uint32Array([123, 0, 0, 0])],
      'decimal:128:10:1',
      'cannot become decimal128(10, 1): the value 1.23 would be lost',
    ],
    [
      'a whole number that is no truth',
      new Int64(),
      [0n, 2n],
      'bool',
      'cannot become bool: the value 2 would be lost',
    ],
    [
      'a value in a list',
      list(new Int64()),
      [[1n], [2n, 999n]],
      listJson('int8'),
      'cannot become list<int8>: the value 999 would be lost',
    ],
  ];

  it.each(losses)('refuses %s and changes nothing', async (_, type, values, target, sentence) => {
    await table.post('drop');
    await table.create({ c: vectorFromArray([], type) }, { c: columnOf(values, type) });
    const body = { alterations: [{ path: 'c', data_type: typeOf(target) }] };
    await table.refuses('alter_columns', body, 20, `the column "c" ${sentence}`);
  });

  it('reads rows again when another writer was first', async () => {
    const outcomes = await Promise.allSettled([
      alter({ path: 'n', data_type: { type: 'int32' } }),
      table.post('update', { updates: [['n', '6']], predicate: 'n = 300' }),
      alter({ path: 's', rename: 't' }),
      table.post('delete', { predicate: 'n = 1' }),
    ]);
    expect(outcomes.filter(({ status }) => status === 'rejected')).toEqual([]);
    const rows = await table.rows({ columns: ['n', 't'] });
    expect(rows.map(({ n, t }) => `${String(n)} ${String(t)}`).toSorted()).toEqual([
      '2 null',
      '4 d',
      '5 e',
      '6 c',
    ]);
  });
});

function typeOf(target: string | object): object {
  return typeof target === 'string' ? { type: target } : target;
}

/** The package takes timestamps in milliseconds, so their steps are put in place by hand. */
function columnOf(values: readonly unknown[], type: DataType): Vector {
  if (!DataType.isTimestamp(type)) return vectorFromArray([...values], type);
  const steps = BigInt64Array.from(values, (value) => (typeof value === 'bigint' ? value : 0n));
  return makeVector(makeData({ type, data: steps }));
}

function plain(value: unknown): unknown {
  if (value === null || typeof value !== 'object') return value;
  return Array.from(value as Iterable<unknown>);
}

describe('AlterTableAlterColumns', () => {
  it('casts a field inside a column, which keeps its nulls and its other fields', async () => {
    await alter(
      { path: 'p.x', rename: 'wide', data_type: { type: 'int64' } },
      { path: 'p', rename: 'q' },
    );
    expect(await table.column('q.wide')).toEqual([1n, null, null, null, 5n]);
    expect(await table.column('q.`y.z`')).toEqual(['q', null, null, 'r', 't']);
    expect(await table.column('p.x', { version: 2 })).toEqual([1, null, null, null, 5]);
  });

  it('is refused for a field inside a column that gets another type itself', async () => {
    const type = {
      type: 'struct',
      fields: [
        { name: 'x', type: { type: 'int64' }, nullable: true },
        { name: 'y.z', type: { type: 'string' }, nullable: true },
      ],
    };
    await alter({ path: 'p', data_type: type });
    expect(await table.column('p.x')).toEqual([1n, null, null, null, 5n]);
    await expect(
      alter(
        { path: 'p', data_type: { ...type, fields: type.fields.toReversed() } },
        { path: 'p.x', rename: 'a' },
      ),
    ).rejects.toThrow(
      'the column "p" gets another type and so does not keep the fields inside it that are altered',
    );
  });

  it('makes several changes in one version', async () => {
    await table.post('delete', { predicate: 'n = 2' });
    await alter(
      { path: 'n', rename: 'm', data_type: { type: 'int32' }, nullable: false },
      { path: 's', rename: 't', nullable: false },
      { path: 'p', nullable: true },
    );
    expect(await table.rows({ columns: ['m', 't'] })).toEqual([
      { m: 1, t: 'a' },
      { m: 300, t: 'c' },
      { m: 4, t: 'd' },
      { m: 5, t: 'e' },
    ]);
    expect(await table.post('describe')).toMatchObject({ version: 4 });
  });

  const one = (alteration: object) => ({ alterations: [alteration] });
  const refusals: readonly (readonly [string, object, number, string])[] = [
    ['no alteration', { alterations: [] }, 13, 'alterations must have at least one entry'],
    [
      'an entry that changes nothing',
      one({ path: 'n' }),
      13,
      'the alteration of "n" changes nothing: it has no rename, nullable or data_type',
    ],
    ['an unknown column', one({ path: 'zz', rename: 'y' }), 12, 'the table has no column "zz"'],
    ['an unknown field', one({ path: 'p.q', rename: 'y' }), 12, 'the table has no column "p.q"'],
    [
      'a path that cannot be read',
      one({ path: 'p..q', rename: 'y' }),
      12,
      'the table has no column "p..q"',
    ],
    [
      'a field of no struct',
      one({ path: 'n.x', rename: 'y' }),
      12,
      'the table has no column "n.x"',
    ],
    [
      'a name that is taken',
      one({ path: 'n', rename: 's' }),
      20,
      'the table would have two columns called "s"',
    ],
    [
      'a name that is taken inside',
      one({ path: 'p.x', rename: 'y.z' }),
      20,
      'Column "p" has two fields of the name "y.z".',
    ],
    [
      'a name with a dot',
      one({ path: 'n', rename: 'p.x' }),
      20,
      'the column name "p.x" has a dot: that is how a field inside of a column is named',
    ],
    [
      'a reserved name',
      one({ path: 'n', rename: '_distance' }),
      20,
      'the column name _distance is reserved for queries',
    ],
    [
      'a column twice',
      {
        alterations: [
          { path: 'n', rename: 'a' },
          { path: '`n`', rename: 'b' },
        ],
      },
      13,
      'the column "`n`" is altered twice',
    ],
    [
      'nulls that are there',
      one({ path: 's', nullable: false }),
      20,
      'the column "s" has 1 null, so it must stay nullable',
    ],
    [
      'nulls inside',
      one({ path: 'p.x', nullable: false }),
      20,
      'the column "p.x" has 1 null, so it must stay nullable',
    ],
    [
      'structs that are null',
      one({ path: 'p', nullable: false }),
      20,
      'the column "p" has 2 nulls, so it must stay nullable',
    ],
    [
      'a type that there is not',
      one({ path: 'n', data_type: { type: 'int7' } }),
      20,
      'alterations.n.data_type: The type "int7" is not known.',
    ],
    [
      'a type that is no type',
      one({ path: 'n', data_type: { length: 3 } }),
      13,
      'JsonArrowDataType: the field "type" is missing',
    ],
    [
      'a cast that means nothing',
      one({ path: 'n', data_type: listJsonOf('int32') }),
      20,
      'the column "n" of type int64 cannot become list<int32>',
    ],
    [
      'a cast of a struct',
      one({ path: 'p', data_type: { type: 'string' } }),
      20,
      'the column "p" of type struct<x: int32, y.z: utf8> cannot become utf8',
    ],
    [
      'a cast inside a struct that loses a value',
      one({ path: 'p.x', data_type: { type: 'bool' } }),
      20,
      'the column "p.x" cannot become bool: the value 5 would be lost',
    ],
    [
      'virtual columns',
      one({ path: 'n', virtual_column: { image: 'i' } }),
      0,
      'the column "n" cannot be virtual: this service cannot run the code that computes it',
    ],
    [
      'an unknown branch',
      { ...one({ path: 'n', rename: 'y' }), branch: 'b' },
      22,
      'the table has no branch "b"',
    ],
  ];

  it.each(refusals)('refuses %s and changes nothing', async (_, body, code, sentence) => {
    await table.refuses('alter_columns', body, code, sentence);
  });

  it('drops a cast that one of its columns makes impossible, the others too', async () => {
    const body = {
      alterations: [
        { path: 's', rename: 't' },
        { path: 'n', data_type: { type: 'int8' } },
      ],
    };
    await table.refuses(
      'alter_columns',
      body,
      20,
      'the column "n" cannot become int8: the value 300 would be lost',
    );
  });
});

describe('AlterTableDropColumns', () => {
  it('hides the values, which older versions still have', async () => {
    const answer = await table.send('drop_columns', { body: { columns: ['n', 'p'] } });
    expect(answer.json).toEqual({ version: 3 });
    expect(answer.commit).toMatchObject({
      kind: 'drop_columns',
      rowsRemoved: 0n,
      schemaChanged: true,
    });
    expect(await table.rows()).toEqual(['a', null, 'c', 'd', 'e'].map((s) => ({ s })));
    expect(await table.column('n', { version: 2 })).toEqual([1n, 2n, 300n, 4n, 5n]);
    await table.post('add_columns', {
      new_columns: [{ name: 'n', all_null: true, data_type: 'int64' }],
    });
    expect(await table.column('n')).toEqual([null, null, null, null, null]);
  });

  it('lets a file go that holds nothing any more, and keeps the first, which has the rows', async () => {
    await table.post('add_columns', { new_columns: [{ name: 'm', expression: 'n' }] });
    await table.post('drop_columns', { columns: ['n', 's', 'p'] });
    expect(await table.rows({ with_row_id: true })).toMatchObject([
      { m: 1n, _rowid: 0n },
      { m: 2n },
      { m: 300n },
      { m: 4n },
      { m: 5n, _rowid: 4n },
    ]);
    await table.post('add_columns', { new_columns: [{ name: 'k', expression: 'm + 1' }] });
    await table.post('drop_columns', { columns: ['m'] });
    expect(await table.column('k')).toEqual([2n, 3n, 301n, 5n, 6n]);
  });

  it('leaves a field inside a column out, also of one whose name has a dot', async () => {
    await table.post('drop_columns', { columns: ['p.`y.z`', 's'] });
    expect(
      await table.rows({ columns: ['n', 'x'].map((name) => (name === 'n' ? name : 'p.x')) }),
    ).toEqual([
      { n: 1n, 'p.x': 1 },
      { n: 2n, 'p.x': null },
      { n: 300n, 'p.x': null },
      { n: 4n, 'p.x': null },
      { n: 5n, 'p.x': 5 },
    ]);
    expect(await table.column('n', { filter: 'p is null' })).toEqual([2n, 300n]);
    await expect(table.column('p.`y.z`')).rejects.toThrow('the table has no column');
    expect(await table.column('p.`y.z`', { version: 2 })).toEqual(['q', null, null, 'r', 't']);
  });

  it('is refused for a field beside the column in which it lies', async () => {
    await expect(table.post('drop_columns', { columns: ['p.x', 'p'] })).rejects.toThrow(
      'columns names "p.x" beside "p", in which it lies',
    );
  });

  const refusals: readonly (readonly [string, object, number, string])[] = [
    ['no columns', { columns: [] }, 13, 'columns must name at least one column'],
    ['an unknown column', { columns: ['n', 'zz'] }, 12, 'the table has no column "zz"'],
    ['a column twice', { columns: ['n', 'n'] }, 13, 'columns names "n" twice'],
    ['all columns', { columns: ['p', 'n', 's'] }, 13, 'a table must keep at least one column'],
    [
      'all fields of a column',
      { columns: ['p.x', 'p.`y.z`'] },
      13,
      '"p.x" cannot be dropped: what holds it must keep at least one field',
    ],
    ['an unknown branch', { columns: ['n'], branch: 'b' }, 22, 'the table has no branch "b"'],
  ];

  it.each(refusals)('refuses %s and changes nothing', async (_, body, code, sentence) => {
    await table.refuses('drop_columns', body, code, sentence);
  });
});

function listJsonOf(type: string): object {
  return { type: 'list', fields: [{ name: 'item', type: { type }, nullable: true }] };
}
