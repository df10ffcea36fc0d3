/**
 * Works on items one after the other. No item is held while the next one is
 * awaited, as `for await` would: a client's batch may be as large as all memory
 * that is meant for two.
 */
export async function eachOf<Item>(
  items: AsyncIterable<Item>,
  work: (item: Item) => Promise<void>,
): Promise<void> {
  const iterator = items[Symbol.asyncIterator]();
  try {
    while (await workOnNext(iterator, work));
  } finally {
    await iterator.return?.();
  }
}

async function workOnNext<Item>(
  iterator: AsyncIterator<Item>,
  work: (item: Item) => Promise<void>,
): Promise<boolean> {
  const { value, done } = await iterator.next();
  if (done !== true) await work(value);
  return done !== true;
}
