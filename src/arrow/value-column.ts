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
  Vector,
  type Data,
  type DataType,
} from 'apache-arrow';
import { bitmapBytes, getBit } from './bitmap.ts';
import { dataOf, isNull } from './data.ts';

/**
 * How values of one kind stand in a column. Made straight from values of a known
 * kind: a builder that sees each value as anything is many times slower.
 */
export interface ValueKind<Value> {
  readonly type: DataType;
  /** The column of these values. */
  data(values: readonly (Value | null)[]): Data;
  read(data: Data, row: number): Value | null;
}

/** A kind whose `read` is only called for rows with a value. */
function kindOf<Value>(
  type: DataType,
  data: ValueKind<Value>['data'],
  read: (data: Data, row: number) => Value,
): ValueKind<Value> {
  return { type, data, read: (column, row) => (isNull(column, row) ? null : read(column, row)) };
}

export const textValues: ValueKind<string> = kindOf(new Utf8(), textsOf, readText);

/** Texts with few distinct values, dictionary-encoded. */
export const wordValues: ValueKind<string> = wordKind(new Dictionary(new Utf8(), new Int32()));

/** Truth values. */
export const flagValues: ValueKind<boolean> = kindOf(
  new Bool(),
  (values) => dataOf(new Bool(), { ...nullsOf(values), values: bitsOf(values, Boolean) }),
  (data, row) => getBit(data.values, data.offset + row),
);

/** Integers of 32 bits. */
export const int32Values: ValueKind<number> = kindOf(
  new Int32(),
  (values) => {
    const numbers = new Int32Array(values.length);
    values.forEach((value, row) => (numbers[row] = value ?? 0));
    return dataOf(new Int32(), { ...nullsOf(values), values: numbers });
  },
  (data, row) => data.values[row],
);

/** Integers of 64 bits. */
export const int64Values: ValueKind<bigint> = signedKind(new Int64());

/** Moments in UTC, as microseconds since 1970. */
export const momentValues: ValueKind<bigint> = signedKind(new TimestampMicrosecond('UTC'));

/** Integers of 64 bits without a sign. */
export const uint64Values: ValueKind<bigint> = kindOf(
  new Uint64(),
  (values) => {
    const numbers = BigUint64Array.from(values, (value) => value ?? 0n);
    return dataOf(new Uint64(), { ...nullsOf(values), values: numbers });
  },
  (data, row) => data.values[row],
);

/** Lists of values of one kind; none of the values is null. */
export function listValues<Value>(item: ValueKind<Value>): ValueKind<readonly Value[]> {
  const type = new List(new Field('item', item.type, false));
  return kindOf(
    type,
    (values) => {
      const offsets = offsetsOf(values, (value) => value.length);
      const children = [item.data(values.flatMap((value) => value ?? []))];
      return dataOf(type, { ...nullsOf(values), offsets, children });
    },
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
    (values) => {
      const children = names.map((name) =>
        parts[name].data(values.map((value) => value?.[name] ?? null)),
      );
      return dataOf(type, { ...nullsOf(values), children });
    },
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

function signedKind(type: Int64 | TimestampMicrosecond): ValueKind<bigint> {
  return kindOf(
    type,
    (values) => {
      const numbers = new BigInt64Array(values.length);
      for (let row = 0; row < values.length; row++) numbers[row] = values[row] ?? 0n;
      return dataOf(type, { ...nullsOf(values), values: numbers });
    },
    (data, row) => data.values[row],
  );
}

function wordKind(type: Dictionary<Utf8, Int32>): ValueKind<string> {
  return kindOf(
    type,
    (values) => {
      const places = new Map<string, number>();
      const indices = new Int32Array(values.length);
      let before: string | null = null;
      let place = 0;
      for (let row = 0; row < values.length; row++) {
        const value = values[row]!;
        // Neighbours are often equal.
        if (value !== null && value !== before) [before, place] = [value, placeOf(places, value)];
        if (value !== null) indices[row] = place;
      }
      const dictionary = new Vector([textsOf([...places.keys()])]);
      return dataOf(type, { ...nullsOf(values), values: indices, dictionary });
    },
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

function placeOf(places: Map<string, number>, value: string): number {
  const place = places.get(value);
  if (place !== undefined) return place;
  places.set(value, places.size);
  return places.size - 1;
}

function textsOf(values: readonly (string | null)[]): Data {
  const offsets = offsetsOf(values, ({ length }) => length);
  const length = offsets.at(-1)!;
  if (length > JOINED) return widerTextsOf(values);
  const whole = Buffer.from(values.join(''));
  // ASCII texts have as many bytes as characters, so all are encoded together.
  if (whole.byteLength !== length) return widerTextsOf(values);
  return dataOf(new Utf8(), { ...nullsOf(values), offsets, values: new Uint8Array(whole) });
}

/** Texts longer than this in total are encoded one by one. */
const JOINED = 2 ** 26;

function widerTextsOf(values: readonly (string | null)[]): Data {
  const bytes = values.map((value) => (value === null ? null : Buffer.from(value)));
  const offsets = offsetsOf(bytes, ({ length }) => length);
  const joined = new Uint8Array(offsets.at(-1)!);
  for (const [row, piece] of bytes.entries()) if (piece !== null) joined.set(piece, offsets[row]);
  return dataOf(new Utf8(), { ...nullsOf(values), offsets, values: joined });
}

function readText(data: Data, row: number): string {
  const bytes: Uint8Array = data.values;
  const [start, end] = [data.valueOffsets[row]!, data.valueOffsets[row + 1]!];
  return Buffer.from(bytes.buffer, bytes.byteOffset + start, end - start).toString();
}

function offsetsOf<Value>(
  values: readonly (Value | null)[],
  lengthOf: (value: Value) => number,
): Int32Array {
  const offsets = new Int32Array(values.length + 1);
  for (let row = 0, end = 0; row < values.length; row++) {
    const value = values[row]!;
    if (value !== null) end += lengthOf(value);
    offsets[row + 1] = end;
  }
  return offsets;
}

/** Length and nulls of a column. */
function nullsOf(values: readonly unknown[]) {
  let nullCount = 0;
  for (let row = 0; row < values.length; row++) if (values[row] === null) nullCount += 1;
  const validity = nullCount === 0 ? undefined : bitsOf(values, (value) => value !== null);
  return { length: values.length, nullCount, validity };
}

function bitsOf<Value>(values: readonly Value[], isSet: (value: Value) => boolean): Uint8Array {
  const bits = new Uint8Array(bitmapBytes(values.length));
  for (let row = 0; row < values.length; row++) {
    if (isSet(values[row]!)) bits[row >> 3]! |= 1 << (row & 7);
  }
  return bits;
}
