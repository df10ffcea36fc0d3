import { Utf8, type DataType, type Decimal, type Timestamp } from 'apache-arrow';
import {
  floorDivide,
  formatDate,
  formatDuration,
  formatOffset,
  formatTime,
  formatTimestamp,
  parseDate,
  parseTime,
  parseTimestamp,
  splitDays,
} from '../values/calendar.ts';
import {
  decimalToNumber,
  formatDecimal,
  parseDecimal,
  rescale,
  type DecimalValue,
} from '../values/decimal.ts';
import { isSingle } from '../values/storage.ts';
import {
  integerOf,
  integerRange,
  stepOf,
  familyOf,
  sqlTypeName,
  type Family,
} from '../values/types.ts';
import { clockOf, clockOfCast } from '../values/zone-clock.ts';
import { excerpt, SqlError } from '../values/sql-error.ts';

const text = new Utf8();

/** A value as text for messages. */
function written(value: RowValue, type: DataType): string {
  if (typeof value === 'string') return value;
  return String(conversionOf(familyOf(type), 'text')?.(type, text)(value) ?? value);
}

/** The error for a value that the target type cannot hold; of kind `value` for a text that is not a number. */
export class LostValue extends SqlError {
  /** The value as text, a string in double quotes. */
  readonly value: string;

  constructor(value: RowValue, from: DataType, to: DataType, position: number) {
    const isText = familyOf(from) === 'text';
    const shown = written(value, from);
    const found = isText ? `'${excerpt(shown)}'` : shown;
    const message = `expected a value that ${sqlTypeName(to)} can hold, found ${found} of ${sqlTypeName(from)}`;
    super(isText ? 'value' : 'overflow', message, position);
    this.value = isText ? JSON.stringify(shown) : shown;
  }
}

/** A value of one row; bigint for integers, times and unscaled decimals. */
export type RowValue = boolean | bigint | number | string;

/** Converts one value; undefined when the target type cannot hold it. */
export type Convert = (value: RowValue) => RowValue | undefined;

type ConvertOf<From extends RowValue> = (
  value: From,
  from: DataType,
  to: DataType,
) => RowValue | undefined;

function convert<From extends RowValue>(
  make: ConvertOf<From>,
): (from: DataType, to: DataType) => Convert {
  return (from, to) => (value) => make(value as From, from, to);
}

function fitInteger(value: bigint, to: DataType): bigint | undefined {
  const [least, greatest] = integerRange(integerOf(to));
  return value < least || value > greatest ? undefined : value;
}

function floatToInteger(value: number, to: DataType): bigint | undefined {
  return Number.isFinite(value) ? fitInteger(BigInt(Math.trunc(value)), to) : undefined;
}

function fitDecimal(decimal: DecimalValue | undefined, to: DataType): bigint | undefined {
  if (decimal === undefined) return undefined;
  const { precision, scale } = to as Decimal;
  const value = rescale(decimal, scale);
  const limit = 10n ** BigInt(precision);
  return value < limit && value > -limit ? value : undefined;
}

function asDecimal(value: bigint, from: DataType): DecimalValue {
  return { value, scale: (from as Decimal).scale };
}

/** The shortest digits that parse to the same float; `single` means 32 bits. */
function shortest(value: number, single: boolean): string {
  for (let digits = single ? 1 : 9; digits < 9; digits++) {
    const text = value.toExponential(digits - 1);
    if (Math.fround(Number(text)) === value) return text;
  }
  return value.toExponential();
}

/** The shortest text of a float: whole ones keep a point, large and small ones have an exponent. */
export function formatFloat(value: number, single = false): string {
  if (!Number.isFinite(value)) return Number.isNaN(value) ? 'NaN' : value > 0 ? 'inf' : '-inf';
  const [mantissa = '', exponent = '0'] = shortest(value, single).split('e');
  const sign = Object.is(value, -0) ? '-' : '';
  const power = Number(exponent);
  if (power >= 16 || power < -5) return `${mantissa}e${power}`;
  const text = sign + String(Number(`${mantissa}e${power}`));
  return text.includes('.') ? text : `${text}.0`;
}

const specialFloats: ReadonlyMap<string, number> = new Map([
  ['nan', NaN],
  ['inf', Infinity],
  ['+inf', Infinity],
  ['-inf', -Infinity],
  ['infinity', Infinity],
  ['-infinity', -Infinity],
]);

function parseFloatText(text: string, to: DataType): number | undefined {
  const trimmed = text.trim();
  const special = specialFloats.get(trimmed.toLowerCase());
  if (special !== undefined || !/^[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?$/.test(trimmed)) {
    return special;
  }
  const value = Number(trimmed);
  return Number.isFinite(isSingle(to) ? Math.fround(value) : value) ? value : undefined;
}

function parseIntegerText(text: string, to: DataType): bigint | undefined {
  const trimmed = text.trim();
  return /^[+-]?\d{1,40}$/.test(trimmed)
    ? fitInteger(BigInt(trimmed.replace(/^\+/, '')), to)
    : undefined;
}

const booleans: ReadonlyMap<string, boolean> = new Map([
  ['true', true],
  ['t', true],
  ['yes', true],
  ['y', true],
  ['on', true],
  ['1', true],
  ['false', false],
  ['f', false],
  ['no', false],
  ['n', false],
  ['off', false],
  ['0', false],
]);

function toStep(nanoseconds: bigint | undefined, to: DataType): bigint | undefined {
  return nanoseconds === undefined ? undefined : floorDivide(nanoseconds, stepOf(to));
}

function parseDateText(text: string, to: DataType): bigint | undefined {
  const days = parseDate(text);
  const moment =
    days === undefined ? parseTimestamp(text)?.nanoseconds : BigInt(days) * 86_400_000_000_000n;
  return toStep(moment, to);
}

const restep = convert<bigint>((value, from, to) => floorDivide(value * stepOf(from), stepOf(to)));

/** Converts a local date or timestamp to the instant in the zone; instants stay unchanged. */
function restamp(from: DataType, to: DataType): Convert {
  const clock = clockOfCast(from, to);
  return clock === undefined
    ? restep(from, to)
    : (value) => toStep(clock.moment((value as bigint) * stepOf(from)), to);
}

/** Converts the local time of a timestamp's zone into another type. */
function shown(make: ConvertOf<bigint>): (from: DataType, to: DataType) => Convert {
  return (from, to) => {
    const clock = clockOfCast(from, to);
    return (value) => {
      const moment = (value as bigint) * stepOf(from);
      return make(clock?.local(moment) ?? moment, from, to);
    };
  };
}

/** Local time of a timestamp's zone, in the steps of a type without a zone. */
export function localSteps(from: DataType, to: DataType): Convert {
  const clock = clockOf(from);
  return (value) => {
    const moment = (value as bigint) * stepOf(from);
    return toStep(clock?.local(moment) ?? moment, to);
  };
}

/** RFC 3339 text: local time with its UTC offset; `Z` for UTC. */
function stampText(from: DataType, to: DataType): Convert {
  const clock = clockOfCast(from, to);
  return (value) => {
    const moment = (value as bigint) * stepOf(from);
    return clock === undefined
      ? formatTimestamp(moment) + zoneMark(from)
      : formatTimestamp(clock.local(moment)) + (formatOffset(clock.offset(moment)) || 'Z');
  };
}

/** A text without a zone is local time in the zone of the type. */
function readStamp(from: DataType, to: DataType): Convert {
  const clock = clockOfCast(from, to);
  return (value) => {
    const stamp = parseTimestamp(value as string);
    const isLocal = stamp !== undefined && !stamp.zoned && clock !== undefined;
    return toStep(isLocal ? clock.moment(stamp.nanoseconds) : stamp?.nanoseconds, to);
  };
}

type Row = Partial<Record<Family, (from: DataType, to: DataType) => Convert>>;

/** From boolean, integer and float. */
const numeric: Readonly<Partial<Record<Family, Row>>> = {
  boolean: {
    integer: convert<boolean>((value) => (value ? 1n : 0n)),
    float: convert<boolean>((value) => (value ? 1 : 0)),
    text: convert<boolean>((value) => (value ? 'true' : 'false')),
  },
  integer: {
    boolean: convert<bigint>((value) => value !== 0n),
    integer: convert<bigint>((value, _, to) => fitInteger(value, to)),
    float: convert<bigint>((value) => Number(value)),
    decimal: convert<bigint>((value, _, to) => fitDecimal({ value, scale: 0 }, to)),
    text: convert<bigint>((value) => String(value)),
    date: convert<bigint>((value) => value),
    time: convert<bigint>((value) => value),
    timestamp: convert<bigint>((value) => value),
    duration: convert<bigint>((value) => value),
  },
  float: {
    boolean: convert<number>((value) => value !== 0),
    integer: convert<number>((value, _, to) => floatToInteger(value, to)),
    float: convert<number>((value) => value),
    decimal: convert<number>((value, _, to) => fitDecimal(parseDecimal(String(value)), to)),
    text: convert<number>((value, from) => formatFloat(value, isSingle(from))),
  },
  decimal: {
    integer: convert<bigint>((value, from, to) =>
      fitInteger(value / 10n ** BigInt(Math.max(0, (from as Decimal).scale)), to),
    ),
    float: convert<bigint>((value, from) => decimalToNumber(asDecimal(value, from))),
    decimal: convert<bigint>((value, from, to) => fitDecimal(asDecimal(value, from), to)),
    text: convert<bigint>((value, from) => formatDecimal(asDecimal(value, from))),
  },
};

/** Suffix of a UTC timestamp in RFC 3339; empty if the type has no zone. */
function zoneMark(type: DataType): string {
  return (type as Timestamp).timezone ? 'Z' : '';
}

const temporal: Readonly<Partial<Record<Family, Row>>> = {
  date: {
    integer: convert<bigint>((value, _, to) => fitInteger(value, to)),
    date: restep,
    timestamp: restamp,
    text: convert<bigint>((value, from) => formatDate(splitDays(value * stepOf(from)).days)),
  },
  time: {
    integer: convert<bigint>((value, _, to) => fitInteger(value, to)),
    time: restep,
    text: convert<bigint>((value, from) => formatTime(value * stepOf(from))),
  },
  timestamp: {
    integer: convert<bigint>((value, _, to) => fitInteger(value, to)),
    date: shown((local, _, to) => toStep(local, to)),
    time: shown((local, _, to) => toStep(splitDays(local).time, to)),
    timestamp: restamp,
    text: stampText,
  },
  duration: {
    integer: convert<bigint>((value, _, to) => fitInteger(value, to)),
    duration: restep,
    text: convert<bigint>((value, from) => formatDuration(value * stepOf(from), stepOf(from))),
  },
};

const textual: Readonly<Partial<Record<Family, Row>>> = {
  text: {
    boolean: convert<string>((value) => booleans.get(value.trim().toLowerCase())),
    integer: convert<string>((value, _, to) => parseIntegerText(value, to)),
    float: convert<string>((value, _, to) => parseFloatText(value, to)),
    decimal: convert<string>((value, _, to) => fitDecimal(parseDecimal(value), to)),
    date: convert<string>((value, _, to) => parseDateText(value, to)),
    time: convert<string>((value, _, to) => toStep(parseTime(value), to)),
    timestamp: readStamp,
    text: convert<string>((value) => value),
  },
};

const conversions: Readonly<Partial<Record<Family, Row>>> = { ...numeric, ...temporal, ...textual };

/** The conversion between two families of types; undefined when there is none. */
export function conversionOf(
  from: Family,
  to: Family,
): ((from: DataType, to: DataType) => Convert) | undefined {
  return conversions[from]?.[to];
}
