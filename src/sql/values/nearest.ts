/** Only the first characters of names are compared, to bound the cost. */
const compared = 40;

/** Levenshtein distance. */
function distance(left: string, right: string): number {
  let previous = Array.from({ length: right.length + 1 }, (_, at) => at);
  for (let row = 1; row <= left.length; row++) {
    const current = [row];
    for (let at = 1; at <= right.length; at++) {
      const replaced = previous[at - 1]! + (left[row - 1] === right[at - 1] ? 0 : 1);
      current.push(Math.min(replaced, previous[at]! + 1, current[at - 1]! + 1));
    }
    previous = current;
  }
  return previous[right.length]!;
}

/** Up to three of the names, the most similar first. */
export function nearestNames(name: string, names: readonly string[]): readonly string[] {
  const wanted = name.slice(0, compared).toLowerCase();
  return names
    .slice(0, 2000)
    .map((each) => ({ each, far: distance(wanted, each.slice(0, compared).toLowerCase()) }))
    .sort((left, right) => left.far - right.far)
    .slice(0, 3)
    .map(({ each }) => each);
}
