import { MAX_PATH_BYTES } from '../../../protocol/identifier.ts';
import type { Store } from '../../../store/store.ts';
import { compareBytewise, cutBytes } from './bytewise.ts';
import { prefixRange } from './keys.ts';

/** How many entries one read of the store brings. */
const CHUNK = 1000;

/** A namespace or table directly inside another namespace, as the store holds it. */
export interface Child {
  readonly name: string;
  readonly key: string;
  readonly value: Uint8Array;
}

/**
 * The children below a key prefix in the order of their names' bytes, read as
 * they are asked for.
 * @param prefix `namespacesOf(parent)` or `tablesOf(parent)`.
 * @param after Only names beyond this one; it need not be anyone's name.
 * @param chunk How many are read at once.
 */
export async function* children(
  store: Store,
  prefix: string,
  after = '',
  chunk = CHUNK,
): AsyncGenerator<Child> {
  for await (const some of childrenByChunks(store, prefix, after, chunk)) yield* some;
}

/** The same, as many at a time as are read at once. @param keysOnly Whether their values are not asked for. */
export async function* childrenByChunks(
  store: Store,
  prefix: string,
  after: string,
  chunk: number,
  keysOnly = false,
): AsyncGenerator<readonly Child[]> {
  const { start, end } = prefixRange(prefix);
  let next = start + cutBytes(after, longestName(prefix));
  for (;;) {
    const entries = await store.range({ start: next, end, limit: chunk, keysOnly });
    const all = entries.map(({ key, value }) => ({ name: key.slice(prefix.length), key, value }));
    // They are in order: what lies before is the first of them.
    const first = all.findIndex(({ name }) => compareBytewise(name, after) > 0);
    if (first >= 0) yield first === 0 ? all : all.slice(first);
    const last = entries.at(-1);
    if (last === undefined || entries.length < chunk) return;
    next = `${last.key}\u0000`;
  }
}

/** Whether there is any child below a key prefix. */
export async function hasChildren(store: Store, prefix: string): Promise<boolean> {
  const entries = await store.range({ ...prefixRange(prefix), limit: 1 });
  return entries.length > 0;
}

/** Maximum length of a name below a key prefix, in bytes: longer keys do not fit into a store. */
export function longestName(prefix: string): number {
  return Math.max(0, MAX_PATH_BYTES - Buffer.byteLength(prefix) + 2);
}
