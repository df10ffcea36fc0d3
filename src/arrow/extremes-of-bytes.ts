import type { Data } from 'apache-arrow';
import type { Bounds, HasValue } from './bounds.ts';
import { copyBytes } from './data.ts';
import { compareRuns, spansOf } from './spans.ts';

/** Maximum length of a bound, in bytes. */
export const MAX_BOUND_BYTES = 32;

/**
 * Bounds of texts and binaries in the order of their bytes, which for UTF-8 is
 * that of the code points. Long ones are cut off, the upper one rounded up, so
 * that it need not be a text itself. At least one row has a value.
 */
export function extremesOfBytes(data: Data, has: HasValue): Bounds {
  const bytes = data.values as Uint8Array;
  const { starts, ends } = spansOf(data);
  let [least, greatest] = [-1, -1];
  let [leastHead, greatestHead] = [0, 0];
  for (let row = 0; row < data.length; row++) {
    const start = starts[row]!;
    const end = ends[row]!;
    const head = headOf(bytes, start, end);
    // The first bytes decide most of the time.
    if (least >= 0 && head > leastHead && head < greatestHead) continue;
    if (has !== null && !has(row)) continue;
    if (least < 0 || compareRuns(bytes, start, end, bytes, starts[least]!, ends[least]!) < 0) {
      least = row;
      leastHead = head;
    }
    if (
      greatest < 0 ||
      compareRuns(bytes, start, end, bytes, starts[greatest]!, ends[greatest]!) > 0
    ) {
      greatest = row;
      greatestHead = head;
    }
  }
  const from = starts[least]!;
  return {
    least: copyBytes(bytes, from, Math.min(ends[least]!, from + MAX_BOUND_BYTES)),
    greatest: roundedUp(bytes.subarray(starts[greatest], ends[greatest])),
  };
}

/** The first six bytes as a number in their order; missing bytes are zero. */
function headOf(bytes: Uint8Array, start: number, end: number): number {
  if (end - start < 6) return shortHeadOf(bytes, start, end);
  const high = (bytes[start]! << 16) | (bytes[start + 1]! << 8) | bytes[start + 2]!;
  const low = (bytes[start + 3]! << 16) | (bytes[start + 4]! << 8) | bytes[start + 5]!;
  return high * 0x100_0000 + low;
}

function shortHeadOf(bytes: Uint8Array, start: number, end: number): number {
  let head = 0;
  for (let at = start; at < start + 6; at++) head = head * 256 + (at < end ? bytes[at]! : 0);
  return head;
}

/** The least short value that is not less; null when there is none. */
function roundedUp(value: Uint8Array): Uint8Array | null {
  if (value.length <= MAX_BOUND_BYTES) return copyBytes(value);
  return successorOf(value.subarray(0, MAX_BOUND_BYTES));
}

/** The least value that is greater than each one that begins with a prefix; null when there is none. */
function successorOf(prefix: Uint8Array): Uint8Array | null {
  let length = prefix.length;
  while (length > 0 && prefix[length - 1] === 255) length--;
  if (length === 0) return null;
  const next = copyBytes(prefix, 0, length);
  next[length - 1]!++;
  return next;
}
