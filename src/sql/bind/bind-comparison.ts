import {
  Decimal as DecimalType,
  DurationNanosecond,
  type DataType,
  type Decimal,
  type Timestamp,
} from 'apache-arrow';
import { boolType, type Bound, type BoundLiteral } from '../evaluate/bound.ts';
import { dayNanoseconds } from '../values/calendar.ts';
import { castTo, coerce, isNumeric, timestampOf } from '../cast/coerce.ts';
import type { Factors } from '../compare/compare.ts';
import { bindNestedComparison, commonNested } from './compare-nested.ts';
import { nestedMembership, membershipOf, type LiteralSet } from '../compare/membership.ts';
import { SqlError } from '../values/sql-error.ts';
import type { ComparisonOperator, Interval } from '../values/expression.ts';
import { decimalOf, float64Type, literalAs, momentOfText } from '../cast/literals.ts';
import { fold, junction, literal, negation, nullLiteral, shared } from '../evaluate/node.ts';
import type { Scalar } from '../values/scalar.ts';
import { familyOf, stepOf, sqlTypeName } from '../values/types.ts';
import { hasClock, isPlainStamp } from '../values/zone-clock.ts';

/** Two operands, and the factors that bring their values to one scale. */
interface Aligned {
  readonly left: Bound;
  readonly right: Bound;
  readonly factors: Factors;
}

const one: Factors = [1n, 1n];

function scaleOf(type: DataType): number {
  return familyOf(type) === 'decimal' ? (type as Decimal).scale : 0;
}

/** Factors to the finer of two scales. */
function scaleFactors(left: number, right: number): Factors {
  const finer = Math.max(left, right);
  return [10n ** BigInt(finer - left), 10n ** BigInt(finer - right)];
}

/** A number literal compared with a decimal keeps its written digits; it is not rounded to a float. */
function asDecimal(node: Bound): Bound {
  if (familyOf(node.type) !== 'float' || node.kind !== 'literal') return node;
  const exact = node.value === null ? undefined : decimalOf(node);
  return exact === undefined
    ? node
    : literal(new DecimalType(exact.scale, 38, 128), exact.value, node.position);
}

function alignDecimals(left: Bound, right: Bound): Aligned {
  const [a, b] = [asDecimal(left), asDecimal(right)];
  if (familyOf(a.type) === 'float' || familyOf(b.type) === 'float') {
    return { left: coerce(left, float64Type), right: coerce(right, float64Type), factors: one };
  }
  return { left: a, right: b, factors: scaleFactors(scaleOf(a.type), scaleOf(b.type)) };
}

/** A float literal takes the width of the column, so that `x = 0.1` matches 0.1 in a float32 column. */
function narrowed(node: Bound, beside: DataType): Bound {
  const floats = familyOf(node.type) === 'float' && familyOf(beside) === 'float';
  return floats && node.kind === 'literal' ? (literalAs(node, beside) ?? node) : node;
}

/** Numbers of all sizes compare exactly as they are; only decimals need a common scale. */
function alignNumbers(left: Bound, right: Bound): Aligned {
  if (familyOf(left.type) === 'decimal' || familyOf(right.type) === 'decimal') {
    return alignDecimals(left, right);
  }
  return { left: narrowed(left, right.type), right: narrowed(right, left.type), factors: one };
}

const temporal: ReadonlySet<string> = new Set(['date', 'timestamp', 'time', 'duration']);

/** A timestamp without a zone is read as local time of the other operand's zone; dates and timestamps with a zone are instants already. */
function byClock(node: Bound, beside: DataType): Bound {
  const isTime = isPlainStamp(node.type) && hasClock(beside);
  const zone = isTime ? (beside as Timestamp).timezone : undefined;
  return zone ? castTo(node, timestampOf(stepOf(node.type), zone), node.position) : node;
}

function alignSteps(first: Bound, second: Bound): Aligned {
  const [left, right] = [byClock(first, second.type), byClock(second, first.type)];
  const [a, b] = [stepOf(left.type), stepOf(right.type)];
  const finer = a < b ? a : b;
  return { left, right, factors: [a / finer, b / finer] };
}

/** A text literal as nanoseconds. */
function alignText(other: Bound, text: BoundLiteral): Aligned {
  const nanoseconds = momentOfText(text, other.type);
  return {
    left: other,
    right: literal(other.type, nanoseconds, text.position),
    factors: [stepOf(other.type), 1n],
  };
}

function swapped({ left, right, factors }: Aligned): Aligned {
  return { left: right, right: left, factors: [factors[1], factors[0]] };
}

function isMomentText(node: Bound, beside: Bound): node is BoundLiteral {
  const family = familyOf(beside.type);
  const moment = family === 'date' || family === 'timestamp' || family === 'time';
  return moment && node.kind === 'literal' && familyOf(node.type) === 'text' && node.value !== null;
}

/** An interval compared with a duration counts its days and times; months have no fixed length. */
function asDuration(node: Bound, beside: DataType): Bound {
  const isLength = node.kind === 'literal' && familyOf(node.type) === 'interval';
  if (!isLength || node.value === null || familyOf(beside) !== 'duration') return node;
  const { months, days, nanoseconds } = node.value as Interval;
  if (months !== 0) {
    const message = `expected an interval of days and times with ${sqlTypeName(beside)}, found one of months`;
    throw new SqlError('type', message, node.position);
  }
  const length = BigInt(days) * dayNanoseconds + nanoseconds;
  return literal(new DurationNanosecond(), length, node.position);
}

const plain: ReadonlySet<string> = new Set(['text', 'binary', 'boolean']);

function alignFamilies(left: Bound, right: Bound): Aligned | undefined {
  const [a, b] = [familyOf(left.type), familyOf(right.type)];
  if (isNumeric(left.type) && isNumeric(right.type)) return alignNumbers(left, right);
  if (a === b && plain.has(a)) return { left, right, factors: one };
  const calendar = (a === 'date' || a === 'timestamp') && (b === 'date' || b === 'timestamp');
  return calendar || (a === b && temporal.has(a)) ? alignSteps(left, right) : undefined;
}

function align(first: Bound, second: Bound, position: number): Aligned {
  const [left, right] = [asDuration(first, second.type), asDuration(second, first.type)];
  if (familyOf(right.type) === 'null') {
    return { left, right: nullLiteral(left.type, right.position), factors: one };
  }
  if (familyOf(left.type) === 'null') {
    // Whichever way round, a null is UNKNOWN to an order and the same to IS DISTINCT FROM.
    return { left: right, right: nullLiteral(right.type, left.position), factors: one };
  }
  if (isMomentText(right, left)) return alignText(left, right);
  if (isMomentText(left, right)) return swapped(alignText(right, left));
  const aligned = alignFamilies(left, right);
  if (aligned === undefined) {
    const found = `${sqlTypeName(left.type)} and ${sqlTypeName(right.type)}`;
    throw new SqlError(
      'type',
      `expected two values that compare with each other, found ${found}`,
      position,
    );
  }
  return aligned;
}

const mirrored: Readonly<Record<ComparisonOperator, ComparisonOperator>> = {
  '=': '=',
  '!=': '!=',
  '<': '>',
  '<=': '>=',
  '>': '<',
  '>=': '<=',
  'is distinct from': 'is distinct from',
  'is not distinct from': 'is not distinct from',
};

/** A comparison, the literal on the right. Throws SqlError `type`, and `value` for a text that is no date. */
export function bindComparison(
  operator: ComparisonOperator,
  left: Bound,
  right: Bound,
  position: number,
): Bound {
  const nested = bindNestedComparison(operator, left, right, position);
  if (nested !== undefined) return nested;
  const aligned = align(left, right, position);
  const swap = aligned.left.kind === 'literal' && aligned.right.kind !== 'literal';
  const sides = swap ? swapped(aligned) : aligned;
  const fallible = sides.left.fallible || sides.right.fallible;
  const { factors } = sides;
  const shown = swap ? mirrored[operator] : operator;
  return fold({
    kind: 'comparison',
    type: boolType,
    operator: shown,
    left: sides.left,
    right: sides.right,
    factors: Object.freeze(factors),
    position,
    fallible,
  });
}

/** `low <= operand AND operand <= high`. */
export function bindBetween(operand: Bound, low: Bound, high: Bound, position: number): Bound {
  const value = shared(operand);
  const above = bindComparison('>=', value, low, position);
  return junction('and', [above, bindComparison('<=', value, high, position)], position);
}

/** The literal in the operand's type; undefined if no value of that type equals it. */
function memberValue(operand: Bound, { right, factors }: Aligned): Scalar | undefined {
  const { value } = right as BoundLiteral;
  const isFloat = familyOf(operand.type) === 'float';
  if (typeof value === 'bigint') {
    const scaled = value * factors[1];
    const exact = isFloat
      ? BigInt(Number(value)) === value
        ? Number(value)
        : undefined
      : scaled / factors[0];
    return scaled % factors[0] === 0n ? exact : undefined;
  }
  if (typeof value === 'number' && !isFloat) {
    return Number.isInteger(value) ? BigInt(value) : undefined;
  }
  return value;
}

interface Split {
  readonly members: Scalar[];
  readonly others: Bound[];
}

function splitItems(operand: Bound, items: readonly Bound[], position: number): Split {
  const split: Split = { members: [], others: [] };
  for (const item of items) {
    const aligned = align(operand, item, position);
    if (aligned.right.kind !== 'literal' || aligned.left !== operand) {
      split.others.push(item);
      continue;
    }
    const value = memberValue(operand, aligned);
    if (value !== undefined) split.members.push(value);
  }
  return split;
}

function membershipNode(operand: Bound, members: LiteralSet, position: number): Bound {
  const { fallible } = operand;
  return fold({ kind: 'in', type: boolType, operand, members, negated: false, position, fallible });
}

/** The literals among lists or structs, by the type in which they compare with the operand. */
function nestedItems(operand: Bound, items: readonly Bound[]): Map<string, NestedItems> {
  const groups = new Map<string, NestedItems>();
  for (const item of items) {
    const type = commonNested(operand, item);
    if (type !== undefined && item.kind === 'literal') {
      const name = sqlTypeName(type);
      const group = groups.get(name) ?? { type, items: [] };
      group.items.push(item);
      groups.set(name, group);
    }
  }
  return groups;
}

interface NestedItems {
  readonly type: DataType;
  readonly items: Bound[];
}

/** LiteralSet of lists and structs: one look-up for all the literals of a type. */
function bindNestedIn(operand: Bound, items: readonly Bound[], position: number): Bound {
  const groups = [...nestedItems(operand, items).values()];
  const hashed = new Set(groups.flatMap((group) => group.items));
  const tests = groups.map(({ type, items: same }) => {
    const values = same.map((item) => (coerce(item, type) as BoundLiteral).value);
    return membershipNode(coerce(operand, type), nestedMembership(values, type), position);
  });
  const others = items.filter((item) => !hashed.has(item));
  return junction(
    'or',
    [...tests, ...others.map((other) => bindComparison('=', operand, other, position))],
    position,
  );
}

/** `operand IN (items)`: literals are looked up in a hash set, other items are compared one by one. */
export function bindIn(
  operand: Bound,
  items: readonly Bound[],
  negated: boolean,
  position: number,
): Bound {
  const value = shared(operand);
  const family = familyOf(operand.type);
  if (family === 'list' || family === 'struct') {
    const within = bindNestedIn(value, items, position);
    return negated ? negation(within, position) : within;
  }
  const { members, others } = splitItems(value, items, position);
  const tests = others.map((other) => bindComparison('=', value, other, position));
  if (members.length > 0 || others.length === 0) {
    tests.unshift(membershipNode(value, membershipOf(members), position));
  }
  const found = junction('or', tests, position);
  return negated ? negation(found, position) : found;
}
