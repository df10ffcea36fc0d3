import type { BigintArray, NumberArray } from '../values/column.ts';

/**
 * Comparisons in three forms; the other three are their opposites. Floats are
 * in a total order: NaN equals NaN and is greater than every other value, as
 * DataFusion has it; unlike there, -0 equals 0 as IEEE 754 has it.
 */
export type Form = 'eq' | 'lt' | 'le';

/**
 * What a row becomes where the form does not hold, and the bits that flip where
 * it does. Loops use them without a branch: `no ^ (-Number(x < y) & flip)`.
 */
export interface StateBits {
  readonly no: number;
  readonly flip: number;
}

/** Reduces the array types, so that the loops stay monomorphic. */
function widened(values: NumberArray): NumberArray {
  if (
    values instanceof Int32Array ||
    values instanceof Float32Array ||
    values instanceof Float64Array
  ) {
    return values;
  }
  return values instanceof Uint32Array ? new Float64Array(values) : new Int32Array(values);
}

function literalEq(
  values: NumberArray,
  literal: number,
  into: Uint8Array,
  { no, flip }: StateBits,
): void {
  for (let row = 0; row < into.length; row++) {
    into[row] = no ^ (-Number(values[row] === literal) & flip);
  }
}

function literalLt(
  values: NumberArray,
  literal: number,
  into: Uint8Array,
  { no, flip }: StateBits,
): void {
  for (let row = 0; row < into.length; row++) {
    into[row] = no ^ (-Number(values[row]! < literal) & flip);
  }
}

function literalLe(
  values: NumberArray,
  literal: number,
  into: Uint8Array,
  { no, flip }: StateBits,
): void {
  for (let row = 0; row < into.length; row++) {
    into[row] = no ^ (-Number(values[row]! <= literal) & flip);
  }
}

const literalLoops = { eq: literalEq, lt: literalLt, le: literalLe } as const;

/** NaN is greater than all and equal to itself. */
function nanLiteral(
  form: Form,
  values: NumberArray,
  into: Uint8Array,
  { no, flip }: StateBits,
): void {
  for (let row = 0; row < into.length; row++) {
    const isNan = Number.isNaN(values[row]);
    into[row] = no ^ (-Number(form === 'le' || (form === 'eq' ? isNan : !isNan)) & flip);
  }
}

export function compareNumbersTo(
  form: Form,
  values: NumberArray,
  literal: number,
  into: Uint8Array,
  outcome: StateBits,
): void {
  if (Number.isNaN(literal)) {
    nanLiteral(form, values, into, outcome);
    return;
  }
  literalLoops[form](widened(values), literal, into, outcome);
}

// Counting needs no states, so these loops write nothing.

function countEq(values: NumberArray, literal: number): number {
  let count = 0;
  for (let row = 0; row < values.length; row++) count += Number(values[row] === literal);
  return count;
}

function countLt(values: NumberArray, literal: number): number {
  let count = 0;
  for (let row = 0; row < values.length; row++) count += Number(values[row]! < literal);
  return count;
}

function countLe(values: NumberArray, literal: number): number {
  let count = 0;
  for (let row = 0; row < values.length; row++) count += Number(values[row]! <= literal);
  return count;
}

const countLoops = { eq: countEq, lt: countLt, le: countLe } as const;

/** Number of values for which the comparison with a literal holds. The literal is not NaN. */
export function countNumbersTo(form: Form, values: NumberArray, literal: number): number {
  return countLoops[form](widened(values), literal);
}

function bigintEq(
  values: BigintArray,
  literal: bigint,
  into: Uint8Array,
  { no, flip }: StateBits,
): void {
  for (let row = 0; row < into.length; row++) {
    into[row] = no ^ (-Number(values[row] === literal) & flip);
  }
}

function bigintLt(
  values: BigintArray,
  literal: bigint,
  into: Uint8Array,
  { no, flip }: StateBits,
): void {
  for (let row = 0; row < into.length; row++) {
    into[row] = no ^ (-Number(values[row]! < literal) & flip);
  }
}

function bigintLe(
  values: BigintArray,
  literal: bigint,
  into: Uint8Array,
  { no, flip }: StateBits,
): void {
  for (let row = 0; row < into.length; row++) {
    into[row] = no ^ (-Number(values[row]! <= literal) & flip);
  }
}

const bigintLoops = { eq: bigintEq, lt: bigintLt, le: bigintLe } as const;

/** Compares 64-bit integers with one integer of any size. */
export function compareBigintsTo(
  form: Form,
  values: BigintArray,
  literal: bigint,
  into: Uint8Array,
  outcome: StateBits,
): void {
  bigintLoops[form](values, literal, into, outcome);
}

type AnyValues = ArrayLike<number> | ArrayLike<bigint>;

/** JavaScript compares numbers and bigints of any size exactly (ECMA-262, IsLessThan). */
function mixed(form: Form, left: number | bigint, right: number | bigint): boolean {
  const leftNan = Number.isNaN(left);
  const rightNan = Number.isNaN(right);
  if (leftNan || rightNan) {
    return form === 'lt' ? !leftNan : form === 'le' ? rightNan : leftNan && rightNan;
  }
  // oxlint-disable-next-line eqeqeq -- == compares a number with a bigint by value, === never does
  return form === 'eq' ? left == right : form === 'lt' ? left < right : left <= right;
}

/** Compares the values of two columns of different kinds. */
export function compareMixed(
  form: Form,
  left: AnyValues,
  right: AnyValues,
  into: Uint8Array,
  { no, flip }: StateBits,
): void {
  for (let row = 0; row < into.length; row++) {
    into[row] = no ^ (-Number(mixed(form, left[row]!, right[row]!)) & flip);
  }
}

/** Compares values with one literal of another kind. */
export function compareMixedTo(
  form: Form,
  values: AnyValues,
  literal: number | bigint,
  into: Uint8Array,
  { no, flip }: StateBits,
): void {
  for (let row = 0; row < into.length; row++) {
    into[row] = no ^ (-Number(mixed(form, values[row]!, literal)) & flip);
  }
}

/** Compares the numbers of two columns. */
export function compareNumbers(
  form: Form,
  left: NumberArray,
  right: NumberArray,
  into: Uint8Array,
  { no, flip }: StateBits,
): void {
  const a = widened(left);
  const b = widened(right);
  for (let row = 0; row < into.length; row++) {
    const [x, y] = [a[row]!, b[row]!];
    const held = form === 'eq' ? x === y : form === 'lt' ? x < y : x <= y;
    // Only a NaN is unlike itself; it takes the slow way.
    into[row] = no ^ (-Number(x === x && y === y ? held : mixed(form, x, y)) & flip);
  }
}

/** Compares the 64-bit integers of two columns, signed or not. */
export function compareBigints(
  form: Form,
  left: BigintArray,
  right: BigintArray,
  into: Uint8Array,
  { no, flip }: StateBits,
): void {
  for (let row = 0; row < into.length; row++) {
    const [x, y] = [left[row]!, right[row]!];
    into[row] = no ^ (-Number(form === 'eq' ? x === y : form === 'lt' ? x < y : x <= y) & flip);
  }
}
