import {
  Bool,
  Dictionary,
  Field,
  Int32,
  Int64,
  List,
  Struct,
  TimestampMicrosecond,
  Uint64,
  Utf8,
  type Vector,
  type Data,
  type DataType,
} from 'apache-arrow';
import { getBit } from './bitmap.ts';
import { isNull } from './data.ts';
import { NumberBuffer, type BufferArray, type BufferArrayOf } from './growing-buffers.ts';
import {
  addTo,
  AddedFlags,
  AddedLists,
  AddedNumbers,
  AddedStructs,
  AddedTexts,
  AddedWords,
  type GrowingColumn,
} from './growing-column.ts';

/** How values of one kind stand in a column. */
export interface ValueKind<Value> {
  readonly type: DataType;
  /** An empty column of these values. */
  grow(): GrowingColumn<Value>;
  /** The column of these values. */
  data(values: readonly (Value | null)[]): Data;
  read(data: Data, row: number): Value | null;
}

/** A kind whose `read` is only called for rows with a value. */
function kindOf<Value>(
  type: DataType,
  grow: ValueKind<Value>['grow'],
  read: (data: Data, row: number) => Value,
): ValueKind<Value> {
  return {
    type,
    grow,
    data: (values) => {
      const column = grow();
      for (const value of values) addTo(column, value);
      return column.take();
    },
    read: (column, row) => (isNull(column, row) ? null : read(column, row)),
  };
}

export const textValues: ValueKind<string> = kindOf(new Utf8(), () => new AddedTexts(), readText);

/** Texts with few distinct values, dictionary-encoded. */
export const wordValues: ValueKind<string> = wordKind(new Dictionary(new Utf8(), new Int32()));

/** Truth values. */
export const flagValues: ValueKind<boolean> = kindOf(
  new Bool(),
  () => new AddedFlags(),
  (data, row) => getBit(data.values, data.offset + row),
);

/** Integers of 32 bits. */
export const int32Values: ValueKind<number> = numberKind(new Int32(), Int32Array, 0);

/** Integers of 64 bits. */
export const int64Values: ValueKind<bigint> = numberKind(new Int64(), BigInt64Array, 0n);

/** Moments in UTC, as microseconds since 1970. */
export const momentValues: ValueKind<bigint> = numberKind(
  new TimestampMicrosecond('UTC'),
  BigInt64Array,
  0n,
);

/** Integers of 64 bits without a sign. */
export const uint64Values: ValueKind<bigint> = numberKind(new Uint64(), BigUint64Array, 0n);

/** Lists of values of one kind; none of the values is null. */
export function listValues<Value>(item: ValueKind<Value>): ValueKind<readonly Value[]> {
  const type = new List(new Field('item', item.type, false));
  return kindOf<readonly Value[]>(
    type,
    () => new AddedLists(type, item.grow()),
    (data, row) => {
      const [start, end] = [data.valueOffsets[row]!, data.valueOffsets[row + 1]!];
      const [child] = data.children;
      return Array.from({ length: end - start }, (_, index) => item.read(child!, start + index)!);
    },
  );
}

/** Values of several named parts. */
export function structValues<Value extends object>(parts: {
  readonly [Name in keyof Value & string]: ValueKind<NonNullable<Value[Name]>>;
}): ValueKind<Value> {
  const names = Object.keys(parts) as (keyof Value & string)[];
  const columns = names.map((name) => ({ name, kind: parts[name] }));
  const type = new Struct(names.map((name) => new Field(name, parts[name].type, true)));
  return kindOf<Value>(
    type,
    () =>
      new AddedStructs(
        type,
        columns.map(({ name, kind }) => ({ name, column: kind.grow() })),
      ),
    (data, row) => {
      const value: Partial<Value> = {};
      for (const [at, { name, kind }] of columns.entries()) {
        // A part may be null: the type of the value says which.
        value[name] = kind.read(data.children[at]!, row) as Value[typeof name];
      }
      return value as Value;
    },
  );
}

function numberKind<Values extends BufferArray>(
  type: DataType,
  array: BufferArrayOf<Values>,
  zero: Values[number],
): ValueKind<Values[number]> {
  return kindOf(
    type,
    () => new AddedNumbers(type, new NumberBuffer(array), zero),
    (data, row) => data.values[row],
  );
}

function wordKind(type: Dictionary<Utf8, Int32>): ValueKind<string> {
  return kindOf(
    type,
    () => new AddedWords(type),
    (data, row) => wordOf(data.dictionary, data.values[row]),
  );
}

/** Decoded words by dictionary. */
const decoded = new WeakMap<Vector, string[]>();

function wordOf(dictionary: Vector | undefined, place: number): string {
  if (dictionary === undefined) return String(undefined);
  let words = decoded.get(dictionary);
  if (words === undefined) decoded.set(dictionary, (words = []));
  return (words[place] ??= String(dictionary.get(place)));
}

function readText(data: Data, row: number): string {
  const bytes: Uint8Array = data.values;
  const [start, end] = [data.valueOffsets[row]!, data.valueOffsets[row + 1]!];
  return Buffer.from(bytes.buffer, bytes.byteOffset + start, end - start).toString();
}

/** Reads the texts of a column in order: faster than `textValues.read` where all of them are read. */
export function textReader(column: Data): (row: number) => string | null {
  const offsets: Int32Array = column.valueOffsets;
  const first = offsets[0] ?? 0;
  const bytes: Uint8Array = column.values.subarray(first, offsets[column.length] ?? first);
  const whole = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString();
  // Where each byte is a character, texts are parts of the whole.
  if (whole.length !== bytes.length) return (row) => textValues.read(column, row);
  const read = (row: number) => whole.slice(offsets[row]! - first, offsets[row + 1]! - first);
  return column.nullCount === 0 ? read : (row) => (isNull(column, row) ? null : read(row));
}
