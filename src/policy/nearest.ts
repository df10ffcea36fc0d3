/**
 * The known name that a mistyped name most likely means: the one that takes the fewest
 * edits, at most one for each three characters and at most two. Undefined if none is so near.
 */
export function nearestName(text: string, names: Iterable<string>): string | undefined {
  const most = Math.min(2, Math.floor(text.length / 3));
  let best: { readonly name: string; readonly edits: number } | undefined;
  for (const name of names) {
    if (name === text || Math.abs(name.length - text.length) > most) continue;
    const edits = editsBetween(text.toLowerCase(), name.toLowerCase());
    if (edits <= most && (best === undefined || edits < best.edits)) best = { name, edits };
  }
  return best?.name;
}

/** Optimal string alignment distance: insertions, deletions, substitutions and swaps of neighbours. */
function editsBetween(one: string, other: string): number {
  let before: readonly number[] = [];
  let row: readonly number[] = Array.from({ length: other.length + 1 }, (_, at) => at);
  for (let i = 1; i <= one.length; i++) {
    const next = [i];
    for (let j = 1; j <= other.length; j++) {
      const change = one[i - 1] === other[j - 1] ? 0 : 1;
      let least = Math.min(row[j]! + 1, next[j - 1]! + 1, row[j - 1]! + change);
      const swapped = i > 1 && j > 1 && one[i - 1] === other[j - 2] && one[i - 2] === other[j - 1];
      if (swapped) least = Math.min(least, before[j - 2]! + 1);
      next.push(least);
    }
    before = row;
    row = next;
  }
  return row[other.length]!;
}
