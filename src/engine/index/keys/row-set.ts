import { onlyItem } from '../../base/items.ts';
/** Greatest distance of rows that are read together. */
const NEAR = 512;
/** Most separate ranges that are read of a batch. */
const MOST = 16;

/**
 * Splits ascending rows into ranges worth reading separately; one range if there would be too many.
 */
export function stretchesOf(rows: Uint32Array): readonly Uint32Array[] {
  const found: Uint32Array[] = [];
  let start = 0;
  for (let at = 1; at <= rows.length; at++) {
    if (at < rows.length && rows[at]! - rows[at - 1]! <= NEAR) continue;
    if (found.length === MOST) return [rows];
    found.push(rows.subarray(start, at));
    start = at;
  }
  return found;
}

/** Intersection of two ascending lists. */
export function rowsInBoth(left: Uint32Array, right: Uint32Array): Uint32Array {
  const both = new Uint32Array(Math.min(left.length, right.length));
  let count = 0;
  for (let a = 0, b = 0; a < left.length && b < right.length;) {
    const [one, other] = [left[a]!, right[b]!];
    if (one === other) both[count++] = one;
    if (one <= other) a++;
    if (other <= one) b++;
  }
  return both.slice(0, count);
}

/** Union of two ascending lists. */
export function rowsInEither(left: Uint32Array, right: Uint32Array): Uint32Array {
  if (left.length === 0) return right;
  if (right.length === 0) return left;
  const either = new Uint32Array(left.length + right.length);
  let count = 0;
  for (let a = 0, b = 0; a < left.length || b < right.length;) {
    const one = left[a] ?? Infinity;
    const other = right[b] ?? Infinity;
    either[count++] = Math.min(one, other);
    if (one <= other) a++;
    if (other <= one) b++;
  }
  return either.slice(0, count);
}

/** Difference of two ascending lists. */
export function rowsWithout(rows: Uint32Array, deleted: Uint32Array): Uint32Array {
  if (deleted.length === 0) return rows;
  const left = new Uint32Array(rows.length);
  let count = 0;
  let next = 0;
  for (const row of rows) {
    while (next < deleted.length && deleted[next]! < row) next++;
    if (deleted[next] !== row) left[count++] = row;
  }
  return left.slice(0, count);
}

/** Union of lists, ascending and without repetition. */
export function rowsOfAll(lists: readonly Uint32Array[]): Uint32Array {
  const only = onlyItem(lists);
  if (only !== undefined) return only.length < 2 ? only : distinct(only.slice().sort());
  const all = new Uint32Array(lists.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const list of lists) {
    all.set(list, at);
    at += list.length;
  }
  return distinct(all.sort());
}

function distinct(sorted: Uint32Array): Uint32Array {
  let count = 0;
  for (let at = 0; at < sorted.length; at++) {
    if (at === 0 || sorted[at] !== sorted[at - 1]) sorted[count++] = sorted[at]!;
  }
  return sorted.subarray(0, count);
}

/** Position of a value in an ascending list, or where it would be inserted. */
export function placeIn(sorted: ArrayLike<number>, value: number): number {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle]! < value) low = middle + 1;
    else high = middle;
  }
  return low;
}
