import { BLOCK_ROWS, codeLayout, type CodeShape } from './code-layout.ts';

/**
 * Copies the codes of some rows, in the layout of partitions, to a portion of their own.
 * @param rows Their places, ascending.
 * @param first Number of the row at the first place.
 * @returns The portion and the greatest factor of its 8-bit codes.
 */
export function takeCodes(
  shape: CodeShape,
  bytes: Uint8Array,
  rows: Uint32Array,
  first: number,
): { readonly bytes: Uint8Array; readonly step: number } {
  const layout = codeLayout(shape, rows.length, true);
  const taken = new Uint8Array(layout.bytes);
  const to = new DataView(taken.buffer);
  const all = Math.floor(bytes.length / codeLayout(shape, BLOCK_ROWS, true).bytes) * BLOCK_ROWS;
  const source = codeLayout(shape, all, true);
  const from = new DataView(bytes.buffer, bytes.byteOffset);
  let step = 0;
  for (const [at, row] of rows.entries()) {
    copyBits(bytes, row, taken, at, layout.bitBytes);
    to.setFloat32(layout.first + 4 * at, from.getFloat32(source.first + 4 * row, true), true);
    to.setFloat32(layout.second + 4 * at, from.getFloat32(source.second + 4 * row, true), true);
    const codes = source.codes + row * source.stride;
    step = Math.max(step, -from.getFloat32(codes, true));
    taken.set(bytes.subarray(codes, codes + source.stride), layout.codes + at * layout.stride);
    to.setUint32(layout.ids + 4 * at, first + row, true);
  }
  for (let at = rows.length; at < layout.rows; at++) {
    to.setFloat32(layout.first + 4 * at, Infinity, true);
  }
  return { bytes: taken, step };
}

function copyBits(
  bytes: Uint8Array,
  row: number,
  taken: Uint8Array,
  at: number,
  bitBytes: number,
): void {
  let from = Math.floor(row / BLOCK_ROWS) * bitBytes * BLOCK_ROWS + (row % BLOCK_ROWS);
  let to = Math.floor(at / BLOCK_ROWS) * bitBytes * BLOCK_ROWS + (at % BLOCK_ROWS);
  for (let byte = 0; byte < bitBytes; byte++, from += BLOCK_ROWS, to += BLOCK_ROWS) {
    taken[to] = bytes[from]!;
  }
}
