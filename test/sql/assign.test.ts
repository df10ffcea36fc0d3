import {
  Bool,
  DateDay,
  Decimal,
  Dictionary,
  Field,
  FixedSizeList,
  Float32,
  Float64,
  Int32,
  Int64,
  Int8,
  List,
  Struct,
  TimestampMillisecond,
  TimestampSecond,
  Uint8,
  Utf8,
  vectorFromArray,
  type DataType,
  type Vector,
} from 'apache-arrow';
import { describe, expect, it } from 'vitest';
import { batchOfData } from '../../src/arrow/data.ts';
import { schemaOf } from '../../src/arrow/nested-type.ts';
import { bindAssignment } from '../../src/sql/assign.ts';
import { bindExpression } from '../../src/sql/bind.ts';
import { fieldsUsed } from '../../src/sql/evaluate/columns.ts';
import { evaluate } from '../../src/sql/evaluate.ts';
import { parseExpression } from '../../src/sql/parse.ts';

const point = new Struct([new Field('x', new Int32(), true), new Field('y', new Int32(), true)]);
const columns: Readonly<Record<string, Vector>> = {
  big: vectorFromArray([1n, null, 2n ** 53n + 1n], new Int64()),
  f: vectorFromArray([1, null, 2.5], new Float64()),
  whole: vectorFromArray([1, null, -4], new Float64()),
  s: vectorFromArray(['1', null, 'x'], new Utf8()),
  kind: vectorFromArray(['a', null, 'b'], new Dictionary(new Utf8(), new Int8())),
  day: vectorFromArray([new Date(0), null, new Date(86_400_000)], new DateDay()),
  at: vectorFromArray([0, null, 1500], new TimestampMillisecond()),
  lists: vectorFromArray([[1, 2], null, [3]], new List(new Field('item', new Float64(), true))),
  p: vectorFromArray([{ x: 1, y: 2 }, null, { x: 3, y: 4 }], point),
};
const fields = Object.entries(columns).map(([name, { type }]) => new Field(name, type, true));

describe('a value that goes into a column', () => {
  const taken: readonly (readonly [string, DataType, readonly unknown[]])[] = [
    ['f', new Float32(), [1, null, 2.5]],
    ['whole', new Int32(), [1, null, -4]],
    ['big', new Utf8(), ['1', null, '9007199254740993']],
    ['big % 2 = 1', new Bool(), [true, null, true]],
    ['0.1', new Float32(), [Math.fround(0.1), Math.fround(0.1), Math.fround(0.1)]],
    ['day', new TimestampSecond(), [0, null, 86_400_000]],
    ['kind', new Utf8(), ['a', null, 'b']],
    ['[1, 2]', new FixedSizeList(2, new Field('item', new Float32(), true)), []],
    ['NULL', point, [null, null, null]],
    ['p.x + 1', new Uint8(), [2, null, 4]],
  ];

  it.each(taken)('%s becomes %s', (text, type, expected) => {
    const found = values(text, type);
    if (expected.length > 0) expect([...found]).toEqual(expected);
    else expect(found.type).toBe(type);
  });

  it('that is a column of exactly its type is passed on as it is', () => {
    expect(values('p', point).data[0]).toBe(columns['p']!.data[0]);
    expect(values('kind', columns['kind']!.type).data[0]).toBe(columns['kind']!.data[0]);
  });

  const refused: readonly (readonly [string, DataType, string])[] = [
    ['f', new Int32(), 'expected a value that int32 can hold, found 2.5 of float64, at position 1'],
    [
      'big',
      new Float64(),
      'expected a value that float64 can hold, found 9007199254740993 of int64, at position 1',
    ],
    [
      'big',
      new Float32(),
      'expected a value that float32 can hold, found 9007199254740993 of int64, at position 1',
    ],
    [
      'big',
      new Bool(),
      'expected a value that bool can hold, found 9007199254740993 of int64, at position 1',
    ],
    ['-1', new Uint8(), 'expected a value that uint8 can hold, found -1 of int64, at position 1'],
    [
      '0.123',
      new Decimal(2, 10, 128),
      'expected a value that decimal(10, 2) can hold, found 0.123 of float64, at position 1',
    ],
    [
      'at',
      new DateDay(),
      'expected a value that date can hold, found 1970-01-01T00:00:01.500 of timestamp(ms), at position 1',
    ],
    [
      'at',
      new TimestampSecond(),
      'expected a value that timestamp(s) can hold, found 1970-01-01T00:00:01.500 of timestamp(ms), at position 1',
    ],
    ['s', new Int32(), "expected a value that int32 can hold, found 'x' of string, at position 1"],
    ['big', new DateDay(), 'expected a value of type date, found int64, at position 1'],
    ['day', new Int64(), 'expected a value of type int64, found date, at position 1'],
    [
      'p',
      new Utf8(),
      'expected a value of type string, found struct<x: int32, y: int32>, at position 1',
    ],
    [
      'big',
      point,
      'expected a value of type struct<x: int32, y: int32>, found int64, at position 1',
    ],
    [
      'lists',
      new FixedSizeList(2, new Field('item', new Float32(), true)),
      'expected a list of 2 values, found one of 1, at position 1',
    ],
  ];

  it.each(refused)('%s is not put into %s', (text, type, message) => {
    expect(() => values(text, type)).toThrow(message);
  });

  it('is refused before any row is looked at when it is a literal', () => {
    expect(() => bindAssignment(parseExpression("'x'"), { fields }, new Int32())).toThrow(
      "expected a value that int32 can hold, found 'x' of string, at position 1",
    );
  });
});

describe('the fields that an expression reads', () => {
  it.each([
    ['p.x > big', { p: ['x'], big: null }],
    ['p.x > 1 and p.y > 1', { p: ['x', 'y'] }],
    ['p.x > 1 or p is null', { p: null }],
    ['p is null or p.x > 1', { p: null }],
    ["p['y'] = 1", { p: ['y'] }],
  ])('of %s', (text, expected) => {
    const used = fieldsUsed(bindExpression(parseExpression(text), { fields }));
    const plain = [...used].map(([name, names]) => [
      name,
      names === null ? null : [...names].toSorted(),
    ]);
    expect(Object.fromEntries(plain)).toEqual(expected);
  });
});

function values(text: string, type: DataType): Vector {
  const bound = bindAssignment(parseExpression(text), { fields }, type);
  const data = Object.values(columns).map((column) => column.data[0]!);
  return evaluate(bound, batchOfData(schemaOf(fields), data, 3));
}
