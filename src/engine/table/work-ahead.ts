/**
 * The result of some work on each item, in the order of the items. Work on so
 * many items goes on while an earlier result is being used; none is begun ahead
 * when `ahead` is 0. Who leaves early waits until no work is under way.
 */
export async function* workAhead<Item, Result>(
  items: Iterable<Item> | AsyncIterable<Item>,
  ahead: number,
  work: (item: Item) => Promise<Result>,
): AsyncGenerator<Result> {
  const begun: Promise<Result>[] = [];
  try {
    for await (const item of items) {
      const result = work(item);
      // A fault is told when its result is due, and to nobody when none is waited for.
      result.catch(() => undefined);
      begun.push(result);
      if (begun.length > ahead) yield await begun.shift()!;
    }
    while (begun.length > 0) yield await begun.shift()!;
  } finally {
    await Promise.allSettled(begun);
  }
}
