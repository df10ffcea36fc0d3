import type { OpenObject } from './storage.ts';

/** All bytes of an object, which is closed after this. */
export async function readWhole(object: OpenObject): Promise<Buffer> {
  try {
    const bytes = Buffer.allocUnsafeSlow(object.size());
    return bytes.subarray(0, await readUpTo(object, bytes, 0));
  } finally {
    object.close();
  }
}

/**
 * Fills memory with bytes from a position on, as many as there are. One read may give fewer.
 * @returns How many.
 */
export async function readUpTo(
  object: OpenObject,
  into: Uint8Array,
  position: number,
): Promise<number> {
  let filled = 0;
  while (filled < into.byteLength) {
    const read = await object.read(into.subarray(filled), position + filled);
    if (read === 0) break;
    filled += read;
  }
  return filled;
}
