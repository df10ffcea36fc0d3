import type { Store, StoreEntry } from '../../../store/store.ts';
import { prefixRange, purgedKey } from '../../catalog/records/keys.ts';
import { Pace } from '../../base/pace.ts';
import { decodeDropped, encodeDropped } from '../../catalog/records/records-codec.ts';
import type { DroppedRecord, Stored } from '../../format/records.ts';

const CHUNK = 500;

/** All entries below a prefix in key order, read on demand; yields to other work in between. */
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

/**
 * Does work for each item, several at a time, and waits for all of it: also when some fails,
 * or the items do, so that nobody cleans up beside it. Then the rest is not begun.
 */
export async function severalAtOnce<Item>(
  items: AsyncIterable<Item> | Iterable<Item>,
  limit: number,
  work: (item: Item) => Promise<void>,
): Promise<void> {
  const busy = new Set<Promise<void>>();
  let failed: { readonly error: unknown } | undefined;
  const ended = (task: Promise<void>, fault?: { readonly error: unknown }): void => {
    busy.delete(task);
    failed ??= fault;
  };
  try {
    for await (const item of items) {
      const task: Promise<void> = work(item).then(
        () => ended(task),
        (error: unknown) => ended(task, { error }),
      );
      busy.add(task);
      if (busy.size >= limit) await Promise.race(busy);
      if (failed !== undefined) break;
    }
  } finally {
    await Promise.all(busy);
  }
  if (failed !== undefined) throw failed.error;
}

/** A dropped table that a process removes for good. */
export interface PurgeRecord {
  /** The name of the process. */
  readonly owner: string;
  readonly dropped: DroppedRecord;
}

/** The bytes of a record: a line with the owner, then the dropped table's record as it was. */
export function encodePurge({ owner, dropped }: PurgeRecord): Uint8Array {
  return Buffer.concat([Buffer.from(`${owner}\n`), encodeDropped(dropped)]);
}

/** The inverse of `encodePurge`. Throws on bytes that are no such record. */
function decodePurge(bytes: Uint8Array): PurgeRecord {
  const end = bytes.indexOf(0x0a);
  const owner = Buffer.from(bytes.subarray(0, end)).toString();
  return { owner, dropped: decodeDropped(bytes.subarray(end + 1)) };
}

/** The tables whose removal was begun and not ended. */
export async function* begunPurges(store: Store): AsyncGenerator<Stored<PurgeRecord>> {
  for await (const { key, value } of entriesBelow(store, purgedKey(''))) {
    yield { key, value, content: decodePurge(value) };
  }
}
