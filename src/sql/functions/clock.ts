import { TimeNanosecond, TimestampNanosecond, type DataType } from 'apache-arrow';
import { literal } from '../evaluate/node.ts';
import { dayNanoseconds, splitDays } from '../values/calendar.ts';
import { dateType } from '../values/types.ts';
import { checkCount, type FunctionRow } from './function-row.ts';

/** A function without arguments whose value is constant during a statement. */
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

/** Functions of the clock, in UTC. All calls in a statement return the time at which it was bound. */
export const clockFunctions: Readonly<Record<string, FunctionRow>> = {
  now: moment('now'),
  current_timestamp: moment('current_timestamp'),
  current_date: day('current_date'),
  today: day('today'),
  current_time: clockRow('current_time', new TimeNanosecond(), (now) => now % dayNanoseconds),
};
