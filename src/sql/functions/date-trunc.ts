import { TimestampNanosecond } from 'apache-arrow';
import { kernelOf, type Kernel } from '../evaluate/bound.ts';
import {
  dayNanoseconds,
  dayOf,
  daysSinceEpoch,
  floorDivide,
  splitDays,
} from '../values/calendar.ts';
import { excerpt, SqlError } from '../values/sql-error.ts';
import { call, nullLiteral } from '../evaluate/node.ts';
import { buildSteps, stepColumn } from '../evaluate/temporal.ts';
import { familyOf, stepOf } from '../values/types.ts';
import { clockOf, type ZoneClock } from '../values/zone-clock.ts';
import { checkCount, wrongArgument, type FunctionCall, type FunctionRow } from './function-row.ts';

/** The beginning of a unit, in nanoseconds since 1970. */
type Truncate = (nanoseconds: bigint) => bigint;

function toMonth(months: number): Truncate {
  return (nanoseconds) => {
    const { year, month } = dayOf(splitDays(nanoseconds).days);
    const first = month - ((month - 1) % months);
    return BigInt(daysSinceEpoch({ year, month: first, day: 1 })) * dayNanoseconds;
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

/** Units of a time of day. */
const dayUnits: ReadonlySet<string> = new Set([
  'hour',
  'minute',
  'second',
  'millisecond',
  'microsecond',
]);

function unitName({ arguments: [unit] }: FunctionCall): string {
  const text = unit?.kind === 'literal' && typeof unit.value === 'string' ? unit.value : '';
  return text.toLowerCase().replace(/s$/, '');
}

function unitOf(made: FunctionCall): Truncate {
  const [unit] = made.arguments;
  const text = unit?.kind === 'literal' && typeof unit.value === 'string' ? unit.value : undefined;
  const found = text === undefined ? undefined : units.get(unitName(made));
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

/** Units whose start depends on the time zone; the others have a fixed length. */
const clockUnits: ReadonlySet<string> = new Set([
  'year',
  'quarter',
  'month',
  'week',
  'day',
  'hour',
]);

/** The start of a unit in local time of a zone. */
function byClock(truncate: Truncate, clock: ZoneClock): Truncate {
  return (moment) => clock.nearest(truncate(clock.local(moment)), moment);
}

function truncKernel(truncate: Truncate): Kernel {
  return kernelOf(1, ([column], call) => {
    const from = stepColumn(column);
    const [step, target] = [stepOf(call.types[0]), stepOf(call.type)];
    return buildSteps([from], call.type, call, (row) =>
      floorDivide(truncate(BigInt(from.values[row]!) * step), target),
    );
  });
}

/** A date becomes a timestamp of nanoseconds, as in DataFusion. */
export const dateTruncRow: FunctionRow = {
  usage: truncUsage,
  bind(made) {
    checkCount(truncUsage, made, 2, 2);
    const truncate = unitOf(made);
    const given = made.arguments[1];
    const value =
      familyOf(given.type) === 'null'
        ? nullLiteral(new TimestampNanosecond(), given.position)
        : given;
    const family = familyOf(value.type);
    const ofDay = dayUnits.has(unitName(made));
    if (family !== 'date' && family !== 'timestamp' && (family !== 'time' || !ofDay)) {
      throw wrongArgument(truncUsage, 'a date or timestamp', 2, given);
    }
    const clock = clockUnits.has(unitName(made)) ? clockOf(value.type, given.position) : undefined;
    const type = family === 'date' ? new TimestampNanosecond() : value.type;
    return call({
      name: made.name,
      type,
      arguments: [value],
      kernel: truncKernel(clock === undefined ? truncate : byClock(truncate, clock)),
      position: made.position,
      fallible: true,
    });
  },
};
