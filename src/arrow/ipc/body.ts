import { decodeLz4 } from './codec-lz4.ts';
import { decodeZstd } from './codec-zstd.ts';
import { ArrowError, corrupt } from '../arrow-error.ts';
import type { BatchHeader, Codec } from './message.ts';

/** Work that yields from time to time. */
export type Stretches<Result> = Generator<void, Result>;

const decoders: Readonly<
  Record<Codec, (bytes: Uint8Array, length: number) => Stretches<Uint8Array>>
> = {
  lz4: decodeLz4,
  zstd: decodeZstd,
};

/** The compressed buffers of a batch, for a decoder elsewhere. */
export interface PackedBatch {
  readonly codec: Codec;
  /** Offset and length of each buffer in the body. */
  readonly regions: readonly (readonly [number, number])[];
  /** Owns its memory, which the decoder may take. */
  readonly body: Uint8Array<ArrayBuffer>;
}

/** Decompresses each buffer of a packed batch, in order. Throws `ArrowError`. */
export function* unpacked({ codec, regions, body }: PackedBatch): Generator<Uint8Array> {
  for (const [offset, length] of regions) {
    yield readCompressed(body.subarray(offset, offset + length), codec);
  }
}

/** The buffers of a batch, decompressed, as views of its body or memory of their own. */
export function readBuffers(header: BatchHeader, body: Uint8Array): Uint8Array[] {
  return atOnce(decodedBuffers(header, body));
}

/** Like `readBuffers`, but yields between stretches of decompression. */
export function* decodedBuffers(header: BatchHeader, body: Uint8Array): Stretches<Uint8Array[]> {
  const stored = storedBuffers(header, body);
  const { codec } = header;
  if (codec === undefined) return stored;
  const decoded: Uint8Array[] = [];
  for (const bytes of stored) decoded.push(yield* decompressed(bytes, codec));
  return decoded;
}

/** Runs the work to its end. */
export function atOnce<Result>(work: Stretches<Result>): Result {
  for (;;) {
    const step = work.next();
    if (step.done === true) return step.value;
  }
}

/**
 * Bytes that the buffers of a batch declare to have after decompression; 0 where nothing is
 * compressed. Throws `limit` beyond the limit.
 */
export function decompressedBytes(header: BatchHeader, body: Uint8Array, limit: number): number {
  if (header.codec === undefined) return 0;
  let total = 0;
  for (const bytes of storedBuffers(header, body)) {
    const length = declaredLength(bytes);
    total += length === -1 ? bytes.length - 8 : length;
    if (total > limit) {
      throw new ArrowError('limit', `A batch has more than ${limit} bytes after decompression.`);
    }
  }
  return total;
}

function storedBuffers(header: BatchHeader, body: Uint8Array): Uint8Array[] {
  return bufferRegions(header, body.length).map(([offset, length]) =>
    body.subarray(offset, offset + length),
  );
}

/** Offset and length of each buffer, all of them inside the body and not longer than it together. */
export function bufferRegions(header: BatchHeader, bodyLength: number): [number, number][] {
  const regions: [number, number][] = [];
  let total = 0;
  for (let index = 0; index < header.buffers.length; index += 2) {
    const [offset, length] = [header.buffers[index]!, header.buffers[index + 1]!];
    if (offset < 0 || length < 0 || offset + length > bodyLength) {
      const place = `${length} bytes at ${offset}`;
      throw corrupt(`A buffer of ${place} lies outside the body of ${bodyLength} bytes.`);
    }
    total += length;
    regions.push([offset, length]);
  }
  // With shared bytes a small message could declare a huge table.
  if (total > bodyLength) throw corrupt('The buffers of a message overlap.');
  return regions;
}

/** One buffer of a compressed body: its length as 8 bytes, -1 for "not compressed", then its data. */
export function readCompressed(bytes: Uint8Array, codec: Codec): Uint8Array {
  return atOnce(decompressed(bytes, codec));
}

function* decompressed(bytes: Uint8Array, codec: Codec): Stretches<Uint8Array> {
  if (bytes.length === 0) return bytes;
  const length = declaredLength(bytes);
  const data = bytes.subarray(8);
  if (length === -1) return data;
  return length === 0 ? new Uint8Array(0) : yield* decoders[codec](data, length);
}

/** The uncompressed length of a buffer, in bytes. */
function declaredLength(bytes: Uint8Array): number {
  if (bytes.length === 0) return 0;
  if (bytes.length < 8) throw corrupt(`A compressed buffer has ${bytes.length} bytes, it needs 8.`);
  const view = new DataView(bytes.buffer, bytes.byteOffset, 8);
  const length = view.getInt32(4, true) * 0x1_0000_0000 + view.getUint32(0, true);
  if (length < -1) throw corrupt(`A compressed buffer declares ${length} bytes.`);
  return length;
}
