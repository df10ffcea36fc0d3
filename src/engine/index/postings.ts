/** Both forms begin with a word that says which it is. */
const AS_ROWS = 0;
const AS_BITS = 1;
const HEADER = 4;

/** Rows, ascending, in the shorter of two forms: one after the other, or a bit for each row of the fragment. */
export function encodePostings(rows: Uint32Array, of: number): Uint8Array {
  const bitBytes = Math.ceil(of / 8);
  if (4 * rows.length <= bitBytes) {
    const bytes = new Uint8Array(HEADER + 4 * rows.length);
    bytes[0] = AS_ROWS;
    new Uint32Array(bytes.buffer, HEADER).set(rows);
    return bytes;
  }
  const bytes = new Uint8Array(HEADER + bitBytes);
  bytes[0] = AS_BITS;
  for (const row of rows) bytes[HEADER + (row >> 3)]! |= 1 << (row & 7);
  return bytes;
}

/** The inverse of `encodePostings`. */
export function decodePostings(bytes: Uint8Array): Uint32Array {
  const body = bytes.slice(HEADER);
  if (bytes[0] === AS_ROWS) return new Uint32Array(body.buffer, 0, body.length >> 2);
  const rows = new Uint32Array(8 * body.length);
  let count = 0;
  for (let at = 0; at < body.length; at++) {
    for (let bits = body[at]!; bits !== 0; bits &= bits - 1) {
      rows[count++] = 8 * at + (31 - Math.clz32(bits & -bits));
    }
  }
  return rows.slice(0, count);
}
