import type { PartHeader } from './part-header.ts';
import type { Numbers, Postings } from './postings.ts';

/** Rows of a fragment in one piece. @param parts In the order of their rows. */
export function mergedParts(parts: readonly PartHeader[]): PartHeader {
  if (parts.length === 1) return parts[0]!;
  const sum = (of: (part: PartHeader) => number) => parts.reduce((all, part) => all + of(part), 0);
  return {
    first: 0,
    texts: sum(({ texts }) => texts),
    tokens: sum(({ tokens }) => tokens),
    lengths: joined(parts.map(({ lengths }) => lengths)),
  };
}

/** The rows of a token in one piece. @param lists In the order of their rows, of which there are some. */
export function mergedPostings(lists: readonly Postings[]): Postings {
  if (lists.length === 1) return lists[0]!;
  const positions = lists.map((list) => list.positions);
  return {
    rows: Uint32Array.from(joined(lists.map(({ rows }) => rows))),
    counts: joined(lists.map(({ counts }) => counts)),
    positions: positions.includes(null) ? null : joined(positions.flatMap((each) => each ?? [])),
    mostCount: Math.max(...lists.map(({ mostCount }) => mostCount)),
    leastLength: Math.min(...lists.map(({ leastLength }) => leastLength)),
  };
}

function joined(lists: readonly Numbers[]): Numbers {
  const length = lists.reduce((sum, list) => sum + list.length, 0);
  const width = Math.max(1, ...lists.map(({ BYTES_PER_ELEMENT }) => BYTES_PER_ELEMENT));
  const all =
    width === 1
      ? new Uint8Array(length)
      : width === 2
        ? new Uint16Array(length)
        : new Uint32Array(length);
  let at = 0;
  for (const list of lists) {
    all.set(list, at);
    at += list.length;
  }
  return all;
}
