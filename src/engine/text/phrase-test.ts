import type { Numbers } from './postings.ts';
import type { TermCursor } from './term-cursor.ts';

/** A word of a phrase, and where in the phrase it stands. */
export interface PhraseWord {
  readonly cursor: TermCursor;
  readonly position: number;
}

/**
 * Tells whether the words stand in the row, where all their cursors are, one after the
 * other: as far apart as in the phrase, and between two of them at most so many words more.
 */
export function phraseTest(words: readonly PhraseWord[], slop: number): () => boolean {
  return () => {
    let reached = words[0]!.cursor.places();
    for (let at = 1; at < words.length && reached.length > 0; at++) {
      const gap = words[at]!.position - words[at - 1]!.position;
      reached = reachable(reached, words[at]!.cursor.places(), gap, gap + slop);
    }
    return reached.length > 0;
  };
}

/** The places that lie behind one of those before, no nearer and no further than so. */
function reachable(before: Numbers, places: Numbers, least: number, most: number): Uint32Array {
  const found = new Uint32Array(places.length);
  let count = 0;
  let from = 0;
  for (const place of places) {
    while (from < before.length && before[from]! + most < place) from++;
    if (from < before.length && before[from]! + least <= place) found[count++] = place;
  }
  return found.subarray(0, count);
}
