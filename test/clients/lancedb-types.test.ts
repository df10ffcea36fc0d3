import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type * as Arrow from 'apache-arrow';
import type { Connection } from '@lancedb/lancedb';
import { typeName } from '../../src/arrow/types.ts';
import { Service } from '../support/service.ts';
import { arrow, connectTo, plain, rowsOf, tableOf } from './lancedb.ts';

let service: Service;
let db: Connection;

beforeAll(async () => {
  service = await Service.start();
  db = await connectTo(service);
});

afterAll(() => service.stop());

const { Field, Struct, List, FixedSizeList, Dictionary, Utf8, Int8, Int32, Int64, Float32 } = arrow;
const { vectorFromArray, DataType } = arrow;

function field(name: string, type: Arrow.DataType, nullable = true): Arrow.Field {
  return new Field(name, type, nullable, new Map([['unit', `${name} of it`]]));
}

const person = new Struct([
  field('name', new Utf8(), false),
  field('tags', new List(field('item', new Utf8()))),
]);
const MIN = -(2n ** 63n);
const MAX = 2n ** 63n - 1n;

/** Each type with values at its ends, and one null. */
const scalars: readonly (readonly [Arrow.DataType, readonly unknown[]])[] = [
  [new arrow.Bool(), [true, false, null]],
  [new Int8(), [-128, 127, null]],
  [new arrow.Int16(), [-32768, 32767, null]],
  [new Int32(), [-2147483648, 2147483647, null]],
  [new Int64(), [MIN, MAX, null]],
  [new arrow.Uint8(), [0, 255, null]],
  [new arrow.Uint16(), [0, 65535, null]],
  [new arrow.Uint32(), [0, 4294967295, null]],
  [new arrow.Uint64(), [0n, 2n ** 64n - 1n, null]],
  [new arrow.Float16(), [0.5, -65504, null]],
  [new Float32(), [1.5, -3.4028234663852886e38, null]],
  [new arrow.Float64(), [0.1, Number.MAX_VALUE, Infinity, NaN, null]],
  [new Utf8(), ['', 'grüße 👋 表', 'a\u0000b', null]],
  [new arrow.LargeUtf8(), ['', 'grüße', null]],
  [new arrow.Binary(), [Uint8Array.of(), Uint8Array.of(0, 255), null]],
  [new arrow.LargeBinary(), [Uint8Array.of(), Uint8Array.of(0, 255), null]],
  [new arrow.FixedSizeBinary(2), [Uint8Array.of(1, 2), null]],
  [new arrow.DateDay(), [new Date('0001-01-01'), new Date('9999-12-31'), null]],
  [new arrow.DateMillisecond(), [new Date('0001-01-01'), new Date('9999-12-31'), null]],
  [new arrow.TimeSecond(), [0, 86399, null]],
  [new arrow.TimeMillisecond(), [0, 86399999, null]],
  [new arrow.TimeMicrosecond(), [0n, 86399999999n, null]],
  [new arrow.TimeNanosecond(), [0n, 86399999999999n, null]],
  [new arrow.DurationSecond(), [MIN, MAX, null]],
  [new arrow.DurationNanosecond(), [MIN, MAX, null]],
  [new arrow.Null(), [null, null]],
];

/** Timestamps are given as what is stored: a count of units. */
const timestamps: readonly Arrow.Timestamp[] = [
  new arrow.TimestampSecond(),
  new arrow.TimestampMillisecond(),
  new arrow.TimestampMicrosecond('UTC'),
  new arrow.TimestampNanosecond('America/New_York'),
  new arrow.TimestampMillisecond('+05:30'),
];

const nested: readonly (readonly [Arrow.DataType, readonly unknown[]])[] = [
  [new List(field('item', new Int64())), [[MIN, null, MAX], [], null]],
  [new List(field('item', new List(field('item', new Int8(), false)))), [[[1], []], null, [null]]],
  [new FixedSizeList(2, field('item', new Float32())), [[0.5, -1], null, [0, 1]]],
  [person, [{ name: 'Ann', tags: ['x', null] }, null, { name: '', tags: null }]],
  [new List(field('item', person)), [[{ name: 'Ann', tags: [] }, null], [], null]],
  [
    new Struct([field('inner', new Struct([field('n', new Int64())]))]),
    [{ inner: { n: MAX } }, null],
  ],
  [new Dictionary(new Utf8(), new Int8()), ['low', 'high', null, 'low']],
  [new Dictionary(new Utf8(), new Int32()), ['low', null, 'high', 'low']],
  [new Dictionary(new Int64(), new arrow.Uint16()), [MAX, MIN, null, MAX]],
];

describe('a column comes back as it went', () => {
  it.each(scalars.map(([type, values]) => [typeName(type), type, values] as const))(
    '%s',
    async (_, type, values) => {
      await roundTrip(vectorFromArray(values, type));
    },
  );

  it.each(nested.map(([type, values]) => [typeName(type), type, values] as const))(
    '%s',
    async (_, type, values) => {
      await roundTrip(vectorFromArray(values, type));
    },
  );

  it.each(timestamps.map((type) => [typeName(type), type] as const))('%s', async (_, type) => {
    const data = BigInt64Array.of(MIN, -1n, 0n, 1_700_000_000_000_000_001n, MAX);
    const parts = {
      type,
      length: data.length,
      nullCount: 1,
      nullBitmap: Uint8Array.of(0b11011),
      data,
    };
    await roundTrip(new arrow.Vector([arrow.makeData(parts)]));
  });

  it.each([
    [38, 10, 128],
    [76, 5, 256],
  ])('a decimal of %i digits', async (precision, scale, bits) => {
    const type = new arrow.Decimal(scale, precision, bits);
    const data = Uint32Array.from({ length: (2 * bits) / 32 }, (_, index) => index + 1);
    const parts = { type, length: 2, nullCount: 0, data };
    await roundTrip(new arrow.Vector([arrow.makeData(parts)]));
  });
});

/** Through createTable and back by a query of everything, and by one that finds nothing. */
async function roundTrip(vector: Arrow.Vector): Promise<void> {
  const sent = wrapped(vector);
  const table = await db.createTable('t', sent, { mode: 'overwrite' });
  const back = await table.toArrow();
  expect(back.schema.fields.map(described)).toEqual(sent.schema.fields.map(described));
  expect([...back.schema.metadata]).toEqual([...sent.schema.metadata]);
  expect(stored(back.getChild('c'))).toEqual(stored(vector));
  const none = await table.query().where('false').toArrow();
  expect(none.schema.fields.map(described)).toEqual(sent.schema.fields.map(described));
  await table.add(sent);
  const twice = (await table.toArrow()).getChild('c');
  expect(stored(twice)).toEqual([...stored(vector), ...stored(vector)]);
}

/** The column beside one that may not be null, in a schema with metadata at every level. */
function wrapped(vector: Arrow.Vector): Arrow.Table {
  const columns = [field('n', new Int32(), false), field('c', vector.type)];
  const schema = new arrow.Schema(columns, new Map([['source', 'a test']]));
  const { length } = vector;
  const counts = vectorFromArray(
    Array.from({ length }, (_, row) => row),
    new Int32(),
  );
  const children = [counts.data[0]!, vector.data[0]!];
  const data = arrow.makeData({ type: new Struct(schema.fields), length, children });
  return new arrow.Table(schema, new arrow.RecordBatch(schema, data));
}

/** All that a field says, those below it included. */
function described({ name, type, nullable, metadata }: Arrow.Field): unknown {
  const inner: Arrow.DataType = DataType.isDictionary(type) ? type.dictionary : type;
  const children = (inner.children ?? []) as readonly Arrow.Field[];
  const below = children.map(described);
  return { name, type: typeName(type), nullable, metadata: [...metadata], below };
}

/** The values as they are stored: `get` rounds 64-bit times to a double of milliseconds. */
function stored(vector: Arrow.Vector | null): readonly unknown[] {
  return (vector?.data ?? []).flatMap((data) => {
    const chunk = new arrow.Vector([data]);
    return Array.from({ length: data.length }, (_, row) =>
      chunk.isValid(row) ? storedAt(data, chunk, row) : null,
    );
  });
}

function storedAt(data: Arrow.Data, chunk: Arrow.Vector, row: number): unknown {
  if (!DataType.isTimestamp(data.type) && !DataType.isDecimal(data.type))
    return plain(chunk.get(row));
  const width = data.values.length / data.length;
  return Array.from(data.values.subarray(row * width, (row + 1) * width));
}

describe('schema()', () => {
  it('says what the table has, without a row', async () => {
    const columns = [
      {
        name: 'id',
        type: new Int64(),
        values: [],
        nullable: false,
        metadata: new Map([['key', 'yes']]),
      },
      { name: 'who', type: person, values: [] },
      { name: 'level', type: new Dictionary(new Utf8(), new Int32()), values: [] },
      {
        name: 'vector',
        type: new FixedSizeList(3, new Field('item', new Float32(), true)),
        values: [],
      },
      { name: 'seen', type: new arrow.TimestampMicrosecond('Europe/Berlin'), values: [] },
      { name: 'price', type: new arrow.Decimal(2, 20, 128), values: [] },
    ];
    const empty = tableOf(columns, new Map([['about', 'people']]));
    const table = await db.createEmptyTable('empty', empty.schema);
    const schema = await table.schema();
    expect(schema.fields.map(described)).toEqual(empty.schema.fields.map(described));
    expect([...schema.metadata]).toEqual([['about', 'people']]);
    expect(await rowsOf(table)).toEqual([]);
    const found = await table.toArrow();
    expect(found.schema.fields.map(described)).toEqual(empty.schema.fields.map(described));
  });
});
