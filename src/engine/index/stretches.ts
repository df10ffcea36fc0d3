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
