import { CATALOG_KEY } from '../catalog/keys.ts';
import type { JournalState } from '../catalog/journal-state.ts';

/** What a journal's state is made of. */
export interface Survey {
  /** The catalog that it is of. */
  readonly catalog: string | undefined;
  readonly keys: number;
  readonly namespaces: number;
  readonly tables: number;
  /** Tables that were dropped and can be brought back. */
  readonly dropped: number;
  readonly versions: number;
  readonly tags: number;
  readonly branches: number;
}

/** What the first letter of a key counts as. */
const letters: ReadonlyMap<string, keyof Omit<Survey, 'catalog' | 'keys'>> = new Map([
  ['N', 'namespaces'],
  ['T', 'tables'],
  ['D', 'dropped'],
  ['V', 'versions'],
  ['G', 'tags'],
  ['B', 'branches'],
]);

/** Counts the keys of a state. */
export async function survey(state: JournalState): Promise<Survey> {
  const counts = { namespaces: 0, tables: 0, dropped: 0, versions: 0, tags: 0, branches: 0 };
  let catalog: string | undefined;
  let keys = 0;
  for await (const { key, value } of state.entries()) {
    keys += 1;
    if (key === CATALOG_KEY) catalog = Buffer.from(value).toString();
    const kind = letters.get(key[0] ?? '');
    if (kind !== undefined) counts[kind] += 1;
  }
  return { catalog, keys, ...counts };
}
