/** Rows no further apart than this are read together. */
const NEAR = 512;
/** At most so many stretches are read of a batch. */
const MOST = 16;

/** Rows, ascending, in stretches that are each worth being read alone; all in one when those would be many. */
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

/** The rows in both of two ascending lists. */
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

/** The rows in one of two ascending lists, or in both. */
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

/** The rows of an ascending list that are not in another. */
export function rowsWithout(rows: Uint32Array, gone: Uint32Array): Uint32Array {
  if (gone.length === 0) return rows;
  const left = new Uint32Array(rows.length);
  let count = 0;
  let next = 0;
  for (const row of rows) {
    while (next < gone.length && gone[next]! < row) next++;
    if (gone[next] !== row) left[count++] = row;
  }
  return left.slice(0, count);
}

/** All rows of some lists, ascending and each once. */
export function rowsOfAll(lists: readonly Uint32Array[]): Uint32Array {
  if (lists.length === 1) return distinct(lists[0]!.slice().sort());
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

/** Where in an ascending list a value stands, or would. */
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
