import { copyBytes } from '../data.ts';
import { corrupt } from '../arrow-error.ts';
import type { BatchHeader } from './message.ts';

/** Values of any length of some rows: the rows' offsets say which bytes they are. */
export interface OffsetValues {
  /** The buffers of the offsets, which are read first, and of the values. */
  readonly offsets: number;
  readonly values: number;
  /** How many rows there are; of offsets there is one more. */
  readonly rows: number;
  /** Bytes of an offset. */
  readonly width: 4 | 8;
}

/**
 * Narrows a batch to the values that its rows have, and has their offsets begin at zero. That
 * the other offsets fit is seen when the column is decoded.
 * @param buffers The buffers that were read; the offsets in it are replaced.
 * @throws ArrowError corrupt for offsets that do not lie in the values.
 */
export function narrowValues(
  header: BatchHeader,
  buffers: (Uint8Array | undefined)[],
  { offsets, values, rows, width }: OffsetValues,
): void {
  const bytes = buffers[offsets]!;
  const own = copyBytes(bytes, 0, (rows + 1) * width);
  const list = width === 4 ? new Int32Array(own.buffer) : new BigInt64Array(own.buffer);
  const [first, last] = [Number(list[0]), Number(list[rows])];
  const length = header.buffers[2 * values + 1]!;
  if (first < 0 || last < first || last > length) {
    throw corrupt(
      `The offsets ${first} and ${last} of a column do not lie in its ${length} bytes.`,
    );
  }
  rebase(list);
  buffers[offsets] = own;
  header.buffers[2 * values]! += first;
  header.buffers[2 * values + 1] = last - first;
}

function rebase(offsets: Int32Array | BigInt64Array): void {
  if (offsets instanceof Int32Array) {
    const first = offsets[0]!;
    for (let at = 0; at < offsets.length; at++) offsets[at]! -= first;
    return;
  }
  const first = offsets[0]!;
  for (let at = 0; at < offsets.length; at++) offsets[at]! -= first;
}
