/** Shorter pieces of a text are copies of their own; longer ones keep all of the text in memory. */
const LONGEST_COPY = 12;

/** A piece of a text that may be held for longer than the text. */
export function ownText(piece: string): string {
  return piece.length <= LONGEST_COPY ? piece : Buffer.from(piece).toString();
}
