/** One value: an integer in its type's own step (a boolean is 0 or 1), a float, or bytes. */
export type Extreme = bigint | number | Uint8Array;

/** Bounds of some values, both included. */
export interface Bounds {
  readonly least: Extreme;
  /** Null if the upper bound is unknown. */
  readonly greatest: Extreme | null;
}

/** Whether a row has a value; null when each has. */
export type HasValue = ((row: number) => boolean) | null;

/** Less than, equal to or greater than 0. Numbers compare exactly, bytes one by one. */
function compareExtremes(left: Extreme, right: Extreme): number {
  if (left instanceof Uint8Array) return Buffer.compare(left, right as Uint8Array);
  const other = right as bigint | number;
  return left < other ? -1 : left > other ? 1 : 0;
}

/** Bounds of the values of both; null if there are none. */
export function mergeBounds(left: Bounds | null, right: Bounds | null): Bounds | null {
  if (left === null || right === null) return left ?? right;
  const open = left.greatest === null || right.greatest === null;
  return {
    least: compareExtremes(left.least, right.least) <= 0 ? left.least : right.least,
    greatest: open ? null : greater(left.greatest, right.greatest),
  };
}

function greater(left: Extreme, right: Extreme): Extreme {
  return compareExtremes(left, right) >= 0 ? left : right;
}
