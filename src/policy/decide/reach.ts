import type { Circumstances } from '../conditions/circumstances.ts';
import { ANY, type Pattern, type PatternSegment } from '../lines/pattern.ts';
import { RightSet } from '../lines/right-set.ts';
import type { PackedEntry, PackedNode } from './packed-tries.ts';
import { nextNodes } from './trie.ts';
import { RESERVED, holds, narrowWant, type Grants, type Want } from '../lines/want.ts';
import type { ObjectPath } from '../../protocol/identifier.ts';
import type { CompiledScope } from '../lines/scopes.ts';

/** The sum of the lines of some trees that match an object, without the path. */
export class SummedGrants implements Grants {
  allow = RightSet.none;
  deny = RightSet.none;
  readonly #path: ObjectPath;
  readonly #circumstances: Circumstances;

  constructor(roots: readonly PackedNode[], path: ObjectPath, circumstances: Circumstances) {
    this.#path = path;
    this.#circumstances = circumstances;
    for (const root of roots) this.#visit(root, 0);
  }

  /** Adds the lines at a node of this depth, and on the way below it. */
  #visit(node: PackedNode, depth: number): void {
    const { below, exact, any } = node;
    if (below !== undefined) this.#add(below);
    if (depth === this.#path.length) {
      if (exact !== undefined) this.#add(exact);
      return;
    }
    const named = node.child(this.#path[depth]!);
    if (named !== undefined) this.#visit(named, depth + 1);
    if (any !== undefined) this.#visit(any, depth + 1);
  }

  #add(entry: PackedEntry): void {
    this.allow = this.allow.union(entry.under('allow', this.#circumstances));
    this.deny = this.deny.union(entry.under('deny', this.#circumstances));
  }
}

/** State of a search: a path so far; its unnamed segments are named by no line. */
interface Place {
  readonly depth: number;
  readonly reserved: boolean;
  /** All whose patterns match the path so far. */
  readonly nodes: readonly PackedNode[];
  /** Those of them whose patterns are spelt like the path so far, `*` for each unnamed segment. */
  readonly followed: readonly PackedNode[];
  /** The result of the `/**` lines on the way. */
  readonly sofar: Grants;
  /** The circumstances of conditions. */
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
  roots: readonly PackedNode[],
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

/** Descends by one segment of the region. */
function step(from: Place, segment: string): Place {
  const nodes = nextNodes(from.nodes, segment);
  return place(from, segment, nodes, nodes);
}

/** Descends to an unknown name, and to each name that leads to an allow line. */
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
    for (const name of node.allowingNames()) names.add(name);
  }
  if (depth === 0) names.delete(RESERVED);
  return names;
}

function spelt({ followed }: Place, name: string): readonly PackedNode[] {
  return followed.map((node) => node.child(name)).filter((child) => child !== undefined);
}

function place(
  before: Place,
  segment: PatternSegment,
  nodes: readonly PackedNode[],
  followed: readonly PackedNode[],
): Place {
  const { circumstances } = before;
  const reserved = before.depth === 0 ? segment === RESERVED : before.reserved;
  const sofar = addBelow(before.sofar, nodes, circumstances);
  return { depth: before.depth + 1, reserved, nodes, followed, sofar, circumstances };
}

function addBelow(grants: Grants, nodes: readonly PackedNode[], now: Circumstances): Grants {
  return nodes.reduce(
    (sum, { below }) => (below === undefined ? sum : add(sum, below, now)),
    grants,
  );
}

function addExact(grants: Grants, nodes: readonly PackedNode[], now: Circumstances): Grants {
  return nodes.reduce(
    (sum, { exact }) => (exact === undefined ? sum : add(sum, exact, now)),
    grants,
  );
}

function add({ allow, deny }: Grants, entry: PackedEntry, now: Circumstances): Grants {
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

/**
 * The rights that are allowed on an object and everything below it, and all that are denied on any of
 * that under some circumstances. Only `/**` lines without a condition at or above the object allow: other
 * lines do not cover future names.
 */
export function grantsBelow(roots: readonly PackedNode[], object: ObjectPath): Grants {
  let nodes = roots;
  let allow = RightSet.none;
  let deny = RightSet.none;
  const take = (): void => {
    for (const { below } of nodes) {
      if (below === undefined) continue;
      allow = allow.union(below.allow);
      deny = deny.union(below.everDenied);
    }
  };
  take();
  for (const segment of object) {
    nodes = nextNodes(nodes, segment);
    take();
  }
  for (const node of nodes) deny = deny.union(node.denySomewhere);
  return { allow, deny };
}

/** The questions that scopes leave of one about everything below an object: one for each scope that holds all of it. */
export function wantsBelow(
  want: Want,
  scopes: readonly CompiledScope[] | undefined,
  object: ObjectPath,
): readonly Want[] {
  if (scopes === undefined) return [want];
  return scopes
    .filter(({ pattern }) => holdsAll(pattern, object))
    .map(({ rights }) => narrowWant(want, rights));
}

function holdsAll({ segments, below }: Pattern, object: ObjectPath): boolean {
  if (!below || segments.length > object.length) return false;
  return segments.every((segment, at) => segment === null || segment === object[at]);
}
