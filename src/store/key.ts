import { StoreError } from './store-error.ts';

/** The longest key of a store, in UTF-8 bytes. */
const MAX_KEY_BYTES = 1900;

const LONE_SURROGATE = /\p{Surrogate}/u;

/**
 * The bytes of a key, which are what keys are ordered by.
 * @throws StoreError key: empty, too long, or not valid Unicode (it could not be read back).
 */
export function keyBytes(key: string): Buffer {
  if (key === '') throw new StoreError('key', 'a key is not empty');
  return boundBytes(key);
}

/**
 * The bytes of a range's bound. It may be empty: that is before every key.
 * @throws StoreError key: too long or not valid Unicode.
 */
export function boundBytes(bound: string): Buffer {
  const bytes = Buffer.from(bound);
  // As many bytes as characters are ASCII alone.
  if (bytes.length !== bound.length && LONE_SURROGATE.test(bound)) {
    throw new StoreError('key', 'a key is not valid Unicode');
  }
  if (bytes.length > MAX_KEY_BYTES) {
    throw new StoreError('key', `a key has ${bytes.length} bytes, more than ${MAX_KEY_BYTES}`);
  }
  return bytes;
}

/** The key that bytes of a store stand for. */
export function keyText(bytes: Uint8Array): string {
  if (bytes instanceof Buffer) return bytes.toString();
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString();
}
