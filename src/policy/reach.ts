import type { Circumstances } from './circumstances.ts';
import { ANY } from './pattern.ts';
import type { Pattern, PatternSegment } from './pattern.ts';
import { RightSet } from './right-set.ts';
import { nextNodes } from './trie.ts';
import type { Entry, TrieNode } from './trie.ts';
import { RESERVED, holds } from './want.ts';
import type { Grants, Want } from './want.ts';

/** Where a search stands: a path so far, its unnamed segments being ones that no line names. */
interface Place {
  readonly depth: number;
  readonly reserved: boolean;
  /** All whose patterns match the path so far. */
  readonly nodes: readonly TrieNode[];
  /** Those of them whose patterns are spelt like the path so far, `*` for each unnamed segment. */
  readonly followed: readonly TrieNode[];
  /** What the `/**` lines on the way say. */
  readonly sofar: Grants;
  /** What the conditions of lines are judged by. */
  readonly circumstances: Circumstances;
}

/**
 * Whether some object of a region answers the question with yes.
 *
 * It is enough to try, for each line that allows something in the region, the
 * object that has the line's own segments and new names where the line has
 * `*`: whatever denies that object denies all others of the line. So the
 * objects tried are at most as many as the lines, and the summaries of the
 * nodes answer for most of them at once.
 */
export function reaches(
  roots: readonly TrieNode[],
  region: Pattern,
  want: Want,
  circumstances: Circumstances,
): boolean {
  const nothing = { allow: RightSet.none, deny: RightSet.none };
  const sofar = addBelow(nothing, roots, circumstances);
  const start = { depth: 0, reserved: false, nodes: roots, followed: roots, sofar, circumstances };
  return search(start, region, want);
}

function search(from: Place, region: Pattern, want: Want): boolean {
  const { depth, reserved, nodes, sofar } = from;
  // At the root nothing is settled yet: the namespace `system` has rules of its own.
  const settled = depth > 0;
  if (settled && nodes.length === 0) return holds(want, sofar, reserved);
  const allowable = allowedUnder(from);
  if (settled && !holds(want, { allow: allowable, deny: sofar.deny }, reserved)) return false;
  const segment = region.segments[depth];
  if (typeof segment === 'string') return search(step(from, segment), region, want);
  if (segment === undefined) {
    if (holds(want, addExact(sofar, nodes, from.circumstances), reserved)) return true;
    if (!region.below) return false;
    if (settled && holds(want, { allow: surelyUnder(from), deny: deniedUnder(from) }, reserved)) {
      return true;
    }
  }
  for (const next of branches(from)) if (search(next, region, want)) return true;
  return false;
}

/** Goes on by a segment of the region. */
function step(from: Place, segment: string): Place {
  const nodes = nextNodes(from.nodes, segment);
  return place(from, segment, nodes, nodes);
}

/** Goes on to a new name, and to each name that leads to a line that allows something. */
function* branches(from: Place): Generator<Place> {
  yield place(from, ANY, nextNodes(from.nodes, ANY), nextNodes(from.followed, ANY));
  if (from.depth === 0) yield step(from, RESERVED);
  for (const name of allowingNames(from)) {
    yield place(from, name, nextNodes(from.nodes, name), spelt(from, name));
  }
}

function allowingNames({ depth, followed }: Place): ReadonlySet<string> {
  const names = new Set<string>();
  for (const node of followed) {
    for (const [name, child] of node.literals ?? []) {
      if (!child.allowSomewhere.within(RightSet.none)) names.add(name);
    }
  }
  if (depth === 0) names.delete(RESERVED);
  return names;
}

function spelt({ followed }: Place, name: string): readonly TrieNode[] {
  return followed.map((node) => node.child(name)).filter((child) => child !== undefined);
}

function place(
  before: Place,
  segment: PatternSegment,
  nodes: readonly TrieNode[],
  followed: readonly TrieNode[],
): Place {
  const { circumstances } = before;
  const reserved = before.depth === 0 ? segment === RESERVED : before.reserved;
  const sofar = addBelow(before.sofar, nodes, circumstances);
  return { depth: before.depth + 1, reserved, nodes, followed, sofar, circumstances };
}

function addBelow(grants: Grants, nodes: readonly TrieNode[], now: Circumstances): Grants {
  return nodes.reduce(
    (sum, { below }) => (below === undefined ? sum : add(sum, below, now)),
    grants,
  );
}

function addExact(grants: Grants, nodes: readonly TrieNode[], now: Circumstances): Grants {
  return nodes.reduce(
    (sum, { exact }) => (exact === undefined ? sum : add(sum, exact, now)),
    grants,
  );
}

function add({ allow, deny }: Grants, entry: Entry, now: Circumstances): Grants {
  return {
    allow: allow.union(entry.under('allow', now)),
    deny: deny.union(entry.under('deny', now)),
  };
}

function allowedUnder({ nodes, sofar }: Place): RightSet {
  return nodes.reduce((all, node) => all.union(node.allowSomewhere), sofar.allow);
}

function surelyUnder({ nodes, sofar }: Place): RightSet {
  return nodes.reduce((all, node) => all.union(node.surelySomewhere), sofar.allow);
}

function deniedUnder({ nodes, sofar }: Place): RightSet {
  return nodes.reduce((all, node) => all.union(node.denySomewhere), sofar.deny);
}
