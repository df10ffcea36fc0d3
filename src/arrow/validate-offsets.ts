import { wordsOf } from './data.ts';
import { corrupt } from './errors.ts';

/** First and last position that the offsets of a column cover. */
export interface OffsetRange {
  readonly begin: number;
  readonly end: number;
}

/**
 * Checks that the offsets of `length` rows begin at 0 or above, never fall and
 * end within `limit`. Throws `corrupt`.
 */
export function checkOffsets(
  offsets: Int32Array | BigInt64Array,
  length: number,
  limit: number,
  name: string,
): OffsetRange {
  const range =
    offsets instanceof Int32Array ? scan32(offsets, length) : scan64(wordsOf(offsets), length);
  if (range === undefined) throw corrupt(`The offsets of column "${name}" fall or are negative.`);
  if (range.end > limit) {
    throw corrupt(
      `The offsets of column "${name}" lead to ${range.end}, beyond its end at ${limit}.`,
    );
  }
  return range;
}

function scan32(offsets: Int32Array, length: number): OffsetRange | undefined {
  let previous = offsets[0]!;
  if (previous < 0) return undefined;
  for (let row = 1; row <= length; row++) {
    const next = offsets[row]!;
    if (next < previous) return undefined;
    previous = next;
  }
  return { begin: offsets[0]!, end: previous };
}

/** 64-bit offsets as pairs of words: no body is longer than 2^53, which is left to the caller's limit. */
function scan64(words: Uint32Array, length: number): OffsetRange | undefined {
  let previous = 0;
  for (let row = 0; row <= length; row++) {
    const high = words[2 * row + 1]!;
    const next = high * 0x1_0000_0000 + words[2 * row]!;
    if (next < previous || high > 0x1f_ff_ff) return undefined;
    previous = next;
  }
  return { begin: words[1]! * 0x1_0000_0000 + words[0]!, end: previous };
}
