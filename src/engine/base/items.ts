/** The item at a position of a list. @throws RangeError for a position outside of the list. */
export function itemAt<Item>(items: readonly Item[], position: number): Item {
  const item = items[position];
  if (item !== undefined) return item;
  throw new RangeError(`a list of ${items.length} items has none at position ${position}`);
}

/** The item of a list of exactly one item; undefined for any other list. */
export function onlyItem<Item>(items: readonly Item[]): Item | undefined {
  return items.length === 1 ? items[0] : undefined;
}

/** The items of two lists side by side. @throws RangeError if the second list is shorter. */
export function pairs<Left, Right>(
  left: readonly Left[],
  right: readonly Right[],
): (readonly [Left, Right])[] {
  return left.map((item, position) => [item, itemAt(right, position)]);
}
