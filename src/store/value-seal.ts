import { crc32 } from '@node-rs/crc32';

/**
 * First byte of a sealed value. No text in UTF-8 begins with it, so values that were written
 * before values were sealed do not.
 */
export const SEAL_FORM = 0xff;

/** Bytes before the content of a sealed value: the form, and a CRC-32 in big endian. */
export const SEAL_BYTES = 5;

/** A value with its checksum, as a store holds it: the form, the CRC-32 of key and value, the value. */
export function sealValue(key: Uint8Array, value: Uint8Array): Buffer {
  const sealed = Buffer.allocUnsafe(SEAL_BYTES + value.byteLength);
  sealed[0] = SEAL_FORM;
  sealed.writeUInt32BE(checksum(key, value), 1);
  sealed.set(value, SEAL_BYTES);
  return sealed;
}

/** Whether a stored value has the form of a sealed one. Its checksum may still be wrong. */
export function isSealed(stored: Uint8Array): boolean {
  return stored[0] === SEAL_FORM;
}

/**
 * The content of a sealed value, which shares the memory of the stored bytes.
 * @returns Undefined if the value is not sealed, or its checksum is not that of this key and value.
 */
export function unsealValue(key: Uint8Array, stored: Buffer): Buffer | undefined {
  if (!isSealed(stored) || stored.byteLength < SEAL_BYTES) return undefined;
  const content = stored.subarray(SEAL_BYTES);
  return stored.readUInt32BE(1) === checksum(key, content) ? content : undefined;
}

function checksum(key: Uint8Array, value: Uint8Array): number {
  return crc32(value, crc32(key));
}
