import zstd from '@foxglove/wasm-zstd';
import { ArrowError, corrupt } from '../arrow-error.ts';

/**
 * The largest buffer that is decompressed. The decoder's memory holds input
 * and output at once and does not shrink again, so it stays far below a batch.
 */
const maxBytes = 268_435_456;

/** Resolves when `decodeZstd` may be called. */
export const zstdReady: Promise<void> = zstd.isLoaded.then(() => undefined);

/**
 * Decompresses Zstandard frames (RFC 8878) into exactly `length` bytes. Throws
 * `corrupt` if they are damaged or hold another number of bytes, `limit` above
 * 256 MiB. It stops before the work, which is done in one go.
 */
export function* decodeZstd(bytes: Uint8Array, length: number): Generator<void, Uint8Array> {
  if (Math.max(length, bytes.length) > maxBytes) {
    const size = Math.max(length, bytes.length);
    throw new ArrowError('limit', `A ZSTD buffer has ${size} bytes, ${maxBytes} are allowed.`);
  }
  yield;
  const output = decompress(bytes, length);
  if (output.length !== length) {
    throw corrupt(`A compressed buffer declares ${length} bytes, but holds ${output.length}.`);
  }
  // The decoder's output may lie anywhere in a shared pool; columns need aligned memory.
  return output.byteOffset % 8 === 0 ? output : new Uint8Array(output);
}

function decompress(bytes: Uint8Array, length: number): Uint8Array {
  try {
    return zstd.decompress(bytes, length);
  } catch {
    throw corrupt('A ZSTD buffer is damaged or holds more than it declares.');
  }
}
