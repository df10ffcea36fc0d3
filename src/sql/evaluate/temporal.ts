import type { DataType } from 'apache-arrow';
import { addMonths, dayNanoseconds, floorDivide, splitDays } from '../values/calendar.ts';
import { kernelOf, type Kernel, type KernelCall } from './bound.ts';
import type { Column, NumberColumn, BigintColumn } from '../values/column.ts';
import { SqlError } from '../values/sql-error.ts';
import type { Interval } from '../values/expression.ts';
import { storageOf } from '../values/storage.ts';
import { allValid } from '../values/text.ts';
import { stepOf, sqlTypeName } from '../values/types.ts';
import type { ZoneClock } from '../values/zone-clock.ts';

/** A column of dates, times, timestamps, durations or plain integers. */
type StepColumn = NumberColumn | BigintColumn;

/** The column as steps; null for nulls without a type. */
export function stepColumn(column: Column): StepColumn {
  if (column.kind === 'number' || column.kind === 'bigint') return column;
  throw new TypeError(`a ${column.kind} column has no steps of time`);
}

const widest = (1n << 63n) - 1n;
const widestDay = 2_147_483_647n;

/** Throws SqlError `overflow` when a step of time does not fit its type. */
function checkedStep(step: bigint, type: DataType, position: number): bigint {
  const limit = storageOf(type).kind === 'number' ? widestDay : widest;
  if (step > limit || step < -limit - 1n) {
    throw new SqlError(
      'overflow',
      `expected a result within ${sqlTypeName(type)}, found ${step} steps`,
      position,
    );
  }
  return step;
}

/** Computes the step of each row that has a value in all columns, and checks that it fits. */
export function buildSteps(
  columns: readonly Column[],
  type: DataType,
  call: Pick<KernelCall, 'length' | 'position'>,
  step: (row: number) => bigint,
): Column {
  const valid = allValid(columns);
  const storage = storageOf(type);
  const { length, position } = call;
  const values = storage.kind === 'bigint' ? new storage.array(length) : new BigInt64Array(length);
  for (let row = 0; row < length; row++) {
    if (valid === null || valid[row] === 1) values[row] = checkedStep(step(row), type, position);
  }
  return storage.kind === 'number'
    ? { kind: 'number', length, values: Int32Array.from(values, Number), valid }
    : { kind: 'bigint', length, values, valid };
}

/** Adds months, then days, then the rest to a moment, like PostgreSQL. */
function shiftMoment(
  moment: bigint,
  { months, days, nanoseconds: rest }: Interval,
  sign: number,
  clock: ZoneClock | undefined,
): bigint {
  const split = splitDays(clock?.local(moment) ?? moment);
  const day = addMonths(split.days, months * sign) + days * sign;
  const time = BigInt(day) * dayNanoseconds + split.time;
  return (clock?.nearest(time, moment) ?? time) + rest * BigInt(sign);
}

/**
 * `x + interval`, or `x - interval` for a sign of -1; `x` is a date or a timestamp. Months and
 * days are those of the clocks of its zone, whose days are not all of one length.
 */
export function shiftKernel(
  interval: Interval,
  sign: 1 | -1,
  clock: ZoneClock | undefined,
): Kernel {
  return kernelOf(1, ([column], call) => {
    const from = stepColumn(column);
    const [step, target] = [stepOf(call.types[0]), stepOf(call.type)];
    return buildSteps([from], call.type, call, (row) =>
      floorDivide(shiftMoment(BigInt(from.values[row]!) * step, interval, sign, clock), target),
    );
  });
}

/** Sum or difference of two columns of steps in the finer step of both. */
export function stepSumKernel(sign: 1n | -1n): Kernel {
  return kernelOf(2, ([left, right], call) => {
    const [a, b] = [stepColumn(left), stepColumn(right)];
    const target = stepOf(call.type);
    const [stepA, stepB] = [stepOf(call.types[0]), stepOf(call.types[1])];
    return buildSteps([a, b], call.type, call, (row) =>
      floorDivide(BigInt(a.values[row]!) * stepA + sign * BigInt(b.values[row]!) * stepB, target),
    );
  });
}

/** The days between two dates. */
export const dayDifferenceKernel: Kernel = kernelOf(2, ([left, right], call) => {
  const [a, b] = [stepColumn(left), stepColumn(right)];
  const [stepA, stepB] = [stepOf(call.types[0]), stepOf(call.types[1])];
  return buildSteps([a, b], call.type, call, (row) =>
    floorDivide(BigInt(a.values[row]!) * stepA - BigInt(b.values[row]!) * stepB, dayNanoseconds),
  );
});
