import {
  DataType as DataTypeClass,
  Binary,
  Decimal as DecimalType,
  Float64,
  Int64,
  IntervalMonthDayNano,
  TimeMicrosecond,
  TimeNanosecond,
  TimestampMicrosecond,
  TimestampNanosecond,
  Uint64,
  Utf8,
  type DataType,
  type Decimal,
  type FixedSizeBinary,
} from 'apache-arrow';
import { boolType, type Bound, type BoundLiteral } from '../evaluate/bound.ts';
import { parseDate, parseTime, parseTimestamp } from '../values/calendar.ts';
import { parseDecimal } from '../values/decimal.ts';
import { excerpt, SqlError } from '../values/sql-error.ts';
import type { Literal, LiteralValue } from '../values/expression.ts';
import { literal, nullLiteral, nullType } from '../evaluate/node.ts';
import type { Scalar } from '../values/scalar.ts';
import { isSingle, storageOf } from '../values/storage.ts';
import {
  dateType,
  familyOf,
  integerOf,
  integerRange,
  stepOf,
  sqlTypeName,
} from '../values/types.ts';
import {
  clockOf,
  clockOfCast,
  hasClock,
  readsClock,
  type ZoneClock,
} from '../values/zone-clock.ts';

/** Type of computed texts. */
export const textType: DataType = new Utf8();
/** Type of whole numbers that are computed. */
export const int64Type: DataType = new Int64();
/** Type of fractional numbers that are computed. */
export const float64Type: DataType = new Float64();

/** Whole numbers are int64; larger ones uint64, then decimals. */
function integerType64(value: bigint): DataType {
  if (value >= -(1n << 63n) && value < 1n << 63n) return int64Type;
  return value > 0n && value < 1n << 64n ? new Uint64() : new DecimalType(0, 38, 128);
}

function numberLiteral(text: string, position: number): BoundLiteral {
  const value = Number(text);
  if (!Number.isFinite(value)) {
    throw new SqlError('overflow', `expected a number within float64, found ${text}`, position);
  }
  return literal(float64Type, value, position, text);
}

/** Microseconds; nanoseconds only if the text has them, as they span only 292 years each way. */
function timestampLiteral(
  value: Extract<LiteralValue, { type: 'timestamp' }>,
  position: number,
): BoundLiteral {
  const zone = value.zoned ? 'UTC' : null;
  const micro = value.nanoseconds % 1000n === 0n;
  const step = micro ? value.nanoseconds / 1000n : value.nanoseconds;
  const type = micro ? new TimestampMicrosecond(zone) : new TimestampNanosecond(zone);
  if (step >= 1n << 63n || step < -(1n << 63n)) {
    throw new SqlError(
      'overflow',
      `expected a moment within ${sqlTypeName(type)}, found ${step} steps`,
      position,
    );
  }
  return literal(type, step, position);
}

type Binders = {
  readonly [Type in LiteralValue['type']]: (
    value: Extract<LiteralValue, { type: Type }>,
    position: number,
  ) => BoundLiteral;
};

const binders: Binders = {
  null: (_, position) => nullLiteral(nullType, position),
  boolean: ({ value }, position) => literal(boolType, value, position),
  integer: ({ value }, position) => literal(integerType64(value), value, position, String(value)),
  number: ({ text }, position) => numberLiteral(text, position),
  text: ({ value }, position) => literal(textType, value, position),
  binary: ({ hex }, position) =>
    literal(new Binary(), Uint8Array.from(Buffer.from(hex, 'hex')), position),
  date: ({ days }, position) => literal(dateType, BigInt(days), position),
  time: ({ nanoseconds }, position) =>
    nanoseconds % 1000n === 0n
      ? literal(new TimeMicrosecond(), nanoseconds / 1000n, position)
      : literal(new TimeNanosecond(), nanoseconds, position),
  timestamp: timestampLiteral,
  interval: ({ interval }, position) => literal(new IntervalMonthDayNano(), interval, position),
};

/** The literal with its own type. Throws SqlError `overflow` for a number or moment beyond every type. */
export function bindLiteral({ value, position }: Literal): BoundLiteral {
  return binders[value.type](value as never, position);
}

const moments: Readonly<
  Record<string, { parse: (text: string) => bigint | undefined; expected: string }>
> = {
  date: {
    parse: (text) =>
      parseDate(text) === undefined
        ? parseTimestamp(text)?.nanoseconds
        : BigInt(parseDate(text)!) * 86_400_000_000_000n,
    expected: 'a date such as 2024-02-29',
  },
  timestamp: {
    parse: (text) => parseTimestamp(text)?.nanoseconds,
    expected: 'a timestamp such as 2024-02-29 23:59:59',
  },
  time: { parse: parseTime, expected: 'a time such as 23:59:59.5' },
};

/** A text without a zone is local time in the zone of the type. */
function momentOfClock(text: string, type: DataType, position: number): bigint | undefined {
  const stamp = parseTimestamp(text);
  return stamp === undefined || stamp.zoned
    ? stamp?.nanoseconds
    : clockOf(type, position)?.moment(stamp.nanoseconds);
}

/** Nanoseconds of a text literal compared with a date, time or timestamp. Throws SqlError `value`. */
export function momentOfText(node: BoundLiteral, type: DataType): bigint {
  const { parse, expected } = hasClock(type)
    ? {
        parse: (text: string) => momentOfClock(text, type, node.position),
        expected: 'a time that its clocks show once',
      }
    : moments[familyOf(type)]!;
  const nanoseconds = parse(node.value as string);
  if (nanoseconds === undefined) {
    throw new SqlError(
      'value',
      `expected ${expected} for ${sqlTypeName(type)}, found '${excerpt(node.value as string)}'`,
      node.position,
    );
  }
  return nanoseconds;
}

function exactInteger(value: Scalar, type: DataType): bigint | undefined {
  const whole =
    typeof value === 'bigint'
      ? value
      : Number.isInteger(value)
        ? BigInt(value as number)
        : undefined;
  const [least, greatest] = integerRange(integerOf(type));
  return whole !== undefined && whole >= least && whole <= greatest ? whole : undefined;
}

/** A fractional number rounds to the nearest float; a whole number must be exact. */
function nearestFloat(value: Scalar, type: DataType): number | undefined {
  const number = isSingle(type) ? Math.fround(Number(value)) : Number(value);
  if (typeof value === 'bigint') {
    return Number.isFinite(number) && BigInt(number) === value ? number : undefined;
  }
  return Number.isFinite(number) || !Number.isFinite(value) ? number : undefined;
}

/** The unscaled decimal of a number; undefined if it has more digits than the type. */
function exactDecimal(node: BoundLiteral, type: DataType): bigint | undefined {
  const { precision, scale } = type as Decimal;
  const decimal = decimalOf(node);
  if (
    decimal === undefined ||
    (decimal.scale > scale && decimal.value % 10n ** BigInt(decimal.scale - scale) !== 0n)
  ) {
    return undefined;
  }
  const value =
    decimal.scale > scale
      ? decimal.value / 10n ** BigInt(decimal.scale - scale)
      : decimal.value * 10n ** BigInt(scale - decimal.scale);
  const limit = 10n ** BigInt(precision);
  return value < limit && value > -limit ? value : undefined;
}

/** The exact value of a number literal as it was written; undefined if it is not a finite number. */
export function decimalOf(
  node: BoundLiteral,
): { readonly value: bigint; readonly scale: number } | undefined {
  if (familyOf(node.type) === 'decimal') {
    return { value: node.value as bigint, scale: (node.type as Decimal).scale };
  }
  const digits =
    typeof node.value === 'number' || typeof node.value === 'bigint' ? String(node.value) : '';
  return parseDecimal(node.digits ?? digits);
}

const numeric: ReadonlySet<string> = new Set(['integer', 'float', 'decimal']);

/** Converts between a date or timestamp and a timestamp with a zone; undefined if the instant is ambiguous. */
function momentBy(
  clock: ZoneClock,
  node: BoundLiteral,
  type: DataType,
  nanoseconds: bigint,
): bigint | undefined {
  return readsClock(node.type, type) ? clock.moment(nanoseconds) : clock.local(nanoseconds);
}

/** A moment in the steps of another type; undefined if the step is too coarse. */
function exactMoment(node: BoundLiteral, type: DataType): bigint | undefined {
  const isText = familyOf(node.type) === 'text';
  const given = isText ? momentOfText(node, type) : (node.value as bigint) * stepOf(node.type);
  const clock = isText ? undefined : clockOfCast(node.type, type, node.position);
  const nanoseconds = clock === undefined ? given : momentBy(clock, node, type, given);
  if (nanoseconds === undefined) return undefined;
  const step = stepOf(type);
  const limit = storageOf(type).kind === 'number' ? 1n << 31n : 1n << 63n;
  const steps = nanoseconds / step;
  return nanoseconds % step === 0n && steps < limit && steps >= -limit ? steps : undefined;
}

/** Fixed-size types hold only values of that size. */
function fixedBytes(value: Scalar, type: DataType): Scalar | undefined {
  const fits = value instanceof Uint8Array && (!isFixed(type) || value.length === type.byteWidth);
  return fits ? value : undefined;
}

function isFixed(type: DataType): type is FixedSizeBinary {
  return DataTypeClass.isFixedSizeBinary(type);
}

function exactValue(node: BoundLiteral, type: DataType): Scalar | undefined {
  const [from, to] = [familyOf(node.type), familyOf(type)];
  if (numeric.has(from) && to === 'integer') {
    return from === 'decimal' ? undefined : exactInteger(node.value, type);
  }
  if (numeric.has(from) && to === 'float') {
    return from === 'decimal' ? undefined : nearestFloat(node.value, type);
  }
  if (numeric.has(from) && to === 'decimal') return exactDecimal(node, type);
  const calendar = to === 'date' || to === 'timestamp';
  if (
    (calendar && (from === 'text' || from === 'date' || from === 'timestamp')) ||
    (to === 'time' && (from === 'text' || from === 'time'))
  ) {
    return exactMoment(node, type);
  }
  if (from === 'binary' && to === 'binary') return fixedBytes(node.value, type);
  return from === to && (to === 'text' || to === 'boolean') ? node.value : undefined;
}

/** The literal as another type, if that type holds its value; undefined otherwise. */
export function literalAs(node: BoundLiteral, type: DataType): BoundLiteral | undefined {
  if (node.value === null) return nullLiteral(type, node.position);
  const value = exactValue(node, type);
  return value === undefined ? undefined : literal(type, value, node.position, node.digits);
}

/**
 * The literal in the type of the values it stands beside, as in `i + 1` or
 * `coalesce(i, 0)`. A number with a point stays a float: `i / 2.0` is no
 * integer division.
 */
export function adaptLiteral(node: Bound, type: DataType): BoundLiteral | undefined {
  if (
    node.kind !== 'literal' ||
    (familyOf(node.type) === 'float' && familyOf(type) === 'integer')
  ) {
    return undefined;
  }
  return literalAs(node, type);
}
