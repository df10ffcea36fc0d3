import type { BigintArray, NumberArray } from './column.ts';

/** A new array of the same kind. */
export function newBigints(like: BigintArray, length: number): BigintArray {
  return like instanceof BigInt64Array ? new BigInt64Array(length) : new BigUint64Array(length);
}

const arrays = [
  Int8Array,
  Uint8Array,
  Int16Array,
  Uint16Array,
  Int32Array,
  Uint32Array,
  Float32Array,
  Float64Array,
];

/** A new array of the same kind. */
export function newNumbers(like: NumberArray, length: number): NumberArray {
  const Made = arrays.find((each) => like instanceof each)!;
  return new Made(length);
}
