import type { Store, StoreEntry } from '../../store/store.ts';
import { prefixRange } from '../catalog/keys.ts';
import { Pace } from '../query/pace.ts';

const CHUNK = 500;

/** All entries below a prefix in the order of their keys, read as they are asked for; others get their turn meanwhile. */
export async function* entriesBelow(store: Store, prefix: string): AsyncGenerator<StoreEntry> {
  const { start, end } = prefixRange(prefix);
  const pace = new Pace();
  let next = start;
  for (;;) {
    const entries = await store.range({ start: next, end, limit: CHUNK });
    for (const entry of entries) {
      yield entry;
      await pace.turn();
    }
    const last = entries.at(-1);
    if (last === undefined || entries.length < CHUNK) return;
    next = `${last.key}\u0000`;
  }
}

/** Does work for each item, several at a time, and waits for all of it. */
export async function severalAtOnce<Item>(
  items: AsyncIterable<Item> | Iterable<Item>,
  limit: number,
  work: (item: Item) => Promise<void>,
): Promise<void> {
  const busy = new Set<Promise<void>>();
  for await (const item of items) {
    const task = work(item).finally(() => busy.delete(task));
    busy.add(task);
    if (busy.size >= limit) await Promise.race(busy);
  }
  await Promise.all(busy);
}
