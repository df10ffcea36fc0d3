import { TimestampNanosecond } from 'apache-arrow';
import { kernelOf, type Bound, type BoundLiteral, type Kernel } from '../evaluate/bound.ts';
import { dayNanoseconds, floorDivide } from '../values/calendar.ts';
import { SqlError } from '../values/sql-error.ts';
import type { Interval } from '../values/expression.ts';
import { parseInterval } from '../values/interval.ts';
import { call, nullLiteral } from '../evaluate/node.ts';
import { buildSteps, stepColumn } from '../evaluate/temporal.ts';
import { familyOf, stepOf } from '../values/types.ts';
import { checkCount, wrongArgument, type FunctionRow } from './function-row.ts';

const usage = 'date_bin(interval, value[, origin])';

/** An interval literal, or a text that can be parsed as one. */
function intervalOf({ type, value }: BoundLiteral): Interval | undefined {
  if (typeof value === 'string') return parseInterval(value, undefined);
  return familyOf(type) === 'interval' && value !== null ? (value as Interval) : undefined;
}

/** The width of a bin in nanoseconds. Months have no fixed width. */
function strideOf(argument: Bound): bigint {
  const interval = argument.kind === 'literal' ? intervalOf(argument) : undefined;
  if (interval === undefined) {
    throw wrongArgument(usage, "an interval such as '1 day'", 1, argument);
  }
  const { months, days, nanoseconds } = interval;
  const stride = BigInt(days) * dayNanoseconds + nanoseconds;
  if (months !== 0 || stride <= 0n) {
    const found = months === 0 ? `${stride} ns` : `${months} ${months === 1 ? 'month' : 'months'}`;
    const message = `expected a bin of days and times above 0 in date_bin, found ${found}`;
    throw new SqlError('value', message, argument.position);
  }
  return stride;
}

/** A date or timestamp argument; an untyped null is a timestamp. */
function momentArgument(argument: Bound, at: number): Bound {
  const family = familyOf(argument.type);
  if (family === 'null') return nullLiteral(new TimestampNanosecond(), argument.position);
  if (family !== 'date' && family !== 'timestamp') {
    throw wrongArgument(usage, 'a date or timestamp', at, argument);
  }
  return argument;
}

/** Bins are counted from the origin, 1970 in UTC unless there is one, in both directions; zones do not count. */
function binKernel(stride: bigint): Kernel {
  return kernelOf(1, ([column, origin], made) => {
    const [from, base] = [
      stepColumn(column),
      origin === undefined ? undefined : stepColumn(origin),
    ];
    const [step, originStep] = made.types.map(stepOf);
    const target = stepOf(made.type);
    return buildSteps(base === undefined ? [from] : [from, base], made.type, made, (row) => {
      const start = base === undefined ? 0n : BigInt(base.values[row]!) * originStep!;
      const moment = BigInt(from.values[row]!) * step!;
      return floorDivide(start + floorDivide(moment - start, stride) * stride, target);
    });
  });
}

/** The beginning of the bin a moment lies in. A date becomes a timestamp of nanoseconds, as in DataFusion. */
export const dateBinRow: FunctionRow = {
  usage,
  bind(made) {
    checkCount(usage, made, 2, 3);
    const stride = strideOf(made.arguments[0]);
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
