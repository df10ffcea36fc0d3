import {
  Decimal as DecimalType,
  DurationMicrosecond,
  DurationMillisecond,
  DurationNanosecond,
  DurationSecond,
  Float32,
  TimestampMicrosecond,
  type DataType,
  type Decimal,
  type Timestamp,
} from 'apache-arrow';
import { arithmeticKernel, negateKernel } from '../evaluate/arithmetic.ts';
import type { Bound, BoundLiteral } from '../evaluate/bound.ts';
import { coerce, commonNumber, commonTimestamp, isNumeric, timestampOf } from '../cast/coerce.ts';
import { SqlError } from '../values/sql-error.ts';
import type { ArithmeticOperator, Interval } from '../values/expression.ts';
import { adaptLiteral, decimalOf, float64Type, int64Type } from '../cast/literals.ts';
import { call, literal, nullLiteral } from '../evaluate/node.ts';
import { dayDifferenceKernel, shiftKernel, stepSumKernel } from '../evaluate/temporal.ts';
import { sameType } from '../../arrow/types.ts';
import { familyOf, integerOf, integerType, stepOf, sqlTypeName } from '../values/types.ts';
import { clockOf } from '../values/zone-clock.ts';

/** The operands of an operator that is being bound. */
interface Operation {
  readonly operator: ArithmeticOperator;
  readonly left: Bound;
  readonly right: Bound;
  readonly position: number;
}

function refuse({ operator, left, right, position }: Operation, hint = ''): SqlError {
  const found = `${sqlTypeName(left.type)} ${operator} ${sqlTypeName(right.type)}${hint}`;
  return new SqlError(
    'type',
    `expected operands that ${operator} is defined for, found ${found}`,
    position,
  );
}

const float32 = new Float32();

/** A literal takes the type of the other operand if that type can hold it, otherwise the wider of both types. */
function settle(left: Bound, right: Bound): DataType {
  const [adapts, fixed] = left.kind === 'literal' ? [left, right] : [right, left];
  const adapted = fixed.kind === 'literal' ? undefined : adaptLiteral(adapts, fixed.type);
  return adapted?.type ?? commonNumber(left.type, right.type);
}

/** A number literal next to a decimal keeps its written digits. */
function exactly(node: Bound): Bound {
  const exact =
    node.kind === 'literal' && familyOf(node.type) === 'float' ? decimalOf(node) : undefined;
  return exact === undefined || exact.scale > 38
    ? node
    : literal(new DecimalType(exact.scale, 38, 128), exact.value, node.position);
}

function scaleOf(type: DataType): number {
  return familyOf(type) === 'decimal' ? (type as Decimal).scale : 0;
}

/** A quotient has four more digits of scale than the dividend, up to the maximum precision. */
function decimalScale(operator: ArithmeticOperator, left: number, right: number): number {
  if (operator === '/') return Math.min(38, left + 4);
  return operator === '*' ? left + right : Math.max(left, right);
}

function bindDecimals(operation: Operation): Bound {
  const { operator, position } = operation;
  const [left, right] = [exactly(operation.left), exactly(operation.right)];
  if (familyOf(left.type) === 'float' || familyOf(right.type) === 'float') {
    return bindFloats(
      { ...operation, left: coerce(left, float64Type), right: coerce(right, float64Type) },
      float64Type,
    );
  }
  const [a, b] = [scaleOf(left.type), scaleOf(right.type)];
  const scale = decimalScale(operator, a, b);
  if (scale > 38) {
    throw refuse(
      { ...operation, left, right },
      '; cast one of them to double to compute with floats',
    );
  }
  const type = new DecimalType(scale, 38, 128);
  return call({
    name: operator,
    type,
    arguments: [left, right],
    kernel: arithmeticKernel(operator),
    position,
    fallible: true,
  });
}

function bindFloats({ operator, left, right, position }: Operation, type: DataType): Bound {
  const narrow = sameType(type, float32)
    ? [coerce(left, type), coerce(right, type)]
    : [left, right];
  return call({
    name: operator,
    type,
    arguments: narrow,
    kernel: arithmeticKernel(operator),
    position,
    fallible: false,
  });
}

function bindNumbers(operation: Operation): Bound {
  const { operator, left, right, position } = operation;
  if (familyOf(left.type) === 'decimal' || familyOf(right.type) === 'decimal') {
    return bindDecimals(operation);
  }
  const type = settle(left, right);
  if (familyOf(type) === 'float') return bindFloats(operation, type);
  // A literal gets the form of the type; columns of two widths meet in the kernel.
  const args = [left, right].map((node) =>
    node.kind === 'literal' ? (adaptLiteral(node, type) ?? node) : node,
  );
  return call({
    name: operator,
    type,
    arguments: args,
    kernel: arithmeticKernel(operator),
    position,
    fallible: true,
  });
}

function isInterval(node: Bound): node is BoundLiteral {
  return node.kind === 'literal' && familyOf(node.type) === 'interval';
}

function isMoment(node: Bound): boolean {
  const family = familyOf(node.type);
  return family === 'date' || family === 'timestamp';
}

/** A date plus hours is a timestamp; a date plus days is a date. */
function shiftedType(type: DataType, { nanoseconds }: Interval): DataType {
  return familyOf(type) === 'date' && nanoseconds !== 0n ? new TimestampMicrosecond() : type;
}

function shift(operand: Bound, interval: Interval, sign: 1 | -1, position: number): Bound {
  const byDays = interval.months !== 0 || interval.days !== 0;
  const clock = byDays ? clockOf(operand.type, operand.position) : undefined;
  const type = shiftedType(operand.type, interval);
  return call({
    name: 'shift',
    type,
    arguments: [operand],
    kernel: shiftKernel(interval, sign, clock),
    position,
    fallible: true,
  });
}

const durations: ReadonlyMap<bigint, DataType> = new Map<bigint, DataType>([
  [1n, new DurationNanosecond()],
  [1000n, new DurationMicrosecond()],
  [1_000_000n, new DurationMillisecond()],
  [1_000_000_000n, new DurationSecond()],
]);

function durationOf(left: DataType, right: DataType): DataType {
  const [a, b] = [stepOf(left), stepOf(right)];
  const finer = a < b ? a : b;
  return durations.get(finer) ?? durations.get(1_000_000_000n)!;
}

function stepSum(operation: Operation, type: DataType): Bound {
  const { left, right, position } = operation;
  const kernel = stepSumKernel(operation.operator === '+' ? 1n : -1n);
  return call({
    name: operation.operator,
    type,
    arguments: [left, right],
    kernel,
    position,
    fallible: true,
  });
}

function momentPlusDuration(operation: Operation, moment: DataType, duration: DataType): Bound {
  const [a, b] = [stepOf(moment), stepOf(duration)];
  const zone = familyOf(moment) === 'timestamp' ? ((moment as Timestamp).timezone ?? null) : null;
  return stepSum(operation, timestampOf(a < b ? a : b, zone));
}

function difference(operation: Operation): Bound {
  const { left, right, position } = operation;
  const days = familyOf(left.type) === 'date' && familyOf(right.type) === 'date';
  if (!days) {
    const common = commonTimestamp(left.type, right.type);
    return stepSum(operation, durationOf(common, common));
  }
  return call({
    name: '-',
    type: int64Type,
    arguments: [left, right],
    kernel: dayDifferenceKernel,
    position,
    fallible: true,
  });
}

/** Sums of dates, timestamps, intervals and durations; undefined for other operands. */
function bindTemporal(operation: Operation): Bound | undefined {
  const { operator, left, right, position } = operation;
  if (operator !== '+' && operator !== '-') return undefined;
  if (isMoment(left) && isInterval(right)) {
    return shift(left, right.value as Interval, operator === '+' ? 1 : -1, position);
  }
  if (isInterval(left) && isMoment(right) && operator === '+') {
    return shift(right, left.value as Interval, 1, position);
  }
  if (isMoment(left) && isMoment(right) && operator === '-') return difference(operation);
  const [a, b] = [familyOf(left.type), familyOf(right.type)];
  if (isMoment(left) && b === 'duration') {
    return momentPlusDuration(operation, left.type, right.type);
  }
  if (a === 'duration' && isMoment(right) && operator === '+') {
    return momentPlusDuration(operation, right.type, left.type);
  }
  return a === 'duration' && b === 'duration'
    ? stepSum(operation, durationOf(left.type, right.type))
    : undefined;
}

/** A null operand takes the type of the other operand; two nulls are int64. */
function withNulls(operation: Operation): Operation {
  const { left, right } = operation;
  const [a, b] = [familyOf(left.type) === 'null', familyOf(right.type) === 'null'];
  if (!a && !b) return operation;
  const other = a ? right.type : left.type;
  const type = isNumeric(other) || familyOf(other) === 'duration' ? other : int64Type;
  const filled = (node: Bound, isNull: boolean): Bound =>
    isNull ? nullLiteral(type, node.position) : node;
  return { ...operation, left: filled(left, a), right: filled(right, b) };
}

/** `left operator right`. Throws SqlError `type` if the operator does not support the operand types. */
export function bindArithmetic(
  operator: ArithmeticOperator,
  left: Bound,
  right: Bound,
  position: number,
): Bound {
  const operation = withNulls({ operator, left, right, position });
  if (isNumeric(operation.left.type) && isNumeric(operation.right.type)) {
    return bindNumbers(operation);
  }
  const bound = bindTemporal(operation);
  if (bound === undefined) throw refuse(operation);
  return bound;
}

/** Negating an unsigned integer needs a wider signed type. */
function negatedType(type: DataType): DataType {
  if (familyOf(type) !== 'integer') return type;
  const { signed, width } = integerOf(type);
  return signed ? type : integerType({ signed: true, width: Math.min(64, width * 2) });
}

/** `-operand`. Throws SqlError `type` if the operand is neither a number nor an interval. */
export function bindNegation(operand: Bound, position: number): Bound {
  if (isInterval(operand)) {
    const { months, days, nanoseconds } = operand.value as Interval;
    return literal(
      operand.type,
      Object.freeze({ months: -months, days: -days, nanoseconds: -nanoseconds }),
      position,
    );
  }
  const typed = familyOf(operand.type) === 'null' ? nullLiteral(int64Type, position) : operand;
  if (!isNumeric(typed.type)) {
    throw new SqlError(
      'type',
      `expected a number after -, found ${sqlTypeName(operand.type)}`,
      position,
    );
  }
  const type = negatedType(typed.type);
  const fallible = familyOf(type) === 'integer';
  return call({ name: '-', type, arguments: [typed], kernel: negateKernel, position, fallible });
}
