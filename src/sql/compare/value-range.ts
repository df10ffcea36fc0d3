import type { Factors } from './compare.ts';
import type { Scalar } from '../values/scalar.ts';

/** A value in an order: an integer in its type's own step (a boolean is 0 or 1), a float, or bytes. */
export type RangeValue = bigint | number | Uint8Array;

/** Bounds of the values of a column in some rows. They may be wider than the values. */
export interface ValueRange {
  /** Whether a row may have no value. */
  readonly null: boolean;
  /** Whether a row may be NaN, which is greater than every other value. */
  readonly nan: boolean;
  /** Bounds of the other values: `none` if there are no others, `any` if nothing is known. */
  readonly values: ValueBounds | 'none' | 'any';
}

/** Both ends are included; a null end is open. */
interface ValueBounds {
  readonly least: RangeValue | null;
  readonly greatest: RangeValue | null;
}

/** Nothing is known. */
export const anyValue: ValueRange = { null: true, nan: true, values: 'any' };

/** No row has a value. */
export const onlyNull: ValueRange = { null: true, nan: false, values: 'none' };

const encoder = new TextEncoder();

/** A literal as a value in an order; undefined for lists and intervals, which have no order here. */
export function rangeValue(value: Scalar): RangeValue | undefined {
  if (typeof value === 'boolean') return value ? 1n : 0n;
  if (typeof value === 'string') return encoder.encode(value);
  const simple =
    typeof value === 'bigint' || typeof value === 'number' || value instanceof Uint8Array;
  return simple ? value : undefined;
}

export function rangeOfLiteral(value: Scalar): ValueRange {
  if (value === null) return onlyNull;
  if (typeof value === 'number' && Number.isNaN(value)) {
    return { null: false, nan: true, values: 'none' };
  }
  const one = rangeValue(value);
  const values = one === undefined ? 'any' : { least: one, greatest: one };
  return { null: false, nan: values === 'any', values };
}

/** Whether some row may have a value, NaN included. */
export function mayHaveValue({ nan, values }: ValueRange): boolean {
  return nan || values !== 'none';
}

/** Less than, equal to or greater than 0. Numbers compare exactly, bytes one by one. */
export function compareRangeValues(left: RangeValue, right: RangeValue): number {
  if (left instanceof Uint8Array || right instanceof Uint8Array) {
    return Buffer.compare(left as Uint8Array, right as Uint8Array);
  }
  return left < right ? -1 : left > right ? 1 : 0;
}

/** Possible results of a comparison of two values. */
export interface Orders {
  readonly less: boolean;
  readonly equal: boolean;
  readonly greater: boolean;
}

const anyOrder: Orders = { less: true, equal: true, greater: true };

/** Possible results of comparing a value of one range with one of the other, each multiplied by its factor. */
export function ordersOf(left: ValueRange, right: ValueRange, factors: Factors): Orders {
  const both = ordersBetween(left.values, right.values, factors);
  const [leftSome, rightSome] = [left.values !== 'none', right.values !== 'none'];
  return {
    less: both.less || (leftSome && right.nan),
    equal: both.equal || (left.nan && right.nan),
    greater: both.greater || (left.nan && rightSome),
  };
}

function ordersBetween(
  left: ValueRange['values'],
  right: ValueRange['values'],
  factors: Factors,
): Orders {
  if (left === 'none' || right === 'none') return { less: false, equal: false, greater: false };
  if (left === 'any' || right === 'any') return anyOrder;
  // The least of the left against the greatest of the right, and the other way round.
  const low = endsOrder(left.least, right.greatest, factors);
  const high = endsOrder(left.greatest, right.least, factors);
  return {
    less: low === null || low < 0,
    equal: (low === null || low <= 0) && (high === null || high >= 0),
    greater: high === null || high > 0,
  };
}

/** The order of two ends; null when one is open. */
function endsOrder(
  left: RangeValue | null,
  right: RangeValue | null,
  [a, b]: Factors,
): number | null {
  if (left === null || right === null) return null;
  return compareRangeValues(scaled(left, a), scaled(right, b));
}

function scaled(value: RangeValue, factor: bigint): RangeValue {
  return factor === 1n || typeof value !== 'bigint' ? value : value * factor;
}
