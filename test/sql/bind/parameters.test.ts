import {
  Binary,
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
  IntervalYearMonth,
  List,
  Map_,
  Null,
  Struct,
  TimestampMillisecond,
  Uint64,
  Utf8,
  vectorFromArray,
  type DataType,
  type Vector,
} from 'apache-arrow';
import { describe, expect, it } from 'vitest';
import { bindExpression, bindPredicate } from '../../../src/sql/bind.ts';
import { SqlError } from '../../../src/sql/values/sql-error.ts';
import { evaluate, selectRows } from '../../../src/sql/evaluate.ts';
import { parseExpression } from '../../../src/sql/parse.ts';
import { printExpression } from '../print.ts';
import { batchOf, column, valuesOf } from '../support.ts';

const batch = batchOf({
  n: column(new Int32(), [1, 2, null]),
  u: column(new Uint64(), [2n ** 64n - 1n, 0n, null]),
  f: column(new Float32(), [0.1, 2, null]),
  t: column(new Utf8(), ['a', "it's", null]),
  d: column(new DateDay(), [new Date('2024-02-29'), new Date('1970-01-01'), null]),
  l: column(new List(new Field('item', new Int64(), true)), [[1n, 2n], [], null]),
  s: column(new Struct([new Field('x', new Int32(), true)]), [{ x: 1 }, { x: 2 }, null]),
});

const one = (type: DataType, value: unknown): Vector => vectorFromArray([value], type);

function rows(text: string, ...parameters: Vector[]): readonly number[] {
  const { fields } = batch.schema;
  const bound = bindPredicate(parseExpression(text), { fields, parameters });
  return Array.from(selectRows(bound, batch));
}

function refused(text: string, parameters?: readonly Vector[]): string {
  try {
    const { fields } = batch.schema;
    const given = parameters === undefined ? {} : { parameters };
    bindExpression(parseExpression(text), { fields, ...given });
  } catch (error) {
    if (error instanceof SqlError) return `${error.kind}: ${error.message}`;
    throw error;
  }
  return 'accepted';
}

const item = new Field('item', new Int32(), true);
const struct = new Struct([new Field('x', new Int32(), true)]);
const entries = new Struct([
  new Field('key', new Utf8(), false),
  new Field('value', new Int32(), true),
]);

describe('a parameter', () => {
  it.each<[string, readonly number[], Vector[]]>([
    ['n = $1', [1], [one(new Int8(), 2)]],
    ['n = ? or n = ?', [0, 1], [one(new Int64(), 1n), one(new Int8(), 2)]],
    ['n = $2 or n = $2', [0], [one(new Null(), null), one(new Int64(), 1n)]],
    ['u = $1', [0], [one(new Uint64(), 2n ** 64n - 1n)]],
    ['f = $1', [0], [one(new Float64(), 0.1)]],
    ['t = $1', [1], [one(new Utf8(), "it's")]],
    ['t = $1', [1], [one(new Dictionary(new Utf8(), new Int8()), "it's")]],
    ['t like $1', [0], [one(new Utf8(), 'a%')]],
    ['d = $1', [0], [one(new DateDay(), new Date('2024-02-29'))]],
    ['d >= $1', [0, 1], [one(new TimestampMillisecond(), 0)]],
    ['n > $1', [1], [one(new Decimal(1, 10, 128), Uint32Array.of(15, 0, 0, 0))]],
    ['$1', [0, 1, 2], [one(new Bool(), true)]],
    ['n = $1', [], [one(new Int32(), null)]],
    ['l = $1', [0], [one(new List(item), [1, 2])]],
    ['l in ($1, $2)', [0, 1], [one(new List(item), []), one(new FixedSizeList(2, item), [1, 2])]],
    ['array_has($1, n)', [1], [one(new List(item), [2, 3])]],
    ['s = $1', [1], [one(struct, { x: 2 })]],
    ['s.x = $1.x', [1], [one(struct, { x: 2 })]],
    [
      "n = $1['a']",
      [0],
      [one(new Map_(new Field('entries', entries, false)), new Map([['a', 1]]))],
    ],
    ["encode($1, 'hex') = '6162'", [0, 1, 2], [one(new Binary(), Buffer.from('ab'))]],
    ['n in (?, 7, ?)', [0, 1], [one(new Int64(), 1n), one(new Int64(), 2n)]],
  ])('%s selects %j', (text, found, parameters) => {
    expect(rows(text, ...parameters)).toEqual(found);
  });

  it('has the type of its vector', () => {
    const parameters = [one(new Float32(), 1.5)];
    const bound = bindExpression(parseExpression('arrow_typeof($1)'), { fields: [], parameters });
    expect(valuesOf(evaluate(bound, batch))[0]).toBe('Float32');
  });

  it('is the same after it was printed and read', () => {
    expect(printExpression(parseExpression('a + ? * ? - $7'))).toBe('a + $1 * $2 - $7');
  });

  it.each([
    [
      'n = $1',
      undefined,
      'value: expected a value for parameter $1, found none given, at position 5',
    ],
    [
      'n = ?',
      undefined,
      'value: expected a value for parameter $1, found none given, at position 5',
    ],
    [
      'n = $3',
      [one(new Int32(), 1)],
      'value: expected a value for parameter $3, found 1 given, at position 5',
    ],
    [
      '$1 is null',
      [one(new IntervalYearMonth(), new Int32Array([1, 2]))],
      'type: expected a parameter that can be computed with, found interval, at position 1',
    ],
    ['n = $0', [], 'syntax: expected an expression, found the character "$", at position 5'],
    ['n = $1a', [], 'syntax: expected an expression, found the character "$", at position 5'],
    ['n = $65536', [], 'limit: expected at most 65535 parameters, found $65536, at position 5'],
    [
      'n = $1',
      [one(new Utf8(), 'x')],
      'type: expected two values that compare with each other, found int32 and string, at position 3',
    ],
  ])('%s is refused', (text, parameters, message) => {
    expect(refused(text, parameters)).toBe(message);
  });
});
