import type { Data } from 'apache-arrow';
import { isMarkedNull, nullCountOf, wordsOf } from './data.ts';
import { ArrowError } from './errors.ts';
import { copyRun } from './gather.ts';

/** The last position that 32-bit offsets reach. */
export const maxOffset = 2_147_483_647;

/** New offsets for some rows of a column, and where each row lay before. */
export interface TakenRanges {
  readonly offsets: Int32Array | BigInt64Array;
  /** First position of each row. */
  readonly starts: Float64Array;
  readonly lengths: Uint32Array;
  readonly total: number;
}

/** The ranges of some rows of a column with offsets; null rows are empty. Throws `limit` beyond 2^31-1 positions. */
export function takeRanges(data: Data, rows: Uint32Array): TakenRanges {
  const source: Int32Array | BigInt64Array = data.valueOffsets;
  const large = source instanceof BigInt64Array;
  const offsets = large ? new BigInt64Array(rows.length + 1) : new Int32Array(rows.length + 1);
  const [from, to] = [wordsOf(source), wordsOf(offsets)];
  const step = large ? 2 : 1;
  const starts = new Float64Array(rows.length);
  const lengths = new Uint32Array(rows.length);
  const nulls = nullCountOf(data) > 0;
  let total = 0;
  for (let index = 0; index < rows.length; index++) {
    const row = rows[index]!;
    const start = from[row * step]!;
    const length = nulls && isMarkedNull(data, row) ? 0 : from[(row + 1) * step]! - start;
    starts[index] = start;
    lengths[index] = length;
    total += length;
    to[(index + 1) * step] = total;
  }
  if (total > maxOffset) throw tooLong(total);
  return { offsets, starts, lengths, total };
}

/** The error for a column whose values together are too long. */
export function tooLong(total: number): ArrowError {
  return new ArrowError(
    'limit',
    `A column would hold ${total} bytes or items, at most ${maxOffset} fit.`,
  );
}

/** Copies ranges of bytes one after the other; neighbours go in one piece. */
export function copyRanges(source: Uint8Array, ranges: TakenRanges): Uint8Array {
  const target = new Uint8Array(ranges.total);
  const { starts, lengths } = ranges;
  let from = 0;
  let count = 0;
  let to = 0;
  for (let index = 0; index < lengths.length; index++) {
    const length = lengths[index]!;
    if (length === 0) continue;
    const start = starts[index]!;
    if (start !== from + count) {
      copyRun(source, from, target, to, count);
      to += count;
      from = start;
      count = 0;
    }
    count += length;
  }
  copyRun(source, from, target, to, count);
  return target;
}
