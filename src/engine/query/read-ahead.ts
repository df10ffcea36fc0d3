/** How many batches of a file are read beyond the one that is waited for: enough to keep a second processor busy. */
export const AHEAD = 2;

/** The same items, each asked for while the one before is being worked on. One item more is held in memory. */
export async function* readAhead<Item>(items: AsyncGenerator<Item>): AsyncGenerator<Item> {
  try {
    for (let next = items.next(); ;) {
      const { value, done } = await next;
      if (done === true) return;
      next = items.next();
      // A fault is told when its item is due.
      next.catch(() => undefined);
      yield value;
    }
  } finally {
    await items.return(undefined);
  }
}
