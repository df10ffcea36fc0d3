import {
  bothValid,
  maskStates,
  newStates,
  statesColumn,
  truth,
  validOf,
  type Column,
  type StatesColumn,
  type Valid,
} from '../values/column.ts';
import { compareBytes, compareBytesTo } from './compare-bytes.ts';
import {
  compareBigints,
  compareBigintsTo,
  compareMixed,
  compareMixedTo,
  compareNumbers,
  compareNumbersTo,
  countNumbersTo,
  type Form,
  type StateBits,
} from './compare-numbers.ts';
import type { ComparisonOperator } from '../values/expression.ts';
import type { Scalar } from '../values/scalar.ts';
import { scaledValues, widenToBigints } from '../values/widen.ts';

interface Plan {
  readonly form: Form;
  readonly outcome: StateBits;
}

const holds: StateBits = { no: truth.false, flip: truth.true };
const fails: StateBits = { no: truth.true, flip: truth.true };

const plans: Readonly<Record<ComparisonOperator, Plan>> = {
  '=': { form: 'eq', outcome: holds },
  '!=': { form: 'eq', outcome: fails },
  '<': { form: 'lt', outcome: holds },
  '>=': { form: 'lt', outcome: fails },
  '<=': { form: 'le', outcome: holds },
  '>': { form: 'le', outcome: fails },
  'is not distinct from': { form: 'eq', outcome: holds },
  'is distinct from': { form: 'eq', outcome: fails },
};

/** Factors by which the values of each side are multiplied before comparison. */
export type Factors = readonly [bigint, bigint];

/** A literal in the column's step; `form` may have changed. `never`: no value matches. */
type Bound = { readonly form: Form; readonly literal: bigint } | 'always' | 'never';

/** `value * factor` against `literal`, without the multiplication. */
function scaledBound(form: Form, literal: bigint, factor: bigint): Bound {
  const rest = literal % factor;
  if (rest === 0n) return { form, literal: literal / factor };
  return form === 'eq'
    ? 'never'
    : { form: 'le', literal: (literal - rest) / factor - (rest < 0n ? 1n : 0n) };
}

/** An integer against a float, exactly: `i < 1.5` is `i <= 1`. */
function floatBound(form: Form, literal: number): Bound {
  if (Number.isNaN(literal) || literal === Infinity) return form === 'eq' ? 'never' : 'always';
  if (literal === -Infinity) return 'never';
  if (Number.isInteger(literal)) return { form, literal: BigInt(literal) };
  return form === 'eq' ? 'never' : { form: 'le', literal: BigInt(Math.floor(literal)) };
}

function compareTruth(
  form: Form,
  left: Uint8Array,
  right: Uint8Array,
  into: Uint8Array,
  { no, flip }: StateBits,
): void {
  for (let row = 0; row < into.length; row++) {
    const [x, y] = [left[row]!, right[row]!];
    into[row] = no ^ (-Number(form === 'eq' ? x === y : form === 'lt' ? x < y : x <= y) & flip);
  }
}

function compareIntegerTo(
  column: Column & { kind: 'number' | 'bigint' | 'wide' },
  bound: Bound,
  into: Uint8Array,
  outcome: StateBits,
): void {
  if (typeof bound === 'string') {
    into.fill(bound === 'always' ? outcome.no ^ outcome.flip : outcome.no);
    return;
  }
  const { form, literal } = bound;
  if (column.kind === 'bigint') {
    compareBigintsTo(form, column.values, literal, into, outcome);
  } else if (column.kind === 'number' && BigInt(Number(literal)) === literal) {
    compareNumbersTo(form, column.values, Number(literal), into, outcome);
  } else {
    compareMixedTo(form, column.values, literal, into, outcome);
  }
}

function compareNumericTo(
  column: Column,
  literal: Scalar,
  { form, outcome }: Plan,
  factors: Factors,
  into: Uint8Array,
): void {
  if (column.kind !== 'number' && column.kind !== 'bigint' && column.kind !== 'wide') {
    throw new TypeError(`a ${column.kind} column does not compare with a number`);
  }
  if (typeof literal === 'bigint') {
    compareIntegerTo(column, scaledBound(form, literal * factors[1], factors[0]), into, outcome);
  } else if (column.kind === 'number') {
    compareNumbersTo(form, column.values, literal as number, into, outcome);
  } else {
    compareIntegerTo(column, floatBound(form, literal as number), into, outcome);
  }
}

const encoder = new TextEncoder();

function compareValueTo(
  column: Column,
  literal: Scalar,
  plan: Plan,
  factors: Factors,
  into: Uint8Array,
): void {
  if (column.kind === 'bytes') {
    const bytes = typeof literal === 'string' ? encoder.encode(literal) : (literal as Uint8Array);
    compareBytesTo(plan.form, column, bytes, into, plan.outcome);
  } else if (column.kind === 'states') {
    const other = new Uint8Array(column.length).fill(literal === true ? truth.true : truth.false);
    compareTruth(plan.form, column.states, other, into, plan.outcome);
  } else {
    compareNumericTo(column, literal, plan, factors, into);
  }
}

/** Nulls are values to `IS [NOT] DISTINCT FROM`: two nulls are equal, a null and a value are not. */
function distinctNulls(states: Uint8Array, left: Valid, right: Valid, outcome: StateBits): void {
  for (let row = 0; row < states.length; row++) {
    const [x, y] = [left === null || left[row] === 1, right === null || right[row] === 1];
    if (!x || !y) states[row] = x === y ? outcome.no ^ outcome.flip : outcome.no;
  }
}

function finish(
  operator: ComparisonOperator,
  states: Uint8Array,
  left: Valid,
  right: Valid,
): StatesColumn {
  if (operator === 'is distinct from' || operator === 'is not distinct from') {
    distinctNulls(states, left, right, plans[operator].outcome);
  } else {
    maskStates(states, bothValid(left, right));
  }
  return statesColumn(states);
}

/** Compares each row with one value, the column on the left. */
export function compareToLiteral(
  operator: ComparisonOperator,
  column: Column,
  literal: Scalar,
  factors: Factors,
): StatesColumn {
  const states = newStates(column.length);
  if (literal === null) {
    return finish(operator, states, validOf(column), new Uint8Array(column.length));
  }
  if (column.kind !== 'null') compareValueTo(column, literal, plans[operator], factors, states);
  return finish(operator, states, validOf(column), null);
}

/**
 * How many rows compare as `operator` says with a value; null where that is to
 * be found by comparing: it can be counted for floats without nulls alone.
 */
export function countToLiteral(
  operator: ComparisonOperator,
  column: Column,
  literal: Scalar,
): number | null {
  if (column.kind !== 'number' || column.valid !== null || isInteger(column)) return null;
  if (typeof literal !== 'number' || Number.isNaN(literal)) return null;
  const { form, outcome } = plans[operator];
  const count = countNumbersTo(form, column.values, literal);
  return outcome === holds ? count : column.length - count;
}

function isInteger(column: Column & { kind: 'number' }): boolean {
  return !(column.values instanceof Float32Array || column.values instanceof Float64Array);
}

function compareValues(
  left: Column,
  right: Column,
  { form, outcome }: Plan,
  factors: Factors,
  into: Uint8Array,
): void {
  if (left.kind === 'bytes' && right.kind === 'bytes') {
    compareBytes(form, left, right, into, outcome);
  } else if (left.kind === 'states' && right.kind === 'states') {
    compareTruth(form, left.states, right.states, into, outcome);
  } else if (factors[0] !== 1n || factors[1] !== 1n) {
    compareMixed(
      form,
      scaledValues(left, factors[0]),
      scaledValues(right, factors[1]),
      into,
      outcome,
    );
  } else {
    compareNumeric(form, left, right, into, outcome);
  }
}

function compareNumeric(
  form: Form,
  left: Column,
  right: Column,
  into: Uint8Array,
  outcome: StateBits,
): void {
  if (left.kind === 'number' && right.kind === 'number') {
    compareNumbers(form, left.values, right.values, into, outcome);
    return;
  }
  const [a, b] = [numericValues(left), numericValues(right)];
  const big = (values: typeof a): values is BigInt64Array | BigUint64Array =>
    values instanceof BigInt64Array || values instanceof BigUint64Array;
  if (big(a) && big(b)) {
    compareBigints(form, a, b, into, outcome);
  } else {
    compareMixed(form, a, b, into, outcome);
  }
}

/** Integers as bigints; floats and decimals as they are. */
function numericValues(
  column: Column,
): ArrayLike<number> | ArrayLike<bigint> | BigInt64Array | BigUint64Array {
  if (column.kind === 'number') {
    return isInteger(column) ? widenToBigints(column.values) : column.values;
  }
  if (column.kind === 'bigint' || column.kind === 'wide') return column.values;
  throw new TypeError(`a ${column.kind} column does not compare with numbers`);
}

/** Compares two columns row by row. */
export function compareColumns(
  operator: ComparisonOperator,
  left: Column,
  right: Column,
  factors: Factors,
): StatesColumn {
  const states = newStates(left.length);
  if (left.kind !== 'null' && right.kind !== 'null') {
    compareValues(left, right, plans[operator], factors, states);
  }
  return finish(operator, states, validOf(left), validOf(right));
}
