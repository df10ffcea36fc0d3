import { isAscii, isUtf8 } from 'node:buffer';
import { wordsOf } from './data.ts';
import { corrupt } from './errors.ts';
import type { OffsetRange } from './validate-offsets.ts';

/**
 * Checks that the bytes of a text column are valid UTF-8 and that no value
 * begins inside a character. Null rows count as well, as other readers check
 * them too. Throws `corrupt`.
 */
export function checkText(
  values: Uint8Array,
  offsets: Int32Array | BigInt64Array,
  range: OffsetRange,
  length: number,
  name: string,
): void {
  const used = values.subarray(range.begin, range.end);
  if (isAscii(used)) return;
  if (!isUtf8(used)) throw badText(name);
  const words = wordsOf(offsets);
  const step = offsets instanceof Int32Array ? 1 : 2;
  for (let row = 0; row <= length; row++) {
    // Low words suffice: the offsets lie within a buffer below 2^32 bytes.
    const at = words[row * step]!;
    if (at < range.end && (values[at]! & 0xc0) === 0x80) throw badText(name);
  }
}

/** The error for a text column with bytes that are no text. */
export function badText(name: string): Error {
  return corrupt(`Column "${name}" has text that is not valid UTF-8.`);
}
