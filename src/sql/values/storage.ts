import { DataType, DateUnit, Precision, type DataType as DataTypeClass } from 'apache-arrow';
import type { BigintArray, Column, NumberArray } from './column.ts';
import { familyOf, integerOf, type Family } from './types.ts';

type NumberArrayClass = new (length: number) => NumberArray;
type BigintArrayClass = new (length: number) => BigintArray;

/** Representation of the values of a type during evaluation. */
type Storage =
  | { readonly kind: 'number'; readonly array: NumberArrayClass }
  | { readonly kind: 'bigint'; readonly array: BigintArrayClass }
  | { readonly kind: Exclude<Column['kind'], 'number' | 'bigint'> };

const integers: Readonly<Record<string, Storage>> = {
  'true 8': { kind: 'number', array: Int8Array },
  'true 16': { kind: 'number', array: Int16Array },
  'true 32': { kind: 'number', array: Int32Array },
  'true 64': { kind: 'bigint', array: BigInt64Array },
  'false 8': { kind: 'number', array: Uint8Array },
  'false 16': { kind: 'number', array: Uint16Array },
  'false 32': { kind: 'number', array: Uint32Array },
  'false 64': { kind: 'bigint', array: BigUint64Array },
};

const long: Storage = { kind: 'bigint', array: BigInt64Array };
const int: Storage = { kind: 'number', array: Int32Array };

function floatStorage(type: DataTypeClass): Storage {
  const double = DataType.isFloat(type) && type.precision === Precision.DOUBLE;
  return { kind: 'number', array: double ? Float64Array : Float32Array };
}

function integerStorage(type: DataTypeClass): Storage {
  const { signed, width } = integerOf(type);
  return integers[`${signed} ${width}`]!;
}

function dateStorage(type: DataTypeClass): Storage {
  return DataType.isDate(type) && type.unit === DateUnit.DAY ? int : long;
}

function timeStorage(type: DataTypeClass): Storage {
  return DataType.isTime(type) && type.bitWidth === 32 ? int : long;
}

const storages: Readonly<Record<Family, (type: DataTypeClass) => Storage>> = {
  null: () => ({ kind: 'null' }),
  boolean: () => ({ kind: 'states' }),
  integer: integerStorage,
  float: floatStorage,
  decimal: () => ({ kind: 'wide' }),
  text: () => ({ kind: 'bytes' }),
  binary: () => ({ kind: 'bytes' }),
  date: dateStorage,
  time: timeStorage,
  timestamp: () => long,
  duration: () => long,
  interval: () => ({ kind: 'nested' }),
  list: () => ({ kind: 'list' }),
  struct: () => ({ kind: 'struct' }),
  map: () => ({ kind: 'list' }),
  other: () => ({ kind: 'nested' }),
};

/** The storage of a type that is no dictionary. Half floats are stored as float32. */
export function storageOf(type: DataTypeClass): Storage {
  return storages[familyOf(type)](type);
}

/** Whether a type's values are floats of 32 bits in memory. */
export function isSingle(type: DataTypeClass): boolean {
  const storage = storageOf(type);
  return storage.kind === 'number' && storage.array === Float32Array;
}
