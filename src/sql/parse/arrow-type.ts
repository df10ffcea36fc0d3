import {
  Binary,
  Bool,
  DateDay,
  DateMillisecond,
  Decimal,
  Dictionary,
  Duration,
  Field,
  FixedSizeBinary,
  FixedSizeList,
  Float16,
  Float32,
  Float64,
  Int16,
  Int32,
  Int64,
  Int8,
  LargeBinary,
  LargeList,
  LargeUtf8,
  List,
  Null,
  Struct,
  Time,
  Timestamp,
  TimeUnit,
  Uint16,
  Uint32,
  Uint64,
  Uint8,
  Utf8,
  Utf8View,
  BinaryView,
  type DataType,
  type TimeUnit as TimeUnitClass,
} from 'apache-arrow';
import { TokenCursor } from './cursor.ts';
import { SqlError } from '../values/sql-error.ts';
import { maxTypeDepth } from '../values/limits.ts';

const plain: ReadonlyMap<string, () => DataType> = new Map<string, () => DataType>([
  ['null', () => new Null()],
  ['boolean', () => new Bool()],
  ['int8', () => new Int8()],
  ['int16', () => new Int16()],
  ['int32', () => new Int32()],
  ['int64', () => new Int64()],
  ['uint8', () => new Uint8()],
  ['uint16', () => new Uint16()],
  ['uint32', () => new Uint32()],
  ['uint64', () => new Uint64()],
  ['float16', () => new Float16()],
  ['float32', () => new Float32()],
  ['float64', () => new Float64()],
  ['utf8', () => new Utf8()],
  ['largeutf8', () => new LargeUtf8()],
  ['utf8view', () => new Utf8View()],
  ['binary', () => new Binary()],
  ['largebinary', () => new LargeBinary()],
  ['binaryview', () => new BinaryView()],
  ['date32', () => new DateDay()],
  ['date64', () => new DateMillisecond()],
]);

const units: ReadonlyMap<string, TimeUnitClass> = new Map([
  ['second', TimeUnit.SECOND],
  ['s', TimeUnit.SECOND],
  ['millisecond', TimeUnit.MILLISECOND],
  ['ms', TimeUnit.MILLISECOND],
  ['microsecond', TimeUnit.MICROSECOND],
  ['us', TimeUnit.MICROSECOND],
  ['\u00b5s', TimeUnit.MICROSECOND],
  ['nanosecond', TimeUnit.NANOSECOND],
  ['ns', TimeUnit.NANOSECOND],
]);

function parseUnit(cursor: TokenCursor, allowed: readonly TimeUnitClass[]): TimeUnitClass {
  const unit = units.get(cursor.peek().text.toLowerCase());
  if (unit === undefined || !allowed.includes(unit)) {
    return cursor.fail('a unit of time such as ms');
  }
  cursor.next();
  return unit;
}

function parseCount(cursor: TokenCursor, least: number, most: number): number {
  const { kind, text } = cursor.peek();
  const count = kind === 'number' && /^\d{1,9}$/.test(text) ? Number(text) : NaN;
  if (!(count >= least && count <= most)) {
    return cursor.fail(`a whole number from ${least} to ${most}`);
  }
  cursor.next();
  return count;
}

/** The zone after a unit: `, "UTC"`, `, Some("UTC")` or `, None`. */
function parseZone(cursor: TokenCursor): string | null {
  if (!cursor.takeSymbol(',') || cursor.takeWord('none')) return null;
  const some = cursor.takeWord('some');
  if (some) cursor.expectSymbol('(');
  const { kind, text } = cursor.peek();
  if (kind !== 'quoted') return cursor.fail('a zone in double quotes');
  cursor.next();
  if (some) cursor.expectSymbol(')');
  return text;
}

const allUnits = [TimeUnit.SECOND, TimeUnit.MILLISECOND, TimeUnit.MICROSECOND, TimeUnit.NANOSECOND];

function parseDecimal(cursor: TokenCursor): DataType {
  const precision = parseCount(cursor, 1, 38);
  cursor.expectSymbol(',');
  return new Decimal(parseCount(cursor, 0, precision), precision, 128);
}

function item(type: DataType): Field {
  return new Field('item', type, true);
}

/** `FixedSizeList(3 x Int32)` or `FixedSizeList(3, Int32)`. */
function parseFixedList(cursor: TokenCursor, depth: number): DataType {
  const size = parseCount(cursor, 1, 1_000_000);
  if (!cursor.takeWord('x')) cursor.expectSymbol(',');
  return new FixedSizeList(size, item(parseType(cursor, depth)));
}

function parseStruct(cursor: TokenCursor, depth: number): DataType {
  const fields: Field[] = [];
  do {
    const { kind, text } = cursor.peek();
    if (kind !== 'quoted') return cursor.fail('the name of a field in double quotes');
    cursor.next();
    cursor.expectSymbol(':');
    fields.push(new Field(text, parseType(cursor, depth), true));
  } while (cursor.takeSymbol(','));
  return new Struct(fields);
}

/** The types with parentheses, by their names; the opening one has been read. */
const composed: ReadonlyMap<string, (cursor: TokenCursor, depth: number) => DataType> = new Map<
  string,
  (cursor: TokenCursor, depth: number) => DataType
>([
  ['timestamp', (cursor) => new Timestamp(parseUnit(cursor, allUnits), parseZone(cursor))],
  ['time32', (cursor) => new Time(parseUnit(cursor, allUnits.slice(0, 2)), 32)],
  ['time64', (cursor) => new Time(parseUnit(cursor, allUnits.slice(2)), 64)],
  ['duration', (cursor) => new Duration(parseUnit(cursor, allUnits))],
  ['decimal128', parseDecimal],
  ['fixedsizebinary', (cursor) => new FixedSizeBinary(parseCount(cursor, 1, 1_000_000))],
  ['list', (cursor, depth) => new List(item(parseType(cursor, depth)))],
  ['largelist', (cursor, depth) => new LargeList(item(parseType(cursor, depth)))],
  ['fixedsizelist', parseFixedList],
  ['struct', parseStruct],
  [
    'dictionary',
    (cursor, depth) => {
      const indices = parseType(cursor, depth) as Int32;
      cursor.expectSymbol(',');
      return new Dictionary(parseType(cursor, depth), indices);
    },
  ],
]);

function parseType(cursor: TokenCursor, depth: number): DataType {
  const { kind, text, position } = cursor.peek();
  const name = text.toLowerCase();
  if (depth > maxTypeDepth) {
    const message = `expected at most ${maxTypeDepth} nested types, found more`;
    throw new SqlError('limit', message, position);
  }
  const make = kind === 'name' ? plain.get(name) : undefined;
  const compose = kind === 'name' ? composed.get(name) : undefined;
  if (make === undefined && compose === undefined) {
    return cursor.fail('the name of an Arrow type such as Int64, Utf8 or List(Int32)');
  }
  cursor.next();
  if (make !== undefined || compose === undefined) return make!();
  cursor.expectSymbol('(');
  const type = compose(cursor, depth + 1);
  cursor.expectSymbol(')');
  return type;
}

/**
 * The type that Arrow's name for it means, as `arrow_typeof` writes it: `Int64`,
 * `Timestamp(ms, "UTC")`, `List(Int32)`. Throws SqlError `syntax` for any other text;
 * its position is the one in this text.
 */
export function parseArrowType(text: string): DataType {
  const cursor = new TokenCursor(text);
  const type = parseType(cursor, 1);
  if (cursor.peek().kind !== 'end') cursor.fail('the end of the type');
  return type;
}
