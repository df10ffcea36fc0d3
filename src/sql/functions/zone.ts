import { TimestampNanosecond } from 'apache-arrow';
import { bindArithmetic } from '../bind/bind-arithmetic.ts';
import type { Bound } from '../evaluate/bound.ts';
import { splitDays } from '../values/calendar.ts';
import { castTo, timestampOf } from '../cast/coerce.ts';
import { excerpt, SqlError } from '../values/sql-error.ts';
import { literal, nullLiteral } from '../evaluate/node.ts';
import { sameType } from '../../arrow/types.ts';
import { familyOf, stepOf } from '../values/types.ts';
import { zoneOffset } from '../values/zone-offset.ts';
import { checkCount, wrongArgument, type FunctionCall, type FunctionRow } from './function-row.ts';

/** A timestamp argument: a date counts as its midnight, an untyped null as a timestamp. */
function momentArgument(usage: string, { arguments: args }: FunctionCall, at: number): Bound {
  const argument = args[at]!;
  const family = familyOf(argument.type);
  if (family === 'null') return nullLiteral(new TimestampNanosecond(), argument.position);
  if (family !== 'date' && family !== 'timestamp') {
    throw wrongArgument(usage, 'a date or timestamp', at + 1, argument);
  }
  const type = timestampOf(stepOf(argument.type), null);
  return family === 'date' ? castTo(argument, type, argument.position) : argument;
}

const zoneUsage = "at_time_zone(timestamp, 'zone')";

function zoneOf(argument: Bound): string {
  if (argument.kind !== 'literal' || typeof argument.value !== 'string') {
    throw wrongArgument(zoneUsage, 'the name of a time zone in quotes', 2, argument);
  }
  const { value: zone, position } = argument;
  if (zone.length > 64 || zoneOffset(zone) === undefined) {
    const message = `expected a time zone such as 'Europe/Berlin' or '+02:00', found '${excerpt(zone)}'`;
    throw new SqlError('value', message, position);
  }
  return zone;
}

/**
 * `x AT TIME ZONE 'Europe/Berlin'`, as SQL:2003 and DataFusion have it: the same moment in that
 * zone, and of a date or a timestamp without a zone the moment at which its clocks show it.
 */
const atZoneRow: FunctionRow = {
  usage: zoneUsage,
  bind(made) {
    checkCount(zoneUsage, made, 2, 2);
    const value = momentArgument(zoneUsage, made, 0);
    const type = timestampOf(stepOf(value.type), zoneOf(made.arguments[1]));
    return sameType(value.type, type) ? value : castTo(value, type, made.position);
  },
};

const ageUsage = 'age(timestamp[, timestamp])';

/** Midnight in UTC of the day of the statement. */
function today({ now, position }: FunctionCall, beside: Bound): Bound {
  const step = stepOf(beside.type);
  return literal(timestampOf(step, null), (now - splitDays(now).time) / step, position);
}

/** `age(a, b)` is the time from `b` to `a`, `age(b)` that until today's midnight. */
const ageRow: FunctionRow = {
  usage: ageUsage,
  bind(made) {
    checkCount(ageUsage, made, 1, 2);
    const [first, second] = made.arguments.map((_, at) => momentArgument(ageUsage, made, at));
    return second === undefined
      ? bindArithmetic('-', today(made, first!), first!, made.position)
      : bindArithmetic('-', first!, second, made.position);
  },
};

/** Functions of time zones, and of the time between moments. */
export const zoneFunctions: Readonly<Record<string, FunctionRow>> = {
  at_time_zone: atZoneRow,
  age: ageRow,
};
