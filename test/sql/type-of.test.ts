import {
  Binary,
  Bool,
  DateDay,
  DateMillisecond,
  Decimal,
  Dictionary,
  DurationMillisecond,
  Field,
  FixedSizeBinary,
  FixedSizeList,
  Float16,
  Float32,
  Int32,
  Int64,
  LargeUtf8,
  List,
  Null,
  Struct,
  TimeSecond,
  TimestampMicrosecond,
  TimestampSecond,
  Uint8,
  Utf8,
  type DataType,
} from 'apache-arrow';
import { describe, expect, it } from 'vitest';
import { bindExpression } from '../../src/sql/bind.ts';
import { parseExpression } from '../../src/sql/parse.ts';
import { constant, refusal } from './support.ts';

function nameOf(type: DataType): unknown {
  const scope = { fields: [new Field('x', type, true)] };
  const { root } = bindExpression(parseExpression('arrow_typeof(x)'), scope);
  return root.kind === 'literal' ? root.value : undefined;
}

describe('arrow_typeof', () => {
  it.each<[string, DataType]>([
    ['Int64', new Int64()],
    ['UInt8', new Uint8()],
    ['Float16', new Float16()],
    ['Float32', new Float32()],
    ['Boolean', new Bool()],
    ['Null', new Null()],
    ['Utf8', new Utf8()],
    ['LargeUtf8', new LargeUtf8()],
    ['Binary', new Binary()],
    ['FixedSizeBinary(16)', new FixedSizeBinary(16)],
    ['Decimal128(10, 2)', new Decimal(2, 10, 128)],
    ['Date32', new DateDay()],
    ['Date64', new DateMillisecond()],
    ['Time32(s)', new TimeSecond()],
    ['Timestamp(µs)', new TimestampMicrosecond()],
    ['Timestamp(s, "UTC")', new TimestampSecond('UTC')],
    ['Duration(ms)', new DurationMillisecond()],
    ['List(Int64)', new List(new Field('item', new Int64(), true))],
    ['FixedSizeList(2 x Float32)', new FixedSizeList(2, new Field('item', new Float32(), true))],
    [
      'Struct("k": Int32, "l": List(Utf8))',
      new Struct([
        new Field('k', new Int32(), true),
        new Field('l', new List(new Field('item', new Utf8(), true)), true),
      ]),
    ],
    ['Dictionary(Int32, Utf8)', new Dictionary(new Utf8(), new Int32())],
  ])('%s', (name, type) => {
    expect(nameOf(type)).toBe(name);
  });

  it('names what is computed', () => {
    expect(constant('arrow_typeof(1 + 1)')).toBe('Int64');
    expect(constant("arrow_typeof(interval '1 day')")).toBe('Interval(MonthDayNano)');
    expect(refusal('arrow_typeof()')).toBe(
      'type: expected arrow_typeof(value), found 0 arguments, at position 1',
    );
  });
});
