import {
  type DataType,
  DenseUnion,
  Dictionary,
  Field,
  FixedSizeList,
  Float32,
  Int32,
  Int64,
  Int8,
  List,
  Schema,
  SparseUnion,
  Struct,
  TimestampMicrosecond,
  Utf8,
  vectorFromArray,
} from 'apache-arrow';
import { describe, expect, it } from 'vitest';
import { decodeSchema, encodeSchema } from '../../src/arrow/ipc/schema-encoding.ts';
import { mapType, schemaOf } from '../../src/arrow/nested-type.ts';
import { batchOf } from '../../src/arrow/select.ts';
import { checkSupported, conform, sameType, typeName } from '../../src/arrow/types.ts';
import { fixture, plainRows, plainSchema, readStream, refused } from './support.ts';

const field = (name: string, type: DataType, nullable = true): Field =>
  new Field(name, type, nullable);
const entries = (key: string, value: string): Field =>
  field('e', new Struct([field(key, new Utf8(), false), field(value, new Int32())]), false);

describe('type names', () => {
  const cases: readonly (readonly [DataType, string])[] = [
    [new TimestampMicrosecond('UTC'), 'timestamp[us, UTC]'],
    [new TimestampMicrosecond(), 'timestamp[us]'],
    [new FixedSizeList(4, field('item', new Float32())), 'fixed_size_list<float32>[4]'],
    [new Struct([field('a', new List(field('x', new Int8())))]), 'struct<a: list<int8>>'],
    [mapType(entries('k', 'v'), false), 'map<utf8, int32>'],
    [new DenseUnion([5], [field('f', new Utf8())]), 'dense_union<5=f: utf8>'],
    [new Dictionary(new Utf8(), new Int8()), 'dictionary<int8, utf8>'],
  ];

  it.each(cases)('%s', (type, name) => {
    expect(typeName(type)).toBe(name);
  });

  it('tell all types of the fixtures apart', async () => {
    const tables = await Promise.all(
      ['scalars', 'nested'].map((name) => readStream(fixture(name))),
    );
    const types = tables.flatMap(({ schema }) => schema.fields.map(({ type }) => type));
    for (const [index, type] of types.entries()) {
      for (const [other, against] of types.entries()) {
        expect(sameType(type, against)).toBe(index === other);
      }
    }
  });
});

describe('equal types', () => {
  const pairs: readonly (readonly [string, DataType, DataType, boolean])[] = [
    [
      'ids',
      new Dictionary(new Utf8(), new Int8(), 1),
      new Dictionary(new Utf8(), new Int8(), 2),
      true,
    ],
    [
      'order',
      new Dictionary(new Utf8(), new Int8(), 1, true),
      new Dictionary(new Utf8(), new Int8()),
      false,
    ],
    [
      'item names',
      new List(field('item', new Int8())),
      new List(field('x', new Int8(), false)),
      true,
    ],
    ['map names', mapType(entries('a', 'b'), false), mapType(entries('c', 'd'), false), true],
    ['map order', mapType(entries('a', 'b'), true), mapType(entries('a', 'b'), false), false],
    [
      'struct names',
      new Struct([field('a', new Int8())]),
      new Struct([field('b', new Int8())]),
      false,
    ],
    [
      'list sizes',
      new FixedSizeList(1, field('i', new Int8())),
      new FixedSizeList(2, field('i', new Int8())),
      false,
    ],
    [
      'union modes',
      new DenseUnion([0], [field('i', new Int8())]),
      new SparseUnion([0], [field('i', new Int8())]),
      false,
    ],
    [
      'union ids',
      new SparseUnion([1], [field('i', new Int8())]),
      new SparseUnion([0], [field('i', new Int8())]),
      false,
    ],
    ['zones', new TimestampMicrosecond('UTC'), new TimestampMicrosecond(), false],
    ['empty structs', new Struct([]), new Struct([]), true],
  ];

  it.each(pairs)('%s', (_, a, b, same) => {
    expect(sameType(a, b)).toBe(same);
    expect(sameType(b, a)).toBe(same);
  });
});

describe('supported schemas', () => {
  it('have one field of a name at each level', () => {
    const twice = [field('x', new Int8()), field('x', new Int8())];
    expect(refused(() => checkSupported(schemaOf(twice)))).toBe(
      'unsupported: The schema has two fields of the name "x".',
    );
    const nested = schemaOf([field('s', new List(field('item', new Struct(twice))))]);
    expect(refused(() => checkSupported(nested))).toBe(
      'unsupported: Column "s.item" has two fields of the name "x".',
    );
  });

  it('have dictionaries of at most 32-bit indices', () => {
    const type = new Dictionary<DataType>(new Utf8(), new Int64() as never);
    expect(refused(() => checkSupported(new Schema([field('d', type)])))).toBe(
      'unsupported: Column "d" has the type a dictionary with 64-bit indices, which is not supported.',
    );
  });

  it('have maps whose keys and entries are never null', () => {
    const pair = new Struct([field('k', new Utf8()), field('v', new Int8())]);
    const schema = schemaOf([field('m', mapType(field('entries', pair, false), false))]);
    expect(refused(() => decodeSchema(encodeSchema(schema)))).toBe(
      'corrupt: Column "m" is a map whose entries or keys may be null.',
    );
  });

  it('nest at most 64 levels', () => {
    const deep = (levels: number): Schema => {
      let type: DataType = new Int8();
      for (let level = 1; level < levels; level++) type = new List(field('i', type));
      return schemaOf([field('c', type)]);
    };
    expect(decodeSchema(encodeSchema(deep(64))).names).toEqual(['c']);
    expect(refused(() => decodeSchema(encodeSchema(deep(65))))).toMatch(
      /^limit: Column "c(\.i){64}" nests deeper than 64 levels\.$/,
    );
  });

  it('have at most 65,536 fields', () => {
    const many = Array.from({ length: 65_537 }, (_, index) => field(`c${index}`, new Int8()));
    expect(refused(() => decodeSchema(encodeSchema(schemaOf(many))))).toBe(
      'limit: The schema has more than 65536 fields.',
    );
  });
});

describe('conforming', () => {
  const schema = schemaOf([field('a', new Int32(), false), field('b', new Utf8())]);
  const a = vectorFromArray([1, 2], new Int32());
  const b = vectorFromArray(['x', 'y'], new Utf8());

  it('orders columns by the schema and fills missing ones with nulls', () => {
    const turned = batchOf(schemaOf([field('b', new Utf8()), field('a', new Int32())]), [b, a], 2);
    const result = conform(turned, schema);
    expect(result.schema).toBe(schema);
    expect(plainRows([result])).toEqual([
      ['1', '78'],
      ['2', '79'],
    ]);
    const alone = batchOf(schemaOf([field('a', new Int32())]), [a], 2);
    expect(plainRows([conform(alone, schema)])).toEqual([
      ['1', null],
      ['2', null],
    ]);
  });

  it('fills columns of every type with nulls', async () => {
    for (const name of ['scalars', 'nested']) {
      const table = await readStream(fixture(name));
      const fields = table.schema.fields.map(({ name: column, type }) => field(column, type));
      const target = schemaOf([field('a', new Int32()), ...fields]);
      const alone = batchOf(schemaOf([field('a', new Int32())]), [a], 2);
      const [row] = plainRows([conform(alone, target)]);
      const kept = row!.map((value) => (Array.isArray(value) ? value[1] : value));
      expect(kept).toEqual(['1', ...fields.map(() => null)]);
    }
  });

  it('takes instants whatever zone they are shown in, and none for times without a zone', () => {
    const listed = (zone: string | null) => new List(field('item', new TimestampMicrosecond(zone)));
    const target = schemaOf([field('t', listed('+05:30'))]);
    const sent = (zone: string | null) => {
      const column = vectorFromArray([[0, null], null], listed(zone));
      return batchOf(schemaOf([field('t', listed(zone))]), [column], 2);
    };
    const result = conform(sent('UTC'), target);
    expect(typeName(result.data.children[0]!.type)).toBe('list<timestamp[us, +05:30]>');
    expect(plainRows([result])).toEqual(plainRows([sent('UTC')]));
    expect(refused(() => conform(sent(null), target))).toBe(
      'mismatch: Column "t" has the type list<timestamp[us]>, the table has list<timestamp[us, +05:30]>.',
    );
  });

  it('refuses what the schema does not allow', () => {
    const of = (...fields: Field[]): Schema => schemaOf(fields);
    const cases: readonly (readonly [() => unknown, string])[] = [
      [
        () => conform(batchOf(of(field('b', new Utf8())), [b], 2), schema),
        'mismatch: Column "a" is missing and may not be null.',
      ],
      [
        () =>
          conform(batchOf(of(field('a', new Int32()), field('z', new Utf8())), [a, b], 2), schema),
        'mismatch: The table has no column "z".',
      ],
      [
        () => conform(batchOf(of(field('a', new Utf8())), [b], 2), schema),
        'mismatch: Column "a" has the type utf8, the table has int32.',
      ],
      [
        () =>
          conform(
            batchOf(of(field('a', new Int32())), [vectorFromArray([1, null], new Int32())], 2),
            schema,
          ),
        'mismatch: Column "a" is not nullable, but has nulls.',
      ],
    ];
    for (const [action, expected] of cases) expect(refused(action)).toBe(expected);
  });
});

describe('schemas as bytes', () => {
  it.each(['scalars', 'nested', 'lancedb-create'])('lead back to %s', async (name) => {
    const { schema } = await readStream(fixture(name));
    expect(plainSchema(decodeSchema(encodeSchema(schema)))).toEqual(plainSchema(schema));
  });

  it('are refused when they are something else', () => {
    expect(refused(() => decodeSchema(new Uint8Array(0)))).toBe(
      'corrupt: The bytes are not a schema message.',
    );
    expect(refused(() => decodeSchema(new Uint8Array(100)))).toBe(
      'corrupt: The bytes are not a schema message.',
    );
  });

  it('keep the names inside maps', () => {
    const schema = schemaOf([field('m', mapType(entries('keys', 'values'), false))]);
    const type = decodeSchema(encodeSchema(schema)).fields[0]!.type;
    const inner: Field = type.children[0];
    expect([inner.name, ...inner.type.children.map((child: Field) => child.name)]).toEqual([
      'e',
      'keys',
      'values',
    ]);
  });
});
