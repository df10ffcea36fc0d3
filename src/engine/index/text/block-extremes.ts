import { POSTINGS_OF_BLOCK, narrowed, type BlockExtremes, type Numbers } from './postings.ts';

/**
 * Extremes of the blocks of postings; null if all rows are in one block.
 * @param lengths Number of tokens of each row from `first` on.
 */
export function blockExtremes(
  rows: Uint32Array,
  counts: Numbers,
  lengths: Uint32Array,
  first: number,
): BlockExtremes | null {
  if (rows.length <= POSTINGS_OF_BLOCK) return null;
  const blocks = Math.ceil(rows.length / POSTINGS_OF_BLOCK);
  const mostCounts = new Uint32Array(blocks);
  const mostLengths = new Uint32Array(blocks);
  const otherLengths = new Uint32Array(blocks);
  let [greatest, longest] = [0, 0];
  for (let block = 0; block < blocks; block++) {
    const end = Math.min(rows.length, (block + 1) * POSTINGS_OF_BLOCK);
    let [most, length, other] = [0, Infinity, Infinity];
    for (let at = block * POSTINGS_OF_BLOCK; at < end; at++) {
      const count = counts[at]!;
      const own = lengths[rows[at]! - first]!;
      if (count > most) [most, length, other] = [count, own, Math.min(length, other)];
      else if (count === most) length = Math.min(length, own);
      else other = Math.min(other, own);
    }
    if (other === Infinity) other = length;
    mostCounts[block] = most;
    mostLengths[block] = length;
    otherLengths[block] = other;
    greatest = Math.max(greatest, most);
    longest = Math.max(longest, length, other);
  }
  return {
    mostCounts: narrowed(mostCounts, greatest),
    mostLengths: narrowed(mostLengths, longest),
    otherLengths: narrowed(otherLengths, longest),
  };
}
