import type { Write } from './store.ts';

/** A length that no value has: the key was removed. */
const REMOVED = 0xffffffff;
const LENGTH_BYTES = 4;

/**
 * The writes of a change as bytes: for each, the length of its key and of its
 * value (32 bits each, big endian; all ones for a removal), then both.
 */
export function encodeWrites(writes: readonly Write[]): Buffer {
  return Buffer.concat(writes.flatMap(({ key, value }) => encodeWrite(Buffer.from(key), value)));
}

function encodeWrite(key: Buffer, value: Uint8Array | null): Uint8Array[] {
  const lengths = Buffer.alloc(2 * LENGTH_BYTES);
  lengths.writeUInt32BE(key.length);
  lengths.writeUInt32BE(value === null ? REMOVED : value.byteLength, LENGTH_BYTES);
  return value === null ? [lengths, key] : [lengths, key, value];
}

/** The writes that were encoded. Values share the memory of the bytes. */
export function decodeWrites(bytes: Buffer): readonly Write[] {
  const writes: Write[] = [];
  for (let at = 0; at < bytes.length;) {
    const keyStart = at + 2 * LENGTH_BYTES;
    const valueStart = keyStart + bytes.readUInt32BE(at);
    const length = bytes.readUInt32BE(at + LENGTH_BYTES);
    const valueEnd = valueStart + (length === REMOVED ? 0 : length);
    const key = bytes.toString('utf8', keyStart, valueStart);
    writes.push({ key, value: length === REMOVED ? null : bytes.subarray(valueStart, valueEnd) });
    at = valueEnd;
  }
  return writes;
}
