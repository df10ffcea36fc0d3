import { TimestampNanosecond } from 'apache-arrow';
import type { Bound, Kernel } from '../bound.ts';
import { dayNanoseconds } from '../calendar.ts';
import { SqlError } from '../errors.ts';
import type { Interval } from '../expression.ts';
import { call, nullLiteral } from '../node.ts';
import { buildSteps, floorDivide, stepsOf } from '../temporal.ts';
import { familyOf, stepOf } from '../types.ts';
import { requireUtc } from '../zone.ts';
import type { FunctionRow } from './function-row.ts';
import { checkCount, wrongArgument } from './function-row.ts';

const usage = 'date_bin(interval, value[, origin])';

/** The width of a bin in nanoseconds. Months have no one width. */
function strideOf(argument: Bound): bigint {
  if (argument.kind !== 'literal' || familyOf(argument.type) !== 'interval') {
    throw wrongArgument(usage, 'an interval literal', 1, argument);
  }
  const { months, days, nanoseconds } = argument.value as Interval;
  const stride = BigInt(days) * dayNanoseconds + nanoseconds;
  if (months !== 0 || stride <= 0n) {
    const found = months === 0 ? `${stride} ns` : `${months} ${months === 1 ? 'month' : 'months'}`;
    const message = `expected a bin of days and times above 0 in date_bin, found ${found}`;
    throw new SqlError('value', message, argument.position);
  }
  return stride;
}

/** A date or timestamp; a null of no type is a timestamp. */
function momentArgument(argument: Bound, at: number): Bound {
  const family = familyOf(argument.type);
  if (family === 'null') {
    return nullLiteral(new TimestampNanosecond(), argument.position);
  }
  if (family !== 'date' && family !== 'timestamp') {
    throw wrongArgument(usage, 'a date or timestamp', at, argument);
  }
  requireUtc(argument.type, 'it is put into bins', argument.position);
  return argument;
}

/** Bins are counted from the origin, 1970 unless there is one, in both directions. */
function binKernel(stride: bigint): Kernel {
  return ([column, origin], made) => {
    const [from, base] = [stepsOf(column!), origin === undefined ? undefined : stepsOf(origin)];
    const [step, originStep] = made.types.map(stepOf);
    const target = stepOf(made.type);
    return buildSteps(base === undefined ? [from] : [from, base], made.type, made, (row) => {
      const start = base === undefined ? 0n : BigInt(base.values[row]!) * originStep!;
      const moment = BigInt(from.values[row]!) * step!;
      return floorDivide(start + floorDivide(moment - start, stride) * stride, target);
    });
  };
}

/** The beginning of the bin a moment lies in. A date becomes a timestamp of nanoseconds, as in DataFusion. */
export const dateBinRow: FunctionRow = {
  usage,
  bind(made) {
    checkCount(usage, made, 2, 3);
    const stride = strideOf(made.arguments[0]!);
    const moments = made.arguments.slice(1).map((argument, at) => momentArgument(argument, at + 2));
    const { type } = moments[0]!;
    return call({
      name: made.name,
      type: familyOf(type) === 'date' ? new TimestampNanosecond() : type,
      arguments: moments,
      kernel: binKernel(stride),
      position: made.position,
      fallible: true,
    });
  },
};
