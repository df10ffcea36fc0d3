import type { ObjectPath } from '../../../protocol/identifier.ts';
import { joined, someOf, type Permit, type VisibleNames } from '../../../protocol/permit.ts';

/** The page parameters of a listing. */
export interface PageRequest {
  /** Maximum number of names. */
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
 * come in the order of their names, some at a time; one name is shown once. Each is judged
 * once, and no more are than the page may have room for.
 */
export async function visiblePage(
  chunks: AsyncIterable<readonly Entry[]>,
  kind: 'namespace' | 'table',
  limit: number,
  permit: Permit,
): Promise<Page> {
  const parts: VisibleNames[] = [];
  let room = limit + 1;
  let last: string | undefined;
  for await (const chunk of chunks) {
    for (let at = 0; at < chunk.length && room > 0;) {
      const some = chunk.slice(at, at + room);
      const shown = withoutRepeats(show(some, kind, permit), last);
      parts.push(shown);
      at += some.length;
      room -= shown.length;
      last = shown.at(-1) ?? last;
    }
    if (room === 0) break;
  }
  const found = joined(parts);
  if (room > 0) return { names: found, token: undefined };
  const names = someOf(found, (_, at) => at < limit);
  return { names, token: names.at(-1) };
}

/** Names in order, each once. @param last The one before them. */
function withoutRepeats(names: VisibleNames, last: string | undefined): VisibleNames {
  const isRepeat = (name: string, at: number) => name === (at === 0 ? last : names[at - 1]);
  return names.some(isRepeat) ? someOf(names, (name, at) => !isRepeat(name, at)) : names;
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
