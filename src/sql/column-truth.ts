import {
  Bool,
  DateDay,
  DateMillisecond,
  Field,
  Float64,
  Int64,
  TimestampMicrosecond,
  Utf8,
  type DataType,
} from 'apache-arrow';
import { bindPredicate } from './bind.ts';
import {
  compareRangeValues,
  onlyNull,
  rangeValue,
  type RangeValue,
  type ValueRange,
} from './compare/value-range.ts';
import { boundChildren, type Bound, type BoundExpression } from './evaluate/bound.ts';
import { may, possibleStates } from './possible.ts';
import type { Expression } from './values/expression.ts';
import { SqlError } from './values/sql-error.ts';

/** Types that a column of a predicate may have: one of each kind whose values have an order. */
const candidates: readonly DataType[] = [
  new Utf8(),
  new Int64(),
  new Float64(),
  new Bool(),
  new DateDay(),
  new DateMillisecond(),
  new TimestampMicrosecond(),
  new TimestampMicrosecond('UTC'),
];

/** Of more values than that in a predicate nothing is said: each costs a look at the whole. */
const MAX_CUTS = 256;

const onlyNan: ValueRange = { null: false, nan: true, values: 'none' };
const truthValues: readonly ValueRange[] = [rangeFrom(0n, 0n), rangeFrom(1n, 1n), onlyNull];

/**
 * Whether a predicate over one column is true for every row, or for none; undefined where that
 * depends on the row or on the type of the column. The values between two literals are alike to the
 * predicate, so that each literal and each gap between two is tried.
 * @param now Nanoseconds since 1970.
 */
export function truthOverColumn(
  predicate: Expression,
  column: string,
  now: bigint,
): boolean | undefined {
  const truths = candidates.flatMap((type) => {
    const bound = boundOver(predicate, new Field(column, type, true), now);
    return bound === undefined ? [] : [truthOf(bound, type)];
  });
  return truths.every((truth) => truth === truths[0]) ? truths[0] : undefined;
}

/** Undefined where the predicate has no meaning for that type. */
function boundOver(predicate: Expression, field: Field, now: bigint): BoundExpression | undefined {
  try {
    return bindPredicate(predicate, { fields: [field], now });
  } catch (error) {
    if (error instanceof SqlError) return undefined;
    throw error;
  }
}

function truthOf(bound: BoundExpression, type: DataType): boolean | undefined {
  const cuts = cutsOf(bound, type);
  if (cuts.length > MAX_CUTS) return undefined;
  const statesOf = possibleStates(bound);
  const ranges = type instanceof Bool ? truthValues : rangesBetween(cuts);
  const states = ranges.reduce((all, range) => all | statesOf(() => range), 0);
  if (states === may.beTrue) return true;
  return (states & may.beTrue) === 0 ? false : undefined;
}

/** The values of the column's kind that a predicate names, in order. */
function cutsOf({ root }: BoundExpression, type: DataType): readonly RangeValue[] {
  const isText = type instanceof Utf8;
  const values = literalsOf(root).filter((value) => value instanceof Uint8Array === isText);
  const own = type instanceof Float64 ? values.map((value) => Number(value)) : values;
  // Of whole numbers the ones beside a fraction are as good: it lies in the gap between them.
  const whole = type instanceof Float64 || isText ? own : own.flatMap(wholesAt);
  const sorted = whole.filter((value) => !Number.isNaN(value)).sort(compareRangeValues);
  return sorted.filter((value, at) => at === 0 || compareRangeValues(sorted[at - 1]!, value) !== 0);
}

function wholesAt(value: RangeValue): readonly bigint[] {
  if (typeof value === 'bigint') return [value];
  if (typeof value !== 'number' || !Number.isFinite(value)) return [];
  return [BigInt(Math.floor(value)), BigInt(Math.ceil(value))];
}

function literalsOf(node: Bound): readonly RangeValue[] {
  if (node.kind === 'literal') return present(node.value);
  const listed = node.kind === 'in' ? node.members.values.flatMap(present) : [];
  const compared = node.kind === 'comparison' ? scaledLiteral(node) : [];
  return [...listed, ...compared, ...boundChildren(node).flatMap(literalsOf)];
}

function present(value: Parameters<typeof rangeValue>[0]): readonly RangeValue[] {
  const found = value === null ? undefined : rangeValue(value);
  return found === undefined ? [] : [found];
}

/** A literal in the step of the column that it is compared with. */
function scaledLiteral({
  right,
  factors: [own, of],
}: Extract<Bound, { kind: 'comparison' }>): readonly RangeValue[] {
  if (right.kind !== 'literal' || typeof right.value !== 'bigint' || own === of) return [];
  const [scaled, rest] = [(right.value * of) / own, (right.value * of) % own];
  return rest === 0n ? [scaled] : [scaled, scaled + (rest < 0n ? -1n : 1n)];
}

/** Every value lies in one of the ranges: each cut alone, the gaps around them, NaN and null. */
function rangesBetween(cuts: readonly RangeValue[]): readonly ValueRange[] {
  const ends = [null, ...cuts, null];
  const gaps = ends.slice(1).flatMap((end, at) => gapBetween(ends[at]!, end));
  const points = cuts.map((cut) => rangeFrom(cut, cut));
  return [...gaps, ...points, onlyNan, onlyNull];
}

function gapBetween(low: RangeValue | null, high: RangeValue | null): readonly ValueRange[] {
  // There is no text before the empty one.
  if (high instanceof Uint8Array && high.length === 0) return [];
  const least = low === null ? null : beside(low, 1n);
  const greatest = high === null ? null : beside(high, -1n);
  const isEmpty = least !== null && greatest !== null && compareRangeValues(least, greatest) > 0;
  return isEmpty ? [] : [rangeFrom(least, greatest)];
}

function rangeFrom(least: RangeValue | null, greatest: RangeValue | null): ValueRange {
  return { null: false, nan: false, values: { least, greatest } };
}

/** The next value in a direction. */
function beside(value: RangeValue, direction: 1n | -1n): RangeValue {
  if (typeof value === 'bigint') return value + direction;
  if (typeof value === 'number') return floatBeside(value, direction);
  if (direction === 1n) return Buffer.concat([value, Buffer.of(0)]);
  const last = value.at(-1)!;
  const rest = value.subarray(0, -1);
  // No text has the byte 0xff, so that all of those before this one are below it.
  return last === 0 ? rest : Buffer.concat([rest, Buffer.of(last - 1, 0xff)]);
}

function floatBeside(value: number, direction: 1n | -1n): number {
  if (value === 0) return Number(direction) * Number.MIN_VALUE;
  const view = new DataView(new ArrayBuffer(8));
  view.setFloat64(0, value);
  const step = value > 0 ? direction : -direction;
  view.setBigInt64(0, view.getBigInt64(0) + step);
  return view.getFloat64(0);
}
