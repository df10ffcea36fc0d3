import { ANY, type Pattern, type PatternSegment } from '../lines/pattern.ts';
import type { PolicyLine } from '../lines/policy-line.ts';
import { RightSet } from '../lines/right-set.ts';

/** The lines of one subject for one pattern. */
export class TrieEntry {
  allow = RightSet.none;
  deny = RightSet.none;
  /** In the order of the file; a line that adds nothing to those before it is left out. */
  readonly lines: PolicyLine[] = [];
  /** The lines with a condition; they add to `allow` and `deny` only while it holds. */
  conditional: PolicyLine[] | undefined;

  add(line: PolicyLine): void {
    if (line.rights.within(this[line.effect])) return;
    if (line.condition !== undefined) {
      (this.conditional ??= []).push(line);
      return;
    }
    this[line.effect] = this[line.effect].union(line.rights);
    this.lines.push(line);
  }
}

/** A node of the tree of one subject's patterns, one level per segment. */
export class TrieNode {
  literals: Map<string, TrieNode> | undefined;
  any: TrieNode | undefined;
  /** Lines for exactly the object of this node. */
  exact: TrieEntry | undefined;
  /** Lines for the object of this node and everything below it. */
  below: TrieEntry | undefined;
  /** Every right that a line at this node or below it allows or denies, under any condition. */
  allowSomewhere = RightSet.none;
  denySomewhere = RightSet.none;
  /** The rights that are allowed there without a condition. */
  surelySomewhere = RightSet.none;
  /** Whether some line at this node or under it has a condition. */
  hasConditions = false;

  /** Puts a line where its pattern leads to; `depth` segments of it lead here. */
  add(line: PolicyLine, depth = 0): void {
    this.#note(line);
    const { segments, below } = line.pattern;
    if (depth < segments.length) this.#grow(segments[depth]!).add(line, depth + 1);
    else if (below) (this.below ??= new TrieEntry()).add(line);
    else (this.exact ??= new TrieEntry()).add(line);
  }

  /** The child by a segment's name, or that of `*`. */
  child(segment: PatternSegment): TrieNode | undefined {
    return segment === ANY ? this.any : this.literals?.get(segment);
  }

  #note(line: PolicyLine): void {
    const { rights, condition } = line;
    if (condition !== undefined) this.hasConditions = true;
    if (line.effect === 'deny') {
      this.denySomewhere = this.denySomewhere.union(rights);
      return;
    }
    this.allowSomewhere = this.allowSomewhere.union(rights);
    if (condition === undefined) this.surelySomewhere = this.surelySomewhere.union(rights);
  }

  #grow(segment: PatternSegment): TrieNode {
    if (segment === ANY) return (this.any ??= new TrieNode());
    this.literals ??= new Map();
    let child = this.literals.get(segment);
    if (child === undefined) {
      child = new TrieNode();
      this.literals.set(segment, child);
    }
    return child;
  }
}

/** The entries of all patterns that name whatever the given pattern names. */
export function coveringEntries(
  root: TrieNode,
  { segments, below }: Pattern,
): readonly TrieEntry[] {
  const entries: TrieEntry[] = [];
  let nodes: readonly TrieNode[] = [root];
  for (const segment of segments) {
    for (const node of nodes) if (node.below !== undefined) entries.push(node.below);
    nodes = nextNodes(nodes, segment);
  }
  for (const node of nodes) {
    if (node.below !== undefined) entries.push(node.below);
    if (!below && node.exact !== undefined) entries.push(node.exact);
  }
  return entries;
}

interface Branch<Node> {
  readonly any: Node | undefined;
  child(segment: PatternSegment): Node | undefined;
}

/** The nodes that a further segment leads to; `ANY` stands for a segment that no line names. */
export function nextNodes<Node extends Branch<Node>>(
  nodes: readonly Node[],
  segment: PatternSegment,
): readonly Node[] {
  const next: Node[] = [];
  for (const node of nodes) {
    const named = segment === ANY ? undefined : node.child(segment);
    if (named !== undefined) next.push(named);
    if (node.any !== undefined) next.push(node.any);
  }
  return next;
}

/** The tree of each subject that some line is about. */
export function buildTries(lines: readonly PolicyLine[]): ReadonlyMap<string, TrieNode> {
  const tries = new Map<string, TrieNode>();
  for (const line of lines) {
    let trie = tries.get(line.subject);
    if (trie === undefined) {
      trie = new TrieNode();
      tries.set(line.subject, trie);
    }
    trie.add(line);
  }
  return tries;
}
