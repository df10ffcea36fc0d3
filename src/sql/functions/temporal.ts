import {
  TimeSecond,
  TimestampMicrosecond,
  TimestampMillisecond,
  TimestampNanosecond,
  TimestampSecond,
  type DataType,
} from 'apache-arrow';
import { kernelOf, type Bound, type Kernel } from '../evaluate/bound.ts';
import { dayOf, daysSinceEpoch, floorDivide } from '../values/calendar.ts';
import { canCast } from '../cast/cast.ts';
import { formatFloat } from '../cast/cast-values.ts';
import { castTo, coerce, timestampOf } from '../cast/coerce.ts';
import { SqlError } from '../values/sql-error.ts';
import { int64Type } from '../cast/literals.ts';
import { call, nullLiteral } from '../evaluate/node.ts';
import { buildSteps, stepColumn } from '../evaluate/temporal.ts';
import { sameType } from '../../arrow/types.ts';
import { dateType, familyOf, stepOf } from '../values/types.ts';
import { bigintsOf, doublesOf } from '../values/widen.ts';
import { clockOf, type ZoneClock } from '../values/zone-clock.ts';
import { dateBinRow } from './date-bin.ts';
import { datePartRow } from './date-part.ts';
import { dateTruncRow } from './date-trunc.ts';
import { bindFormatted, toCharRow, toTimeRow } from './date-text.ts';
import { checkCount, fitArgument, wrongArgument, type FunctionRow } from './function-row.ts';

/** Steps of one unit as steps of another. */
function rescaleKernel(step: bigint): Kernel {
  return kernelOf(1, ([column], call) => {
    const from = stepColumn(column);
    return buildSteps([from], call.type, call, (row) =>
      floorDivide(BigInt(from.values[row]!) * step, stepOf(call.type)),
    );
  });
}

/** Fractional numbers as steps of `step` nanoseconds; NaN is null. */
function floatKernel(step: bigint): Kernel {
  return kernelOf(1, ([column], call) => {
    const seconds = doublesOf(column);
    const target = stepOf(call.type);
    return buildSteps([column], call.type, call, (row) => {
      const value = seconds[row]!;
      if (!Number.isFinite(value)) {
        const message = `expected a finite number in ${call.name}, found ${formatFloat(value)}`;
        throw new SqlError('value', message, call.position);
      }
      const whole = Math.floor(value);
      const rest = Math.round((value - whole) * Number(step));
      return floorDivide(BigInt(whole) * step + BigInt(rest), target);
    });
  });
}

/** A text, date or timestamp is cast or parsed; a number counts steps of `step` nanoseconds. */
function toTimestamp(name: string, type: DataType, step: bigint): FunctionRow {
  const usage = `${name}(value[, 'format', ...])`;
  return {
    usage,
    bind(made): Bound {
      checkCount(usage, made, 1, Infinity);
      if (made.arguments.length > 1) return bindFormatted(usage, type, made);
      const given = made.arguments[0];
      const isNull = familyOf(given.type) === 'null';
      const value = isNull ? nullLiteral(int64Type, given.position) : given;
      const family = familyOf(value.type);
      if (family === 'integer' || family === 'float') {
        const kernel = family === 'integer' ? rescaleKernel(step) : floatKernel(step);
        const { position } = made;
        return call({ name, type, arguments: [value], kernel, position, fallible: true });
      }
      if (!canCast(value.type, type)) {
        throw wrongArgument(usage, 'a string, a number, a date or a timestamp', 1, given);
      }
      return castTo(value, type, made.position);
    },
  };
}

const toDateUsage = "to_date(value[, 'format', ...])";

/** An integer counts days since 1970. */
const toDateRow: FunctionRow = {
  usage: toDateUsage,
  bind(made): Bound {
    checkCount(toDateUsage, made, 1, Infinity);
    if (made.arguments.length > 1) return bindFormatted(toDateUsage, dateType, made);
    const value = made.arguments[0];
    if (!canCast(value.type, dateType)) {
      throw wrongArgument(toDateUsage, 'a string, an integer, a date or a timestamp', 1, value);
    }
    return castTo(value, dateType, made.position);
  },
};

const unixTimeUsage = "to_unixtime(value[, 'format', ...])";

/** Whole seconds since 1970, rounded down. */
const unixTimeKernel: Kernel = kernelOf(1, ([column], made) => {
  const from = stepColumn(column);
  const step = stepOf(made.types[0]);
  return buildSteps([from], int64Type, made, (row) =>
    floorDivide(BigInt(from.values[row]!) * step, 1_000_000_000n),
  );
});

const toUnixTimeRow: FunctionRow = {
  usage: unixTimeUsage,
  bind(made): Bound {
    checkCount(unixTimeUsage, made, 1, Infinity);
    const value = made.arguments[0];
    if (made.arguments.length === 1 && familyOf(value.type) === 'integer') {
      return coerce(value, int64Type);
    }
    const { name, position } = made;
    const moment = secondsRow.bind(made);
    const args = [moment];
    return call({
      name,
      type: int64Type,
      arguments: args,
      kernel: unixTimeKernel,
      position,
      fallible: true,
    });
  },
};

const fromUnixTimeRow: FunctionRow = {
  usage: 'from_unixtime(seconds)',
  bind(made): Bound {
    checkCount('from_unixtime(seconds)', made, 1, 1);
    const seconds = fitArgument('from_unixtime(seconds)', 'integer', made.arguments[0], 1);
    return castTo(seconds, new TimestampSecond(), made.position);
  },
};

const localUsage = 'to_local_time(timestamp)';

/** Local time of the zone, in a type without a zone. */
function localKernel(clock: ZoneClock): Kernel {
  return kernelOf(1, ([column], made) => {
    const from = stepColumn(column);
    const step = stepOf(made.type);
    return buildSteps([from], made.type, made, (row) =>
      floorDivide(clock.local(BigInt(from.values[row]!) * step), step),
    );
  });
}

/** Local time of a timestamp, without its zone. */
const toLocalTimeRow: FunctionRow = {
  usage: localUsage,
  bind(made): Bound {
    checkCount(localUsage, made, 1, 1);
    const value = made.arguments[0];
    if (familyOf(value.type) !== 'timestamp') {
      throw wrongArgument(localUsage, 'a timestamp', 1, value);
    }
    const type = timestampOf(stepOf(value.type), null);
    const clock = clockOf(value.type, value.position);
    if (clock !== undefined) {
      const { name, position } = made;
      const kernel = localKernel(clock);
      return call({ name, type, arguments: [value], kernel, position, fallible: true });
    }
    return sameType(value.type, type) ? value : castTo(value, type, made.position);
  },
};

/** Three integers as a day or a time; undefined if there is none. */
function partsKernel(compute: (parts: readonly bigint[]) => bigint | undefined): Kernel {
  return (columns, made) => {
    const all = columns.map(bigintsOf);
    return buildSteps(columns, made.type, made, (row) => {
      const given = all.map((values) => values[row]!);
      const found = compute(given);
      if (found === undefined) {
        const what = familyOf(made.type) === 'date' ? 'a day of the calendar' : 'a time of the day';
        const message = `expected the parts of ${what} in ${made.name}, found ${given.join(', ')}`;
        throw new SqlError('value', message, made.position);
      }
      return found;
    });
  };
}

function dayOfParts([year, month, day]: readonly bigint[]): bigint | undefined {
  const wanted = { year: Number(year), month: Number(month), day: Number(day) };
  const days =
    Math.abs(wanted.year) > 262_142 || wanted.month < 1 || wanted.month > 12
      ? NaN
      : daysSinceEpoch(wanted);
  const found = Number.isNaN(days) || wanted.day < 1 || wanted.day > 31 ? undefined : dayOf(days);
  return found?.month === wanted.month && found.day === wanted.day ? BigInt(days) : undefined;
}

function timeOfParts([hour, minute, second]: readonly bigint[]): bigint | undefined {
  const fits = (value: bigint, limit: bigint): boolean => value >= 0n && value < limit;
  const real = fits(hour!, 24n) && fits(minute!, 60n) && fits(second!, 60n);
  return real ? hour! * 3600n + minute! * 60n + second! : undefined;
}

function partsRow(usage: string, type: DataType, kernel: Kernel): FunctionRow {
  const integer = (each: Bound, at: number): Bound =>
    familyOf(each.type) === 'text'
      ? castTo(each, int64Type, each.position)
      : fitArgument(usage, 'integer', each, at + 1);
  return {
    usage,
    bind(made) {
      checkCount(usage, made, 3, 3);
      const args = made.arguments.map(integer);
      const { name, position } = made;
      return call({ name, type, arguments: args, kernel, position, fallible: true });
    },
  };
}

const secondsRow = toTimestamp('to_timestamp_seconds', new TimestampSecond(), 1_000_000_000n);

/** Functions of dates and times. They do not read the clock. */
export const temporalFunctions: Readonly<Record<string, FunctionRow>> = {
  date_bin: dateBinRow,
  date_part: datePartRow,
  datepart: datePartRow,
  date_trunc: dateTruncRow,
  datetrunc: dateTruncRow,
  to_date: toDateRow,
  to_char: toCharRow,
  date_format: toCharRow,
  to_time: toTimeRow,
  to_unixtime: toUnixTimeRow,
  from_unixtime: fromUnixTimeRow,
  to_local_time: toLocalTimeRow,
  make_date: partsRow('make_date(year, month, day)', dateType, partsKernel(dayOfParts)),
  make_time: partsRow(
    'make_time(hour, minute, second)',
    new TimeSecond(),
    partsKernel(timeOfParts),
  ),
  to_timestamp: toTimestamp('to_timestamp', new TimestampNanosecond(), 1_000_000_000n),
  to_timestamp_seconds: secondsRow,
  to_timestamp_millis: toTimestamp('to_timestamp_millis', new TimestampMillisecond(), 1_000_000n),
  to_timestamp_micros: toTimestamp('to_timestamp_micros', new TimestampMicrosecond(), 1000n),
  to_timestamp_nanos: toTimestamp('to_timestamp_nanos', new TimestampNanosecond(), 1n),
};
