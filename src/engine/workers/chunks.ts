import type { ByteStream } from '../../protocol/backend.ts';

/** A message to another thread is worth so many bytes. */
const ENOUGH = 2 ** 18;

/**
 * Bytes in larger chunks, each in memory of its own, so that it can be handed
 * over to another thread.
 */
export async function* inChunks(
  stream: ByteStream | AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  let held: Uint8Array[] = [];
  let bytes = 0;
  const taken = () => {
    const whole = joined(held, bytes);
    if ('sent' in stream) for (const piece of held) stream.sent?.(piece);
    held = [];
    bytes = 0;
    return whole;
  };
  for await (const piece of stream) {
    if (piece.byteLength > ENOUGH) {
      if (bytes > 0) yield taken();
      // Piece by piece, so that it is not held twice.
      for (let at = 0; at < piece.byteLength; at += ENOUGH) yield piece.slice(at, at + ENOUGH);
      if ('sent' in stream) stream.sent?.(piece);
      continue;
    }
    held.push(piece);
    bytes += piece.byteLength;
    if (bytes >= ENOUGH) yield taken();
  }
  if (bytes > 0) yield taken();
}

function joined(pieces: readonly Uint8Array[], bytes: number): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(bytes);
  let at = 0;
  for (const piece of pieces) {
    whole.set(piece, at);
    at += piece.byteLength;
  }
  return whole;
}
