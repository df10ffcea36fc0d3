import { wordsOf } from './data.ts';
import { corrupt } from './arrow-error.ts';
import { isAscii, isUtf8 } from 'node:buffer';
import type { Data } from 'apache-arrow';
import { inlineCapacity, isText, viewWidth } from './layout.ts';

/** First and last position that the offsets of a column cover. */
interface OffsetRange {
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
function badText(name: string): Error {
  return corrupt(`Column "${name}" has text that is not valid UTF-8.`);
}

/**
 * Checks every view of a column, null rows included (other readers do too):
 * length, padding, data buffer, place and prefix, and for text the bytes.
 * Throws `corrupt`.
 */
export function checkViews(data: Data, name: string): void {
  const views: Uint8Array = data.values;
  const words = wordsOf(views);
  const text = isText(data.type);
  const plain = data.variadicBuffers.map((buffer) => isAscii(buffer));
  for (let row = 0; row < data.length; row++) {
    const length = words[4 * row]! | 0;
    if (length < 0) throw badView(name, row);
    if (length <= inlineCapacity) {
      if (!isPadded(views, 16 * row, length)) throw badView(name, row);
      if (text && !isInlineText(views, 16 * row + 4, length)) throw badText(name);
    } else {
      const value = longValue(data, words, row);
      if (value === undefined) throw badView(name, row);
      if (text && plain[words[4 * row + 2]!] !== true && !isUtf8(value)) throw badText(name);
    }
  }
}

/** The bytes of a value outside its view; `undefined` if the view is invalid. */
function longValue(data: Data, words: Uint32Array, row: number): Uint8Array | undefined {
  const length = words[4 * row]!;
  const buffer = data.variadicBuffers[words[4 * row + 2]!];
  const offset = words[4 * row + 3]!;
  if (buffer === undefined || offset + length > buffer.length) return undefined;
  const prefix = words[4 * row + 1]!;
  const first =
    buffer[offset]! |
    (buffer[offset + 1]! << 8) |
    (buffer[offset + 2]! << 16) |
    (buffer[offset + 3]! << 24);
  return first === (prefix | 0) ? buffer.subarray(offset, offset + length) : undefined;
}

/** Whether the padding of a short value in its view is zero, as the format requires. */
function isPadded(views: Uint8Array, view: number, length: number): boolean {
  for (let at = view + 4 + length; at < view + viewWidth; at++) if (views[at] !== 0) return false;
  return true;
}

function isInlineText(views: Uint8Array, start: number, length: number): boolean {
  for (let at = start; at < start + length; at++) {
    if (views[at]! > 127) return isUtf8(views.subarray(start, start + length));
  }
  return true;
}

function badView(name: string, row: number): Error {
  return corrupt(`Row ${row} of column "${name}" has no sound view of its value.`);
}
