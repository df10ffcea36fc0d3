import { Int32, type DataType } from 'apache-arrow';
import { kernelOf, type Bound, type BoundLiteral, type Kernel } from '../evaluate/bound.ts';
import {
  dayNanoseconds,
  dayOf,
  splitDays,
  dayOfYear,
  isoWeek,
  isoWeekday,
  isoYear,
} from '../values/calendar.ts';
import { excerpt, SqlError } from '../values/sql-error.ts';
import { float64Type } from '../cast/literals.ts';
import { call, nullLiteral } from '../evaluate/node.ts';
import { stepColumn } from '../evaluate/temporal.ts';
import { dateType, familyOf, stepOf } from '../values/types.ts';
import { clockOf, type ZoneClock } from '../values/zone-clock.ts';
import { checkCount, wrongArgument, type FunctionCall, type FunctionRow } from './function-row.ts';
import { bindDurationPart } from './duration-part.ts';

/** A part of a moment: the day since 1970 and the nanoseconds of the day. */
type Part = (days: number, time: bigint) => number;

function seconds(time: bigint, perSecond: bigint): number {
  return Number((time % 60_000_000_000n) / (1_000_000_000n / perSecond));
}

const dateParts: Readonly<Record<string, Part>> = {
  year: (days) => dayOf(days).year,
  isoyear: isoYear,
  quarter: (days) => Math.ceil(dayOf(days).month / 3),
  month: (days) => dayOf(days).month,
  week: isoWeek,
  day: (days) => dayOf(days).day,
  dow: (days) => isoWeekday(days) % 7,
  isodow: isoWeekday,
  doy: dayOfYear,
};

/** `second` and its fractions include the whole second, as in DataFusion: 2.5 s is 2500 milliseconds. */
const timeParts: Readonly<Record<string, Part>> = {
  hour: (_, time) => Number(time / 3_600_000_000_000n),
  minute: (_, time) => Number((time / 60_000_000_000n) % 60n),
  second: (_, time) => seconds(time, 1n),
  millisecond: (_, time) => seconds(time, 1000n),
  microsecond: (_, time) => seconds(time, 1_000_000n),
};

/** Seconds since 1970, the fraction included. */
const epoch: Part = (days, time) => {
  const nanoseconds = BigInt(days) * dayNanoseconds + time;
  return Number(nanoseconds / 1_000_000_000n) + Number(nanoseconds % 1_000_000_000n) / 1e9;
};

const parts: ReadonlyMap<string, Part> = new Map([
  ...Object.entries(dateParts),
  ...Object.entries(timeParts),
  ['epoch', epoch] as const,
]);

const usage = "date_part('part', value)";

function singular(text: string): string {
  return parts.has(text) ? text : text.replace(/s$/, '');
}

function isTextLiteral(node: Bound | undefined): node is BoundLiteral {
  return node?.kind === 'literal' && typeof node.value === 'string';
}

function partOf(made: FunctionCall): readonly [string, Part] {
  const [name] = made.arguments;
  const wanted = isTextLiteral(name) ? singular((name.value as string).toLowerCase()) : undefined;
  const part = wanted === undefined ? undefined : parts.get(wanted);
  if (wanted === undefined || part === undefined) {
    const found = isTextLiteral(name) ? `'${excerpt(name.value as string)}'` : 'no literal';
    throw new SqlError(
      'value',
      `expected one of ${[...parts.keys()].join(', ')} as the part of a date, found ${found}`,
      name!.position,
    );
  }
  return [wanted, part];
}

/** @param clock Zone in which days and hours are counted; UTC by default. */
function partKernel(part: Part, clock: ZoneClock | undefined): Kernel {
  return kernelOf(1, ([column], call) => {
    const from = stepColumn(column);
    const step = stepOf(call.types[0]);
    const values =
      familyOf(call.type) === 'float' ? new Float64Array(call.length) : new Int32Array(call.length);
    for (let row = 0; row < call.length; row++) {
      if (from.valid === null || from.valid[row] === 1) {
        const moment = BigInt(from.values[row]!) * step;
        const { days, time } = splitDays(clock === undefined ? moment : clock.local(moment));
        values[row] = part(days, time);
      }
    }
    return { kind: 'number', length: call.length, values, valid: from.valid };
  });
}

function fits(name: string, type: DataType): boolean {
  const family = familyOf(type);
  return (
    family === 'date' ||
    family === 'timestamp' ||
    (family === 'time' && Object.hasOwn(timeParts, name))
  );
}

/** `date_part('year', x)` and `extract(year from x)`. */
export const datePartRow: FunctionRow = {
  usage,
  bind(made) {
    checkCount(usage, made, 2, 2);
    const [name, part] = partOf(made);
    const given = made.arguments[1];
    const ofDuration =
      familyOf(given.type) === 'duration' ? bindDurationPart(made, name) : undefined;
    if (ofDuration !== undefined) return ofDuration;
    const value = familyOf(given.type) === 'null' ? nullLiteral(dateType, given.position) : given;
    if (!fits(name, value.type)) {
      throw wrongArgument(usage, `a date or timestamp that has the part ${name}`, 2, given);
    }
    const type = name === 'epoch' ? float64Type : new Int32();
    return call({
      name: made.name,
      type,
      arguments: [value],
      kernel: partKernel(part, name === 'epoch' ? undefined : clockOf(value.type, value.position)),
      position: made.position,
      fallible: false,
    });
  },
};
