import type { DataType } from 'apache-arrow';
import { TimeNanosecond, TimestampNanosecond } from 'apache-arrow';
import { dayNanoseconds, splitDays } from '../calendar.ts';
import { literal } from '../node.ts';
import { dateType } from '../types.ts';
import type { FunctionRow } from './function-row.ts';
import { checkCount } from './function-row.ts';

/** A function without arguments that is one value throughout the statement. */
function clockRow(
  name: string,
  type: DataType,
  value: (nanoseconds: bigint) => bigint,
): FunctionRow {
  const usage = `${name}()`;
  return {
    usage,
    bind(made) {
      checkCount(usage, made, 0, 0);
      return literal(type, value(made.now), made.position);
    },
  };
}

function moment(name: string): FunctionRow {
  return clockRow(name, new TimestampNanosecond(), (now) => now);
}

function day(name: string): FunctionRow {
  return clockRow(name, dateType, (now) => BigInt(splitDays(now).days));
}

/** Functions of the clock, in UTC. All of a statement see the moment at which it was bound. */
export const clockFunctions: Readonly<Record<string, FunctionRow>> = {
  now: moment('now'),
  current_timestamp: moment('current_timestamp'),
  current_date: day('current_date'),
  today: day('today'),
  current_time: clockRow('current_time', new TimeNanosecond(), (now) => now % dayNanoseconds),
};
