import { crc32 } from '@node-rs/crc32';
import { numbersAt, padded, type Numbers } from './postings.ts';

/** Consecutive rows of a fragment with the lengths of their texts. */
export interface PartHeader {
  /** Position in the fragment's files of the first row. */
  readonly first: number;
  /** Number of rows with a text. */
  readonly texts: number;
  /** Total number of tokens. */
  readonly tokens: number;
  /** Number of tokens of each row; 0 without a text. */
  readonly lengths: Numbers;
}

const HEADER = 32;

/** Encodes a part's header, beginning with a checksum. */
export function encodePart({ first, texts, tokens, lengths }: PartHeader): Uint8Array {
  const bytes = new Uint8Array(HEADER + padded(lengths.byteLength, 8));
  const view = new DataView(bytes.buffer);
  view.setUint32(4, first, true);
  view.setUint32(8, texts, true);
  view.setUint32(12, lengths.length, true);
  view.setFloat64(16, tokens, true);
  view.setUint8(24, lengths.BYTES_PER_ELEMENT);
  bytes.set(new Uint8Array(lengths.buffer, lengths.byteOffset, lengths.byteLength), HEADER);
  view.setUint32(0, crc32(bytes.subarray(4)), true);
  return bytes;
}

/** The inverse of `encodePart`. */
export function decodePart(bytes: Uint8Array): PartHeader {
  const aligned = bytes.byteOffset % 4 === 0 ? bytes : bytes.slice();
  const view = new DataView(aligned.buffer, aligned.byteOffset, aligned.byteLength);
  const [rows, width] = [view.getUint32(12, true), view.getUint8(24)];
  return {
    first: view.getUint32(4, true),
    texts: view.getUint32(8, true),
    tokens: view.getFloat64(16, true),
    lengths: numbersAt(aligned, HEADER, width, rows),
  };
}
