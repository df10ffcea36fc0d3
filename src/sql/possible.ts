import type {
  Bound,
  BoundComparison,
  BoundExpression,
  BoundIn,
  BoundIs,
  BoundJunction,
  BoundLike,
} from './evaluate/bound.ts';
import type { ComparisonOperator } from './values/expression.ts';
import { likePrefix } from './patterns/like.ts';
import {
  anyValue,
  compareRangeValues,
  mayHaveValue,
  ordersOf,
  rangeOfLiteral,
  rangeValue,
  type Orders,
  type RangeValue,
  type ValueRange,
} from './compare/value-range.ts';
import type { Scalar } from './values/scalar.ts';

/** Possible results of a predicate for some rows, as bits. It may include results that do not occur. */
export const may = { beTrue: 1, beFalse: 2, beUnknown: 4, fail: 8 } as const;

/** Looks up the range of a column. */
export type RangeOf = (column: string) => ValueRange;

/** Possible results of a predicate for rows of which only ranges are known: the bits of `may`. */
type PossibleStates = (ranges: RangeOf) => number;

const states = may.beTrue | may.beFalse | may.beUnknown;

/**
 * Makes a predicate ready to be asked what it may be for rows of which only the
 * ranges of their columns are known. Where it may not be true, no row is
 * selected; where it may only be true, all are. An operand that may throw counts
 * as failing wherever evaluation would look at it.
 */
export function possibleStates({ root }: BoundExpression): PossibleStates {
  return compile(root);
}

type Compilers = {
  readonly [Kind in Bound['kind']]?: (node: Extract<Bound, { kind: Kind }>) => PossibleStates;
};

const compilers: Compilers = {
  literal: ({ value }) => {
    const state = value === null ? may.beUnknown : value === true ? may.beTrue : may.beFalse;
    return () => state;
  },
  column:
    ({ name }) =>
    (ranges) =>
      statesOfRange(ranges(name)),
  not: ({ operand }) => {
    const inner = compile(operand);
    return (ranges) => negated(inner(ranges));
  },
  and: compileJunction,
  or: compileJunction,
  comparison: compileComparison,
  is: compileIs,
  in: compileIn,
  like: compileLikeTest,
  shared: ({ operand }) => compile(operand),
};

function compile(node: Bound): PossibleStates {
  const compiler = compilers[node.kind];
  if (compiler !== undefined) return compiler(node as never);
  const all = states | failing(node);
  return () => all;
}

function failing(...nodes: readonly Bound[]): number {
  return nodes.some(({ fallible }) => fallible) ? may.fail : 0;
}

/** A boolean column as a predicate. */
function statesOfRange({ null: mayBeNull, values }: ValueRange): number {
  const unknown = mayBeNull ? may.beUnknown : 0;
  if (values === 'none') return unknown;
  if (values === 'any') return unknown | may.beTrue | may.beFalse;
  const no = values.least === 1n ? 0 : may.beFalse;
  const yes = values.greatest === 0n ? 0 : may.beTrue;
  return unknown | no | yes;
}

function negated(possible: number): number {
  const swapped =
    (possible & may.beTrue ? may.beFalse : 0) | (possible & may.beFalse ? may.beTrue : 0);
  return swapped | (possible & (may.beUnknown | may.fail));
}

/** Operands are evaluated in order until the result is decided. */
function compileJunction({ kind, operands }: BoundJunction): PossibleStates {
  const [decisive, other] = kind === 'and' ? [may.beFalse, may.beTrue] : [may.beTrue, may.beFalse];
  const tests = operands.map(compile);
  return (ranges) => {
    let so: number = other;
    let fails = 0;
    for (const test of tests) {
      if (so === decisive) break;
      const next = test(ranges);
      fails |= next & may.fail;
      so = joined(so, next & states, decisive, other);
    }
    return so | fails;
  };
}

function joined(left: number, right: number, decisive: number, other: number): number {
  const { beUnknown } = may;
  const decided = (left | right) & decisive;
  const open = left & right & other;
  const unknown =
    (left & beUnknown && right & (beUnknown | other)) ||
    (right & beUnknown && left & (beUnknown | other));
  return decided | open | (unknown ? beUnknown : 0);
}

type RangeGetter = (ranges: RangeOf) => ValueRange;

/** Expressions other than literals and columns may have any value. */
function rangeGetter(node: Bound): RangeGetter {
  if (node.kind === 'literal') {
    const range = rangeOfLiteral(node.value);
    return () => range;
  }
  if (node.kind === 'column') return (ranges) => ranges(node.name);
  return node.kind === 'shared' ? rangeGetter(node.operand) : () => anyValue;
}

const holding: Readonly<Record<ComparisonOperator, readonly (keyof Orders)[]>> = {
  '=': ['equal'],
  '!=': ['less', 'greater'],
  '<': ['less'],
  '<=': ['less', 'equal'],
  '>': ['greater'],
  '>=': ['equal', 'greater'],
  'is distinct from': ['less', 'greater'],
  'is not distinct from': ['equal'],
};

const allOrders: readonly (keyof Orders)[] = ['less', 'equal', 'greater'];

function compileComparison(node: BoundComparison): PossibleStates {
  const { operator, factors } = node;
  const [left, right] = [rangeGetter(node.left), rangeGetter(node.right)];
  const yes = holding[operator];
  const no = allOrders.filter((order) => !yes.includes(order));
  const fails = failing(node.left, node.right);
  return (ranges) => {
    const [one, other] = [left(ranges), right(ranges)];
    const orders = ordersOf(one, other, factors);
    const found =
      (yes.some((order) => orders[order]) ? may.beTrue : 0) |
      (no.some((order) => orders[order]) ? may.beFalse : 0);
    return fails | found | statesOfNulls(operator, one, other);
  };
}

/** Possible results of a comparison for rows with nulls. */
function statesOfNulls(operator: ComparisonOperator, left: ValueRange, right: ValueRange): number {
  const both = left.null && right.null;
  const one = (left.null && mayHaveValue(right)) || (right.null && mayHaveValue(left));
  if (operator === 'is distinct from') return (both ? may.beFalse : 0) | (one ? may.beTrue : 0);
  if (operator === 'is not distinct from') return (both ? may.beTrue : 0) | (one ? may.beFalse : 0);
  return both || one ? may.beUnknown : 0;
}

const tested = { true: may.beTrue, false: may.beFalse, unknown: may.beUnknown } as const;

/** Whether the range of a node's values is known. */
function hasRange(node: Bound): boolean {
  return (
    node.kind === 'column' ||
    node.kind === 'literal' ||
    (node.kind === 'shared' && hasRange(node.operand))
  );
}

function compileIs({ operand, test, negated: isNegated }: BoundIs): PossibleStates {
  const [yes, no] = isNegated ? [may.beFalse, may.beTrue] : [may.beTrue, may.beFalse];
  if (test === 'null' && hasRange(operand)) {
    const range = rangeGetter(operand);
    return (ranges) => {
      const found = range(ranges);
      return (found.null ? yes : 0) | (mayHaveValue(found) ? no : 0);
    };
  }
  const inner = compile(operand);
  const wanted = test === 'null' ? may.beUnknown : tested[test];
  return (ranges) => {
    const found = inner(ranges);
    const others = found & states & ~wanted;
    return (found & may.fail) | (found & wanted ? yes : 0) | (others ? no : 0);
  };
}

function compileIn({ operand, members, negated: isNegated }: BoundIn): PossibleStates {
  const range = rangeGetter(operand);
  const sorted = sortedMembers(members.values);
  const fails = failing(operand);
  const [yes, no] = isNegated ? [may.beFalse, may.beTrue] : [may.beTrue, may.beFalse];
  const missing = members.hasNull ? may.beUnknown : no;
  return (ranges) => {
    const found = range(ranges);
    const { some, others } = membersIn(found, sorted);
    const unknown = found.null ? may.beUnknown : 0;
    return fails | unknown | (some ? yes : 0) | (others ? missing : 0);
  };
}

/** Whether a value of the range may be a member, and whether one may not be. */
function membersIn({ nan, values }: ValueRange, members: SortedMembers | undefined) {
  if (members === undefined || values === 'any') return { some: true, others: true };
  const nanIsMember = members.nan;
  if (values === 'none') return { some: nan && nanIsMember, others: nan && !nanIsMember };
  const { least, greatest } = values;
  const inside = members.hasBetween(least, greatest);
  const single = least !== null && greatest !== null && compareRangeValues(least, greatest) === 0;
  return {
    some: inside || (nan && nanIsMember),
    others: !(single && inside) || (nan && !nanIsMember),
  };
}

const encoder = new TextEncoder();

function compileLikeTest(node: BoundLike): PossibleStates {
  const range = rangeGetter(node.operand);
  const fails = failing(node);
  const { pattern } = node;
  const isLiteral =
    pattern.kind === 'literal' && typeof pattern.value === 'string' && !node.ignoreCase;
  const [yes, no] = node.negated ? [may.beFalse, may.beTrue] : [may.beTrue, may.beFalse];
  if (!isLiteral) {
    const all = fails | states;
    return () => all;
  }
  const { text, rest } = likePrefix(pattern.value, node.escape);
  const prefix = encoder.encode(text);
  return (ranges) => {
    const { null: mayBeNull, values } = range(ranges);
    const unknown = fails | (mayBeNull ? may.beUnknown : 0);
    if (values === 'none') return unknown;
    if (values === 'any') return unknown | yes | no;
    const { some, all } = begins(values.least, values.greatest, prefix, rest === 'nothing');
    const certain = all && rest !== 'more';
    return unknown | (some ? yes : 0) | (certain ? 0 : no);
  };
}

/** Whether a value between two may begin with a prefix, or be it, and whether each does. */
function begins(
  least: RangeValue | null,
  greatest: RangeValue | null,
  prefix: Uint8Array,
  exact: boolean,
) {
  const low = least === null ? -1 : place(least as Uint8Array, prefix, exact);
  const high = greatest === null ? 1 : place(greatest as Uint8Array, prefix, exact);
  return { some: low <= 0 && high >= 0, all: low === 0 && high === 0 };
}

/** Compares a value with a prefix; 0 if it begins with the prefix. */
function place(value: Uint8Array, prefix: Uint8Array, exact: boolean): number {
  return Buffer.compare(exact ? value : value.subarray(0, prefix.length), prefix);
}

/** The literals of an IN list in order. */
interface SortedMembers {
  readonly nan: boolean;
  /** Whether one lies between two values, each of them included; null for no end. */
  hasBetween(least: RangeValue | null, greatest: RangeValue | null): boolean;
}

/** Puts literals in order; undefined when one of them has no place in an order. */
function sortedMembers(values: readonly Scalar[]): SortedMembers | undefined {
  const found = values.map(rangeValue);
  if (!found.every((value) => value !== undefined)) return undefined;
  const isNan = (value: RangeValue) => typeof value === 'number' && Number.isNaN(value);
  const sorted = found.filter((value) => !isNan(value)).sort(compareRangeValues);
  return {
    nan: found.some(isNan),
    hasBetween(least, greatest) {
      const first = sorted[least === null ? 0 : firstFrom(sorted, least)];
      if (first === undefined) return false;
      return greatest === null || compareRangeValues(first, greatest) <= 0;
    },
  };
}

/** Index of the first value that is not less. */
function firstFrom(sorted: readonly RangeValue[], least: RangeValue): number {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (compareRangeValues(sorted[middle]!, least) < 0) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}
