import type { DataType, Decimal } from 'apache-arrow';
import { bothValid, validOf, type BigintArray, type Column, type Valid } from '../values/column.ts';
import { kernelOf, type Kernel, type KernelCall } from './bound.ts';
import { formatDecimal } from '../values/decimal.ts';
import { SqlError } from '../values/sql-error.ts';
import type { ArithmeticOperator } from '../values/expression.ts';
import { isSingle, storageOf } from '../values/storage.ts';
import { familyOf, integerOf, integerRange, sqlTypeName } from '../values/types.ts';
import { bigintsOf, doublesOf, scaledValues } from '../values/widen.ts';

type Numbers = ArrayLike<number>;
type Bigints = BigintArray | readonly bigint[];

function overflow(
  [left, right]: readonly [number | bigint, number | bigint],
  operator: string,
  call: KernelCall,
): SqlError {
  // A negation is a subtraction from zero that the text does not show.
  const shown = call.types.length === 1 ? `-(${right})` : `${left} ${operator} ${right}`;
  const message = `expected a result within ${sqlTypeName(call.type)}, found ${shown}`;
  return new SqlError('overflow', message, call.position);
}

function divisionByZero(
  values: readonly (number | bigint | string)[],
  operator: string,
  call: KernelCall,
): SqlError {
  return new SqlError(
    'value',
    `expected a divisor other than zero, found ${values[0]} ${operator} ${values[1]}`,
    call.position,
  );
}

/** Integer division truncates; the remainder has the sign of the dividend. */
const onNumbers: Readonly<Record<ArithmeticOperator, (left: number, right: number) => number>> = {
  '+': (left, right) => left + right,
  '-': (left, right) => left - right,
  '*': (left, right) => left * right,
  '/': (left, right) => Math.trunc(left / right),
  '%': (left, right) => left % right,
};

const onBigints: Readonly<Record<ArithmeticOperator, (left: bigint, right: bigint) => bigint>> = {
  '+': (left, right) => left + right,
  '-': (left, right) => left - right,
  '*': (left, right) => left * right,
  '/': (left, right) => left / right,
  '%': (left, right) => left % right,
};

const onFloats: Readonly<Record<ArithmeticOperator, (left: number, right: number) => number>> = {
  ...onNumbers,
  '/': (left, right) => left / right,
};

function divides(operator: ArithmeticOperator): boolean {
  return operator === '/' || operator === '%';
}

/**
 * Integers of up to 32 bits in doubles. A product may pass 2^53 and be inexact,
 * but then it is far outside the type as well.
 */
function smallIntegers(
  operator: ArithmeticOperator,
  left: Numbers,
  right: Numbers,
  into: { [row: number]: number },
  valid: Valid,
  call: KernelCall,
): void {
  const [least, greatest] = integerRange(integerOf(call.type)).map(Number) as [number, number];
  const compute = onNumbers[operator];
  const division = divides(operator);
  for (let row = 0; row < call.length; row++) {
    if (valid !== null && valid[row] === 0) continue;
    const [x, y] = [left[row]!, right[row]!];
    if (division && y === 0) throw divisionByZero([x, y], operator, call);
    const result = compute(x, y);
    if (result > greatest || result < least) throw overflow([x, y], operator, call);
    into[row] = result;
  }
}

function largeIntegers(
  operator: ArithmeticOperator,
  left: Bigints,
  right: Bigints,
  into: { [row: number]: bigint },
  valid: Valid,
  call: KernelCall,
  range: readonly [bigint, bigint],
): void {
  const [least, greatest] = range;
  const compute = onBigints[operator];
  const division = divides(operator);
  for (let row = 0; row < call.length; row++) {
    if (valid !== null && valid[row] === 0) continue;
    const [x, y] = [left[row]!, right[row]!];
    if (division && y === 0n) throw divisionByZero([x, y], operator, call);
    const result = compute(x, y);
    if (result > greatest || result < least) throw overflow([x, y], operator, call);
    into[row] = result;
  }
}

function integers(
  operator: ArithmeticOperator,
  left: Column,
  right: Column,
  valid: Valid,
  call: KernelCall,
): Column {
  const storage = storageOf(call.type);
  if (storage.kind === 'number' && left.kind === 'number' && right.kind === 'number') {
    const values = new storage.array(call.length);
    smallIntegers(operator, left.values, right.values, values, valid, call);
    return { kind: 'number', length: call.length, values, valid };
  }
  const values =
    storage.kind === 'bigint' ? new storage.array(call.length) : new BigInt64Array(call.length);
  largeIntegers(
    operator,
    bigintsOf(left),
    bigintsOf(right),
    values,
    valid,
    call,
    integerRange(integerOf(call.type)),
  );
  return { kind: 'bigint', length: call.length, values, valid };
}

function floats(
  operator: ArithmeticOperator,
  left: Column,
  right: Column,
  valid: Valid,
  call: KernelCall,
): Column {
  const [a, b] = [doublesOf(left), doublesOf(right)];
  const results = new Float64Array(call.length);
  const compute = onFloats[operator];
  for (let row = 0; row < results.length; row++) results[row] = compute(a[row]!, b[row]!);
  return {
    kind: 'number',
    length: call.length,
    values: isSingle(call.type) ? new Float32Array(results) : results,
    valid,
  };
}

function decimalScale(type: DataType): number {
  return familyOf(type) === 'decimal' ? (type as Decimal).scale : 0;
}

/** Factors that bring two decimals to the scale of the result. */
function decimalFactors(
  operator: ArithmeticOperator,
  { type, types }: KernelCall,
): readonly [bigint, bigint] {
  const { scale } = type as Decimal;
  const [left, right] = types.map(decimalScale) as [number, number];
  if (operator === '*') return [1n, 1n];
  return operator === '/'
    ? [10n ** BigInt(scale - left + right), 1n]
    : [10n ** BigInt(scale - left), 10n ** BigInt(scale - right)];
}

/** Throws SqlError `value` for a divisor of zero, with the operands as they are written. */
function checkDivisors(
  operator: ArithmeticOperator,
  columns: readonly [Column, Column],
  valid: Valid,
  call: KernelCall,
): void {
  const [dividends, divisors] = columns.map((column) => scaledValues(column, 1n)) as [
    Bigints,
    Bigints,
  ];
  const show = (value: bigint, side: number): string =>
    formatDecimal({ value, scale: decimalScale(call.types[side]!) });
  for (let row = 0; row < call.length; row++) {
    if (divisors[row] === 0n && (valid === null || valid[row] === 1)) {
      throw divisionByZero([show(dividends[row]!, 0), show(0n, 1)], operator, call);
    }
  }
}

/** Sums need one scale on both sides; a product's scale is the sum of the scales. */
function decimals(
  operator: ArithmeticOperator,
  left: Column,
  right: Column,
  valid: Valid,
  call: KernelCall,
): Column {
  const greatest = 10n ** BigInt((call.type as Decimal).precision) - 1n;
  const values = Array.from({ length: call.length }, () => 0n);
  const factors = decimalFactors(operator, call);
  const [a, b] = [scaledValues(left, factors[0]), scaledValues(right, factors[1])];
  if (divides(operator)) checkDivisors(operator, [left, right], valid, call);
  largeIntegers(operator, a, b, values, valid, call, [-greatest, greatest]);
  return { kind: 'wide', length: call.length, values, valid };
}

/** The kernel of an operator on two numbers; the type of the call selects the arithmetic. */
export function arithmeticKernel(operator: ArithmeticOperator): Kernel {
  return kernelOf(2, ([left, right], call) => {
    const valid = bothValid(validOf(left), validOf(right));
    const family = familyOf(call.type);
    const compute = family === 'integer' ? integers : family === 'float' ? floats : decimals;
    return compute(operator, left, right, valid, call);
  });
}

/** `-x`. The least integer of a type cannot be negated in it. */
export const negateKernel: Kernel = kernelOf(1, ([column], call) => {
  const operand = column;
  const valid = validOf(operand);
  if (familyOf(call.type) === 'float') {
    const values = doublesOf(operand).map((value) => -value);
    return {
      kind: 'number',
      length: call.length,
      values: isSingle(call.type) ? new Float32Array(values) : values,
      valid,
    };
  }
  if (operand.kind === 'wide') return { ...operand, values: operand.values.map((value) => -value) };
  const zero: Column = {
    kind: 'bigint',
    length: call.length,
    values: new BigInt64Array(call.length),
    valid: null,
  };
  const small: Column = {
    kind: 'number',
    length: call.length,
    values: new Int32Array(call.length),
    valid: null,
  };
  return integers(
    '-',
    operand.kind === 'number' && storageOf(call.type).kind === 'number' ? small : zero,
    operand,
    valid,
    call,
  );
});
