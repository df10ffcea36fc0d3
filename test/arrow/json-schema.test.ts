import {
  DateDay,
  DateMillisecond,
  Decimal,
  type DataType,
  Dictionary,
  DurationMicrosecond,
  Field,
  Float16,
  Int32,
  Int8,
  Timestamp,
  TimestampMicrosecond,
  TimeUnit,
  Utf8,
} from 'apache-arrow';
import { describe, expect, it } from 'vitest';
import { schemaToJson, typeToJson } from '../../src/arrow/json-schema.ts';
import { typeFromJson } from '../../src/arrow/json-type.ts';
import { schemaOf } from '../../src/arrow/nested-type.ts';
import { typeName } from '../../src/arrow/types.ts';
import { fixture, readStream, refused } from './support.ts';

describe('schemas in JSON', () => {
  it('name every type in both vocabularies', async () => {
    for (const name of ['scalars', 'nested']) {
      const { schema } = await readStream(fixture(name));
      for (const vocabulary of ['lance', 'namespace'] as const) {
        const { fields } = schemaToJson(schema, vocabulary);
        const types = Object.fromEntries(fields.map((field) => [field.name, field.type]));
        expect(types).toMatchSnapshot(`${name} ${vocabulary}`);
        expect(fields.map((field) => field.name)).toEqual(schema.names);
      }
    }
  });

  it('carry nullability and metadata', () => {
    const field = new Field('a', new Int32(), false, new Map([['k', 'v']]));
    const schema = schemaOf([field, new Field('b', new Utf8(), true)], new Map([['key', 'value']]));
    expect(schemaToJson(schema, 'lance')).toEqual({
      fields: [
        { name: 'a', type: { type: 'int32' }, nullable: false, metadata: { k: 'v' } },
        { name: 'b', type: { type: 'string' }, nullable: true },
      ],
      metadata: { key: 'value' },
    });
  });

  const named: readonly (readonly [DataType, string, string])[] = [
    [new Float16(), 'halffloat', 'float16'],
    [new Utf8(), 'string', 'utf8'],
    [new DateDay(), 'date32:day', 'date32'],
    [new DateMillisecond(), 'date64:ms', 'date64'],
    [new DurationMicrosecond(), 'duration:us', 'duration'],
    [new TimestampMicrosecond(), 'timestamp:us:-', 'timestamp'],
    [new TimestampMicrosecond('UTC'), 'timestamp:us:UTC', 'timestamp'],
    [new Timestamp(TimeUnit.NANOSECOND, '+01:00'), 'timestamp:ns:UTC', 'timestamp'],
    [new Decimal(2, 10, 128), 'decimal:128:10:2', 'decimal128'],
    [new Decimal(2, 10, 256), 'decimal:256:10:2', 'decimal256'],
    [new Dictionary(new Utf8(), new Int8()), 'dict:string:int8:false', 'utf8'],
    [new Dictionary(new DateDay(), new Int8()), 'date32:day', 'date32'],
  ];

  it.each(named)('%s is %s and %s', (type, lance, namespace) => {
    expect(typeToJson(type, 'lance').type).toBe(lance);
    expect(typeToJson(type, 'namespace').type).toBe(namespace);
  });

  it('of Lance types lead back to the same types', async () => {
    const lossy = new Set(['mdn', 'dec32', 'dec64', 'ts_off', 'utf8_view', 'binary_view', 'map']);
    for (const extra of ['sparse', 'dense', 'dict_u16_list', 'dict8']) lossy.add(extra);
    for (const name of ['scalars', 'nested', 'lancedb-create']) {
      const { schema } = await readStream(fixture(name));
      for (const { name: column, type } of schema.fields) {
        if (lossy.has(column)) continue;
        expect(typeName(typeFromJson(typeToJson(type, 'lance')))).toBe(typeName(type));
      }
    }
  });

  it.each(['utf8', 'timestamp', 'timestamp:us:+01:00', 'decimal:128:39:0', 'list', '__proto__'])(
    'do not know the Lance type %s',
    (type) => {
      expect(refused(() => typeFromJson({ type }))).toBe(
        `unsupported: The type "${type}" is not known.`,
      );
    },
  );

  it('need the length of fixed sizes', () => {
    expect(refused(() => typeFromJson({ type: 'fixed_size_binary' }))).toBe(
      'unsupported: The type "fixed_size_binary" needs a length.',
    );
  });
});
