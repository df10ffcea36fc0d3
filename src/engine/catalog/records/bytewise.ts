/**
 * Compares two texts by their UTF-8 bytes, as the store orders its keys:
 * negative, zero or positive. Surrogate pairs sort above every other
 * character there, unlike in JavaScript's own comparison.
 */
export function compareBytewise(left: string, right: string): number {
  const shared = Math.min(left.length, right.length);
  for (let index = 0; index < shared; index++) {
    const ours = left.charCodeAt(index);
    const theirs = right.charCodeAt(index);
    if (ours !== theirs) return rank(ours) - rank(theirs);
  }
  return left.length - right.length;
}

/** A code unit moved so that surrogates come last. */
function rank(unit: number): number {
  return unit >= 0xd800 && unit <= 0xdfff ? unit + 0x10000 : unit;
}

/** The longest prefix of a text with at most this many UTF-8 bytes. */
export function cutBytes(text: string, bytes: number): string {
  if (Buffer.byteLength(text) <= bytes) return text;
  let size = 0;
  let end = 0;
  for (const character of text) {
    size += Buffer.byteLength(character);
    if (size > bytes) break;
    end += character.length;
  }
  return text.slice(0, end);
}
