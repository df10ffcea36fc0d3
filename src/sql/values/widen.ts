import type { BigintArray, Column, NumberArray } from './column.ts';

/** Integers of up to 32 bits as 64-bit ones, written in two words each. */
export function widenToBigints(values: NumberArray): BigInt64Array {
  const wide = new BigInt64Array(values.length);
  const words = new Int32Array(wide.buffer);
  for (let row = 0; row < values.length; row++) {
    const value = values[row]!;
    words[row * 2] = value | 0;
    words[row * 2 + 1] = value < 0 ? -1 : 0;
  }
  return wide;
}

/** 64-bit integers as doubles, rounded to the nearest. */
function bigintsToDoubles(values: BigintArray): Float64Array {
  const doubles = new Float64Array(values.length);
  for (let row = 0; row < values.length; row++) doubles[row] = Number(values[row]);
  return doubles;
}

/** The values of an integer or float column as doubles. */
export function doublesOf(column: Column): Float64Array {
  if (column.kind === 'bigint') return bigintsToDoubles(column.values);
  if (column.kind !== 'number') throw new TypeError(`a ${column.kind} column has no floats`);
  return column.values instanceof Float64Array ? column.values : new Float64Array(column.values);
}

/** The values of an integer column as bigints. */
export function bigintsOf(column: Column): BigintArray {
  if (column.kind === 'bigint') return column.values;
  if (column.kind !== 'number') throw new TypeError(`a ${column.kind} column has no integers`);
  return widenToBigints(column.values);
}

/** The values of an integer or decimal column, each multiplied. */
export function scaledValues(column: Column, factor: bigint): readonly bigint[] {
  if (column.kind !== 'number' && column.kind !== 'bigint' && column.kind !== 'wide') {
    throw new TypeError(`a ${column.kind} column has no integers`);
  }
  const { values, length } = column;
  return Array.from({ length }, (_, row) => BigInt(values[row]!) * factor);
}
