import { StoreError } from './store-error.ts';

/** Maximum length of a key, in UTF-8 bytes. */
const MAX_KEY_BYTES = 1900;

const LONE_SURROGATE = /\p{Surrogate}/u;

/**
 * Bytes of a key, by which keys are ordered.
 * @throws StoreError key: empty, too long, or not valid Unicode.
 */
export function keyBytes(key: string): Buffer {
  if (key === '') throw new StoreError('key', 'a key is not empty');
  return boundBytes(key);
}

/**
 * Bytes of a range's bound, which may be empty: the empty bound is before every key.
 * @throws StoreError key: too long or not valid Unicode.
 */
export function boundBytes(bound: string): Buffer {
  const bytes = Buffer.from(bound);
  // A text with as many bytes as characters is ASCII.
  if (bytes.length !== bound.length && LONE_SURROGATE.test(bound)) {
    throw new StoreError('key', 'a key is not valid Unicode');
  }
  if (bytes.length > MAX_KEY_BYTES) {
    throw new StoreError('key', `a key has ${bytes.length} bytes, more than ${MAX_KEY_BYTES}`);
  }
  return bytes;
}

/** Decodes the bytes of a key. */
export function keyText(bytes: Uint8Array): string {
  if (bytes instanceof Buffer) return bytes.toString();
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString();
}
