import type { ObjectPath } from '../../protocol/identifier.ts';
import type { Permit, VisibleNames } from '../../protocol/permit.ts';

/** Which part of a listing is asked for. */
export interface PageRequest {
  /** At most so many names. */
  readonly limit: number;
  /** Only names beyond this text, bytewise; `''` from the beginning. */
  readonly after: string;
}

/** A part of a listing: nothing but names that the caller may see. */
export interface Page {
  readonly names: VisibleNames;
  /** The last name, when more may be seen beyond it. */
  readonly token: string | undefined;
}

/** Something that a listing can show. */
export interface Entry {
  /** The name to answer. */
  readonly name: string;
  readonly path: ObjectPath;
}

/**
 * The first entries that a caller may see, as many as the page holds. Entries
 * come in the order of their names; one name is shown once.
 */
export async function visiblePage(
  entries: AsyncIterable<Entry>,
  kind: 'namespace' | 'table',
  limit: number,
  permit: Permit,
): Promise<Page> {
  const visible: Entry[] = [];
  let more = false;
  for await (const entry of entries) {
    if (entry.name === visible.at(-1)?.name || !permit.sees(entry.path, kind)) continue;
    more = visible.length === limit;
    if (more) break;
    visible.push(entry);
  }
  const names = show(visible, kind, permit);
  return { names, token: more ? names.at(-1) : undefined };
}

/** The page of someone who may see nothing. */
export function emptyPage(kind: 'namespace' | 'table', permit: Permit): Page {
  return { names: show([], kind, permit), token: undefined };
}

function show(
  entries: readonly Entry[],
  kind: 'namespace' | 'table',
  permit: Permit,
): VisibleNames {
  return permit.show(
    entries,
    (entry) => entry.path,
    kind,
    (entry) => entry.name,
  );
}
