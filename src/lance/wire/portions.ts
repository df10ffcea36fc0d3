/**
 * Joins pieces that follow one another and splits those that are too large, without a copy.
 * @param most Most bytes of a portion.
 * @param enough Bytes from which on a portion is handed out without waiting for the next piece.
 */
export async function* portionsOf(
  pieces: AsyncIterable<Uint8Array>,
  most: number,
  enough: number,
): AsyncGenerator<readonly Uint8Array[]> {
  let portion: Uint8Array[] = [];
  let bytes = 0;
  for await (const piece of pieces) {
    for (let rest = piece; rest.byteLength > 0;) {
      const part = rest.subarray(0, most - bytes);
      rest = rest.subarray(part.byteLength);
      portion.push(part);
      bytes += part.byteLength;
      if (bytes < (rest.byteLength > 0 ? most : enough)) continue;
      yield portion;
      portion = [];
      bytes = 0;
    }
  }
  if (bytes > 0) yield portion;
}
