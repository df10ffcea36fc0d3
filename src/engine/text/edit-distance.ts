/**
 * Tells whether words are within so many edits of another: letters that are put in, left
 * out or replaced (Levenshtein's distance, in characters).
 */
export function withinEdits(word: string, most: number): (other: string) => boolean {
  const letters = Array.from(word);
  let before = new Uint32Array(letters.length + 1);
  let now = new Uint32Array(letters.length + 1);
  return (other) => {
    // A letter has one unit or two.
    if (other.length > 2 * (letters.length + most)) return false;
    const others = Array.from(other);
    if (Math.abs(others.length - letters.length) > most) return false;
    for (let at = 0; at < before.length; at++) before[at] = at;
    for (const [place, letter] of others.entries()) {
      now[0] = place + 1;
      let least = place + 1;
      for (let at = 1; at < now.length; at++) {
        const replaced = before[at - 1]! + (letters[at - 1] === letter ? 0 : 1);
        const edits = Math.min(replaced, before[at]! + 1, now[at - 1]! + 1);
        now[at] = edits;
        if (edits < least) least = edits;
      }
      if (least > most) return false;
      [before, now] = [now, before];
    }
    return before[letters.length]! <= most;
  };
}
