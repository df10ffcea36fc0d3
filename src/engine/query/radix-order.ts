/** Sorting by digits of so many bits pays once there are so many rows; fewer rows have smaller digits. */
const WIDE = { rows: 2 ** 14, bits: 16 };
const NARROW_BITS = 8;

/**
 * Sorts rows by two words of each, the high one first; rows with equal words
 * keep their order. Takes the time of a few passes, whatever the words are.
 * @param high Words by row, or null where all are the same; `low` likewise.
 */
export function sortByWords(rows: Uint32Array, high: Uint32Array | null, low: Uint32Array): void {
  const bits = rows.length < WIDE.rows ? NARROW_BITS : WIDE.bits;
  const starts = new Uint32Array(2 ** bits);
  let from = rows;
  let to: Uint32Array = new Uint32Array(rows.length);
  for (const words of high === null ? [low] : [low, high]) {
    for (let shift = 0; shift < 32; shift += bits) {
      if (pass(from, to, words, shift, starts)) [from, to] = [to, from];
    }
  }
  if (from !== rows) rows.set(from);
}

/** Sorts by one digit; does nothing, and says so, when all rows have the same. */
function pass(
  from: Uint32Array,
  to: Uint32Array,
  words: Uint32Array,
  shift: number,
  starts: Uint32Array,
): boolean {
  const mask = starts.length - 1;
  starts.fill(0);
  for (let at = 0; at < from.length; at++) starts[(words[from[at]!]! >>> shift) & mask]!++;
  if (from.length === 0 || starts[(words[from[0]!]! >>> shift) & mask] === from.length) {
    return false;
  }
  let start = 0;
  for (let digit = 0; digit <= mask; digit++) {
    const count = starts[digit]!;
    starts[digit] = start;
    start += count;
  }
  for (let at = 0; at < from.length; at++) {
    const row = from[at]!;
    to[starts[(words[row]! >>> shift) & mask]!++] = row;
  }
  return true;
}
