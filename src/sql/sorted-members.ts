import type { Scalar } from './scalar.ts';
import { compareRangeValues, rangeValue, type RangeValue } from './value-range.ts';

/** The literals of an IN list in order. */
export interface SortedMembers {
  readonly nan: boolean;
  /** Whether one lies between two values, each of them included; null for no end. */
  hasBetween(least: RangeValue | null, greatest: RangeValue | null): boolean;
}

/** Puts literals in order; undefined when one of them has no place in an order. */
export function sortedMembers(values: readonly Scalar[]): SortedMembers | undefined {
  const found = values.map(rangeValue);
  if (!found.every((value) => value !== undefined)) {
    return undefined;
  }
  const isNan = (value: RangeValue) => typeof value === 'number' && Number.isNaN(value);
  const sorted = found.filter((value) => !isNan(value)).sort(compareRangeValues);
  return {
    nan: found.some(isNan),
    hasBetween(least, greatest) {
      const first = sorted[least === null ? 0 : firstFrom(sorted, least)];
      if (first === undefined) {
        return false;
      }
      return greatest === null || compareRangeValues(first, greatest) <= 0;
    },
  };
}

/** The place of the first that is not less. */
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
