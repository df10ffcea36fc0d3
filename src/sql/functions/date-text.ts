import { TimeNanosecond, TimestampNanosecond, type DataType } from 'apache-arrow';
import { kernelOf, type Bound, type Kernel } from '../evaluate/bound.ts';
import { dayNanoseconds, floorDivide } from '../values/calendar.ts';
import { canCast } from '../cast/cast.ts';
import { castTo } from '../cast/coerce.ts';
import { formatWriter } from '../values/date-format.ts';
import { formatReader } from '../values/date-reader.ts';
import { excerpt, SqlError } from '../values/sql-error.ts';
import { textType } from '../cast/literals.ts';
import { call, nullLiteral } from '../evaluate/node.ts';
import { buildSteps, stepColumn } from '../evaluate/temporal.ts';
import { allValid, buildTexts, textColumnOf, textAt } from '../values/text.ts';
import { familyOf, stepOf } from '../values/types.ts';
import { isZoned, clockOf, type ZoneClock } from '../values/zone-clock.ts';
import {
  checkCount,
  fitArgument,
  wrongArgument,
  type FunctionCall,
  type FunctionRow,
} from './function-row.ts';

/** A parsed format; consecutive equal formats are parsed once. */
function remembered<Made>(
  make: (format: string) => Made | undefined,
  name: string,
  position: number,
): (format: string) => Made {
  let last: { readonly format: string; readonly made: Made } | undefined;
  return (format) => {
    if (last?.format !== format) {
      const made = make(format);
      if (made === undefined) {
        const message = `expected a format such as %Y-%m-%d in ${name}, found '${excerpt(format)}'`;
        throw new SqlError('value', message, position);
      }
      last = { format, made };
    }
    return last.made;
  };
}

/** @param clock Zone in which days and hours are written; UTC by default. */
function writeKernel(clock: ZoneClock | undefined, zoned: boolean): Kernel {
  return kernelOf(2, ([column, format], { name, length, position, types }) => {
    const [from, formats] = [stepColumn(column), textColumnOf(format)];
    const step = stepOf(types[0]);
    const writerOf = remembered((text) => formatWriter(text, zoned), name, position);
    return buildTexts(length, allValid([from, formats]), position, (row) => {
      const moment = BigInt(from.values[row]!) * step;
      return writerOf(textAt(formats, row))(moment, clock?.offset(moment) ?? 0);
    });
  });
}

const charUsage = "to_char(value, 'format')";

/** `to_char(x, '%Y-%m-%d')`: formats a moment with strftime specifiers. */
export const toCharRow: FunctionRow = {
  usage: charUsage,
  bind(made) {
    checkCount(charUsage, made, 2, 2);
    const given = made.arguments[0];
    const isNull = familyOf(given.type) === 'null';
    const value = isNull ? nullLiteral(new TimestampNanosecond(), given.position) : given;
    const family = familyOf(value.type);
    if (family !== 'date' && family !== 'timestamp' && family !== 'time') {
      throw wrongArgument(charUsage, 'a date, a time or a timestamp', 1, given);
    }
    return call({
      name: made.name,
      type: textType,
      arguments: [value, fitArgument(charUsage, 'text', made.arguments[1], 2)],
      kernel: writeKernel(clockOf(value.type, given.position), isZoned(value.type)),
      position: made.position,
      fallible: true,
    });
  },
};

/** The first format that matches the text is used. */
function readKernel(wrap: (nanoseconds: bigint) => bigint): Kernel {
  return (columns, made) => {
    const [texts, ...formats] = columns.map(textColumnOf);
    const readers = formats.map(() => remembered(formatReader, made.name, made.position));
    const target = stepOf(made.type);
    return buildSteps(columns, made.type, made, (row) => {
      const text = textAt(texts!, row);
      for (const [at, format] of formats.entries()) {
        const found = readers[at]!(textAt(format, row))(text);
        if (found !== undefined) return floorDivide(wrap(found), target);
      }
      const last = textAt(formats.at(-1)!, row);
      const message = `expected text in the format '${excerpt(last)}' in ${made.name}, found '${excerpt(text)}'`;
      throw new SqlError('value', message, made.position);
    });
  };
}

/** Parses a text in one of several formats as a moment of a type. */
export function bindFormatted(usage: string, type: DataType, made: FunctionCall): Bound {
  const isTime = familyOf(type) === 'time';
  return call({
    name: made.name,
    type,
    arguments: made.arguments.map((each, at) => fitArgument(usage, 'text', each, at + 1)),
    kernel: readKernel((moment) =>
      isTime ? ((moment % dayNanoseconds) + dayNanoseconds) % dayNanoseconds : moment,
    ),
    position: made.position,
    fallible: true,
  });
}

const timeUsage = "to_time(value[, 'format', ...])";

/** `to_time('10:30')`, or of a timestamp its time of the day. */
export const toTimeRow: FunctionRow = {
  usage: timeUsage,
  bind(made) {
    checkCount(timeUsage, made, 1, Infinity);
    const type = new TimeNanosecond();
    if (made.arguments.length > 1) return bindFormatted(timeUsage, type, made);
    const value = made.arguments[0];
    if (familyOf(value.type) === 'integer' || !canCast(value.type, type)) {
      throw wrongArgument(timeUsage, 'a string, a time or a timestamp', 1, value);
    }
    return castTo(value, type, made.position);
  },
};
