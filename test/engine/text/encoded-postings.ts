import { PostingsEncoder } from '../../../src/engine/index/text/postings-encoder.ts';
import { WideBytes } from '../../../src/engine/index/text/wide-bytes.ts';

/**
 * The bytes of postings.
 * @param rows Row of each occurrence, ascending. @param positions Position of each.
 * @param lengths Number of tokens of each row from `first` on.
 */
export function encodedPostings(
  rows: Iterable<number>,
  positions: Iterable<number> | null,
  lengths: Uint32Array,
  first = 0,
): Uint8Array {
  const encoder = new PostingsEncoder({ lengths, first });
  const own = Uint32Array.from(rows);
  const places = positions === null ? null : Uint32Array.from(positions);
  const size = encoder.take({ rows: own, positions: places, start: 0, end: own.length });
  // Room that was used before has other bytes in it.
  const room = new WideBytes(size + 16);
  room.bytes.fill(0xff);
  encoder.write(room, 8, size);
  return room.bytes.slice(8, 8 + size);
}
