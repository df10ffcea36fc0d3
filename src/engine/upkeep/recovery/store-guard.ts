import type { Storage } from '../../../storage/storage.ts';
import type { StoreChange, Store } from '../../../store/store.ts';
import { idPaths, readId, storedId, StrangeStore } from '../../catalog/records/catalog-id.ts';
import { lastInJournal } from '../../catalog/journal/journal-end.ts';
import { encodeChange } from '../../catalog/journal/journal-line.ts';
import { readJournal } from '../../catalog/journal/journal-reader.ts';

/** Number of changes that are replayed at once. */
const PAGE = 256;
/** Maximum number of changes that the store holds for the journal. */
const PENDING = 10_000;

/**
 * Has a store looked at before it is used, and whenever it may have become
 * another: it must not lack what the journal holds. One that went back, since it
 * failed over or lost what it had not flushed, gets the lost changes again from
 * their lines. Until then nothing is read from it, and nothing is built on it.
 */
export function guardStore(storage: Storage, store: Store, folder: string): void {
  store.guard((view) => look(storage, view, folder));
}

async function look(storage: Storage, view: Store, folder: string): Promise<void> {
  const existing = await readId(storage, idPaths(folder).final);
  // Readers of a foreign store get an error; there is nothing to restore.
  if (existing === undefined || (await storedId(view)) !== existing) return;
  // In this order: others continue, and each change is in the store before it is in the journal.
  const last = await lastInJournal(storage, folder);
  const sequence = await view.sequence();
  if (sequence < last) await rollForward(storage, view, folder, { sequence, last });
}

interface Gap {
  /** The last change that the store has, and the last that the journal has. */
  readonly sequence: bigint;
  readonly last: bigint;
}

/**
 * What a store lost is made again when the journal has every change since, each
 * once, and nothing that the store still holds for it contradicts it. Then the
 * store is what it was after the last of them: changes are plain values, and they
 * were judged when they were made. @throws StrangeStore when that is not so.
 */
async function rollForward(
  storage: Storage,
  view: Store,
  folder: string,
  { sequence, last }: Gap,
): Promise<void> {
  const held = await heldBy(view);
  const changes: StoreChange[] = [];
  for await (const change of readJournal(storage, folder, () => undefined)) {
    if (contradicts(held, change)) throw behind({ sequence, last });
    if (change.sequence > sequence) changes.push(change);
  }
  const isWhole = changes.every((change, at) => change.sequence === sequence + BigInt(at + 1));
  if (!isWhole || BigInt(changes.length) < last - sequence) throw behind({ sequence, last });
  for (let at = 0; at < changes.length; at += PAGE) await view.replay(changes.slice(at, at + PAGE));
}

/** The lines of changes that the store holds. */
async function heldBy(view: Store): Promise<ReadonlyMap<bigint, Buffer>> {
  const changes = await view.changes(PENDING);
  return new Map(changes.map((change) => [change.sequence, encodeChange(change)]));
}

function contradicts(held: ReadonlyMap<bigint, Buffer>, change: StoreChange): boolean {
  const line = held.get(change.sequence);
  return line !== undefined && !line.equals(encodeChange(change));
}

function behind({ sequence, last }: Gap): StrangeStore {
  return new StrangeStore(
    `the store has the changes up to ${sequence}, but the journal those up to ${last}: catalog rebuild restores them`,
  );
}
