import { compareRuns, firstDifference } from '../../arrow/spans.ts';
import type { BytesColumn } from '../values/column.ts';
import { spend } from '../values/meter.ts';
import type { Form, StateBits } from './compare-numbers.ts';

/** Comparing up to this many bytes is charged with the row. */
const LONG = 64;

/**
 * Less than, equal to or greater than zero, as the one value is to the other.
 * Texts compare by their UTF-8 bytes, which is the order of their code points.
 */
export function orderBytes(
  left: BytesColumn,
  row: number,
  right: BytesColumn,
  other: number,
): number {
  const from = left.starts[row]!;
  const to = right.starts[other]!;
  const [end, otherEnd] = [left.ends[row]!, right.ends[other]!];
  const shared = Math.min(end - from, otherEnd - to);
  if (shared <= LONG) return compareRuns(left.bytes, from, end, right.bytes, to, otherEnd);
  const at = firstDifference(left.bytes, from, right.bytes, to, shared);
  if (at > LONG) spend(at);
  return compareRuns(left.bytes, from + at, end, right.bytes, to + at, otherEnd);
}

/** Whether a value of the column is the given bytes. */
export function equalBytes(column: BytesColumn, row: number, literal: Uint8Array): boolean {
  const from = column.starts[row]!;
  if (column.ends[row]! - from !== literal.length) return false;
  if (literal.length > LONG) spend(literal.length);
  return firstDifference(column.bytes, from, literal, 0, literal.length) === literal.length;
}

/** Compares the values of two columns byte by byte. */
export function compareBytes(
  form: Form,
  left: BytesColumn,
  right: BytesColumn,
  into: Uint8Array,
  { no, flip }: StateBits,
): void {
  for (let row = 0; row < into.length; row++) {
    const found = orderBytes(left, row, right, row);
    into[row] =
      no ^ (-Number(form === 'eq' ? found === 0 : form === 'lt' ? found < 0 : found <= 0) & flip);
  }
}

/** Compares values with one value, without decoding any. */
export function compareBytesTo(
  form: Form,
  column: BytesColumn,
  literal: Uint8Array,
  into: Uint8Array,
  { no, flip }: StateBits,
): void {
  if (form === 'eq') {
    for (let row = 0; row < into.length; row++) {
      into[row] = no ^ (-Number(equalBytes(column, row, literal)) & flip);
    }
    return;
  }
  const single: BytesColumn = {
    kind: 'bytes',
    length: 1,
    bytes: literal,
    starts: new Uint32Array(1),
    ends: Uint32Array.of(literal.length),
    valid: null,
  };
  for (let row = 0; row < into.length; row++) {
    const found = orderBytes(column, row, single, 0);
    into[row] = no ^ (-Number(form === 'lt' ? found < 0 : found <= 0) & flip);
  }
}
