import type { DataType } from 'apache-arrow';
import {
  TimestampMicrosecond,
  TimestampMillisecond,
  TimestampNanosecond,
  TimestampSecond,
} from 'apache-arrow';
import type { Bound, Kernel } from '../bound.ts';
import { dayNanoseconds, dayOf, daysOf, splitDays } from '../calendar.ts';
import { canCast } from '../cast.ts';
import { castTo } from '../coerce.ts';
import { excerpt, SqlError } from '../errors.ts';
import { int64Type } from '../literals.ts';
import { call, nullLiteral } from '../node.ts';
import { buildSteps, floorDivide, stepsOf } from '../temporal.ts';
import { dateType, familyOf, stepOf } from '../types.ts';
import { requireUtc } from '../zone.ts';
import { dateBinRow } from './date-bin.ts';
import { datePartRow } from './date-part.ts';
import type { FunctionCall, FunctionRow } from './function-row.ts';
import { checkCount, wrongArgument } from './function-row.ts';

/** The beginning of a unit, in nanoseconds since 1970. */
type Truncate = (nanoseconds: bigint) => bigint;

function toMonth(months: number): Truncate {
  return (nanoseconds) => {
    const { year, month } = dayOf(splitDays(nanoseconds).days);
    const first = month - ((month - 1) % months);
    return BigInt(daysOf({ year, month: first, day: 1 })) * dayNanoseconds;
  };
}

/** Weeks begin on Monday. */
function toWeek(nanoseconds: bigint): bigint {
  const { days } = splitDays(nanoseconds);
  return BigInt(days - ((((days + 3) % 7) + 7) % 7)) * dayNanoseconds;
}

function toStep(step: bigint): Truncate {
  return (nanoseconds) => floorDivide(nanoseconds, step) * step;
}

const units: ReadonlyMap<string, Truncate> = new Map([
  ['year', toMonth(12)],
  ['quarter', toMonth(3)],
  ['month', toMonth(1)],
  ['week', toWeek],
  ['day', toStep(dayNanoseconds)],
  ['hour', toStep(3_600_000_000_000n)],
  ['minute', toStep(60_000_000_000n)],
  ['second', toStep(1_000_000_000n)],
  ['millisecond', toStep(1_000_000n)],
  ['microsecond', toStep(1000n)],
]);

const truncUsage = "date_trunc('unit', value)";

function unitOf(made: FunctionCall): Truncate {
  const [unit] = made.arguments;
  const text = unit?.kind === 'literal' && typeof unit.value === 'string' ? unit.value : undefined;
  const found = text === undefined ? undefined : units.get(text.toLowerCase().replace(/s$/, ''));
  if (found === undefined) {
    const shown = text === undefined ? 'no literal' : `'${excerpt(text)}'`;
    throw new SqlError(
      'value',
      `expected one of ${[...units.keys()].join(', ')} as the unit of date_trunc, found ${shown}`,
      unit!.position,
    );
  }
  return found;
}

function truncKernel(truncate: Truncate): Kernel {
  return ([column], call) => {
    const from = stepsOf(column!);
    const [step, target] = [stepOf(call.types[0]!), stepOf(call.type)];
    return buildSteps([from], call.type, call, (row) =>
      floorDivide(truncate(BigInt(from.values[row]!) * step), target),
    );
  };
}

/** A date becomes a timestamp of nanoseconds, as in DataFusion. */
const dateTruncRow: FunctionRow = {
  usage: truncUsage,
  bind(made) {
    checkCount(truncUsage, made, 2, 2);
    const truncate = unitOf(made);
    const given = made.arguments[1]!;
    const value =
      familyOf(given.type) === 'null'
        ? nullLiteral(new TimestampNanosecond(), given.position)
        : given;
    const family = familyOf(value.type);
    if (family !== 'date' && family !== 'timestamp') {
      throw wrongArgument(truncUsage, 'a date or timestamp', 2, given);
    }
    requireUtc(value.type, 'it is truncated', given.position);
    const type = family === 'date' ? new TimestampNanosecond() : value.type;
    return call({
      name: made.name,
      type,
      arguments: [value],
      kernel: truncKernel(truncate),
      position: made.position,
      fallible: true,
    });
  },
};

/** Steps of one unit as steps of another. */
function rescaleKernel(step: bigint): Kernel {
  return ([column], call) => {
    const from = stepsOf(column!);
    return buildSteps([from], call.type, call, (row) =>
      floorDivide(BigInt(from.values[row]!) * step, stepOf(call.type)),
    );
  };
}

/** A text, date or timestamp by a cast; an integer counts in steps of `step` nanoseconds. */
function toTimestamp(name: string, type: DataType, step: bigint): FunctionRow {
  const usage = `${name}(value)`;
  return {
    usage,
    bind(made): Bound {
      checkCount(usage, made, 1, 1);
      const given = made.arguments[0]!;
      const value =
        familyOf(given.type) === 'null' ? nullLiteral(int64Type, given.position) : given;
      const family = familyOf(value.type);
      if (family === 'integer') {
        return call({
          name,
          type,
          arguments: [value],
          kernel: rescaleKernel(step),
          position: made.position,
          fallible: true,
        });
      }
      if (family === 'float' || !canCast(value.type, type)) {
        throw wrongArgument(usage, 'a string, an integer, a date or a timestamp', 1, given);
      }
      return castTo(value, type, made.position);
    },
  };
}

const toDateRow: FunctionRow = {
  usage: 'to_date(value)',
  bind(made): Bound {
    checkCount('to_date(value)', made, 1, 1);
    const value = made.arguments[0]!;
    if (familyOf(value.type) === 'integer' || !canCast(value.type, dateType)) {
      throw wrongArgument('to_date(value)', 'a string, a date or a timestamp', 1, value);
    }
    requireUtc(value.type, 'it becomes a date', made.position);
    return castTo(value, dateType, made.position);
  },
};

/** Functions of dates and times. None of them reads the clock. */
export const temporalFunctions: Readonly<Record<string, FunctionRow>> = {
  date_bin: dateBinRow,
  date_part: datePartRow,
  datepart: datePartRow,
  date_trunc: dateTruncRow,
  datetrunc: dateTruncRow,
  to_date: toDateRow,
  to_timestamp: toTimestamp('to_timestamp', new TimestampNanosecond(), 1_000_000_000n),
  to_timestamp_seconds: toTimestamp('to_timestamp_seconds', new TimestampSecond(), 1_000_000_000n),
  to_timestamp_millis: toTimestamp('to_timestamp_millis', new TimestampMillisecond(), 1_000_000n),
  to_timestamp_micros: toTimestamp('to_timestamp_micros', new TimestampMicrosecond(), 1000n),
  to_timestamp_nanos: toTimestamp('to_timestamp_nanos', new TimestampNanosecond(), 1n),
};
