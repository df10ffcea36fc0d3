import { parseCondition } from '../conditions/condition-parser.ts';
import { conditionHolds, type Condition, type Effect } from '../conditions/condition.ts';
import type { Circumstances } from '../conditions/circumstances.ts';
import { fillSlot, slotCount, type NameNumbers, type Names } from '../lines/name-table.ts';
import { ANY, type PatternSegment } from '../lines/pattern.ts';
import type { PolicyLine } from '../lines/policy-line.ts';
import { RightSet } from '../lines/right-set.ts';
import type { TrieEntry, TrieNode } from './trie.ts';

/** Trees of subjects as arrays that move between threads without a copy. */
export interface TrieArrays {
  /** `NODE_WORDS` numbers for each node. Node 0 has a child for each subject. */
  readonly nodes: Int32Array<ArrayBuffer>;
  /** Hash table of children, by parent and name: the number of the child plus one. */
  readonly children: Uint32Array<ArrayBuffer>;
  /** `ENTRY_WORDS` numbers for each entry. */
  readonly entries: Int32Array<ArrayBuffer>;
  /** Four numbers for each line: its number, 1 for a deny, its rights and its condition. */
  readonly lines: Int32Array<ArrayBuffer>;
  /** Three words for each set of rights. */
  readonly rights: Int32Array<ArrayBuffer>;
  /** The texts of conditions. */
  readonly conditions: readonly string[];
}

const NODE_WORDS = 11;
/** Positions of the numbers of a node; -1 for what it does not have. */
const [PARENT, NAME, FIRST, COUNT, STAR, EXACT, BELOW] = [0, 1, 2, 3, 4, 5, 6];
const [ALLOWS, DENIES, SURE, CONDITIONS] = [7, 8, 9, 10];

const ENTRY_WORDS = 5;
/** Positions of the numbers of an entry. */
const [ALLOW, DENY, START, MIDDLE, END] = [0, 1, 2, 3, 4];

/** Packs the trees of all subjects. */
export function packTries(tries: ReadonlyMap<string, TrieNode>, names: NameNumbers): TrieArrays {
  const packer = new Packer(names);
  packer.pack(tries);
  return packer.arrays();
}

class Packer {
  readonly #names: NameNumbers;
  readonly #nodes: number[] = [];
  readonly #entries: number[] = [];
  readonly #lines: number[] = [];
  readonly #rights: number[] = [];
  readonly #rightNumbers = new Map<string, number>();
  readonly #conditions = new Map<string, number>();

  constructor(names: NameNumbers) {
    this.#names = names;
  }

  /** Numbers nodes by depth, so that the children of each are consecutive. */
  pack(tries: ReadonlyMap<string, TrieNode>): void {
    const none = this.#set(RightSet.none);
    this.#nodes.push(-1, -1, 1, tries.size, -1, -1, -1, none, none, none, 0);
    const queue: TrieNode[] = [];
    const add = (node: TrieNode, parent: number, name: number): number => {
      const number = queue.push(node);
      this.#nodes.push(parent, name, -1, 0, -1, this.#entry(node.exact), this.#entry(node.below));
      this.#nodes.push(this.#set(node.allowSomewhere), this.#set(node.denySomewhere));
      this.#nodes.push(this.#set(node.surelySomewhere), node.hasConditions ? 1 : 0);
      return number;
    };
    for (const [subject, root] of tries) add(root, 0, this.#names.of(subject));
    for (let at = 0; at < queue.length; at++) {
      const { literals, any } = queue[at]!;
      const own = (at + 1) * NODE_WORDS;
      this.#nodes[own + FIRST] = queue.length + 1;
      this.#nodes[own + COUNT] = literals?.size ?? 0;
      for (const [name, child] of literals ?? []) add(child, at + 1, this.#names.of(name));
      if (any !== undefined) this.#nodes[own + STAR] = add(any, at + 1, -1);
    }
  }

  arrays(): TrieArrays {
    const nodes = Int32Array.from(this.#nodes);
    const count = nodes.length / NODE_WORDS;
    const children = new Uint32Array(slotCount(count));
    for (let node = 1; node < count; node++) {
      const [parent, name] = [nodes[node * NODE_WORDS + PARENT]!, nodes[node * NODE_WORDS + NAME]!];
      if (name >= 0) fillSlot(children, hashOfChild(parent, name), node);
    }
    return {
      nodes,
      children,
      entries: Int32Array.from(this.#entries),
      lines: Int32Array.from(this.#lines),
      rights: Int32Array.from(this.#rights),
      conditions: [...this.#conditions.keys()],
    };
  }

  #entry(entry: TrieEntry | undefined): number {
    if (entry === undefined) return -1;
    const start = this.#lines.length / 4;
    const middle = start + entry.lines.length;
    const conditional = entry.conditional ?? [];
    for (const line of [...entry.lines, ...conditional]) this.#line(line);
    this.#entries.push(this.#set(entry.allow), this.#set(entry.deny));
    return this.#entries.push(start, middle, middle + conditional.length) / ENTRY_WORDS - 1;
  }

  #line({ line, effect, rights, condition }: PolicyLine): void {
    let number = -1;
    if (condition !== undefined) {
      const { text } = condition;
      number = this.#conditions.get(text) ?? this.#conditions.size;
      this.#conditions.set(text, number);
    }
    this.#lines.push(line, effect === 'deny' ? 1 : 0, this.#set(rights), number);
  }

  #set({ low, middle, high }: RightSet): number {
    const key = `${low},${middle},${high}`;
    let number = this.#rightNumbers.get(key);
    if (number === undefined) {
      this.#rightNumbers.set(key, (number = this.#rightNumbers.size));
      this.#rights.push(low, middle, high);
    }
    return number;
  }
}

function hashOfChild(parent: number, name: number): number {
  const mixed = Math.imul(parent ^ Math.imul(name, 0x9e3779b1), 0x85ebca6b);
  return mixed ^ (mixed >>> 13);
}

/** A line as decisions need it. */
export type PackedLine = Pick<PolicyLine, 'line' | 'effect' | 'rights' | 'condition'>;

/** The trees of subjects. Nodes are made when a decision first comes to them. */
export class PackedTries {
  readonly names: Names;
  readonly arrays: TrieArrays;
  readonly #rights: RightSet[] = [];
  readonly #conditions: Condition[] = [];
  readonly #top: PackedNode;

  constructor(names: Names, arrays: TrieArrays) {
    this.names = names;
    this.arrays = arrays;
    this.#top = new PackedNode(this, 0);
  }

  /** The tree of a subject; undefined if no line is about it. */
  get(subject: string): PackedNode | undefined {
    return this.#top.child(subject);
  }

  rights(number: number): RightSet {
    const { rights } = this.arrays;
    return (this.#rights[number] ??= RightSet.from({
      low: rights[3 * number]!,
      middle: rights[3 * number + 1]!,
      high: rights[3 * number + 2]!,
    }));
  }

  lines(start: number, end: number): readonly PackedLine[] {
    return Array.from({ length: end - start }, (_, at) => this.#line(4 * (start + at)));
  }

  /** The number of a node's child; undefined if it has no child of this name. */
  childNumber(parent: number, name: number): number | undefined {
    const { children, nodes } = this.arrays;
    const mask = children.length - 1;
    let at = hashOfChild(parent, name) & mask;
    for (let slot = children[at]!; slot !== 0; slot = children[at]!) {
      const own = (slot - 1) * NODE_WORDS;
      if (nodes[own + PARENT] === parent && nodes[own + NAME] === name) return slot - 1;
      at = (at + 1) & mask;
    }
    return undefined;
  }

  #line(at: number): PackedLine {
    const { lines } = this.arrays;
    const condition = lines[at + 3]!;
    return {
      line: lines[at]!,
      effect: lines[at + 1] === 1 ? 'deny' : 'allow',
      rights: this.rights(lines[at + 2]!),
      condition: condition < 0 ? undefined : this.#condition(condition),
    };
  }

  /** Equal conditions are one object, so that each is judged once for a request. */
  #condition(number: number): Condition {
    return (this.#conditions[number] ??= readCondition(this.arrays.conditions[number]!));
  }
}

function readCondition(text: string): Condition {
  const result = parseCondition(text);
  if ('condition' in result && result.condition !== undefined) return result.condition;
  throw new Error(`a condition that was valid cannot be read: ${text}`);
}

/** A node of the tree of one subject's patterns, one level per segment. */
export class PackedNode {
  /** The child for any one segment. */
  readonly any: PackedNode | undefined;
  /** Lines for exactly the object of this node. */
  readonly exact: PackedEntry | undefined;
  /** Lines for the object of this node and everything below it. */
  readonly below: PackedEntry | undefined;
  /** Every right that a line at this node or below it allows or denies, under any condition. */
  readonly allowSomewhere: RightSet;
  readonly denySomewhere: RightSet;
  /** The rights that are allowed there without a condition. */
  readonly surelySomewhere: RightSet;
  /** Whether some line at this node or under it has a condition. */
  readonly hasConditions: boolean;
  readonly #tries: PackedTries;
  readonly #number: number;
  #literals: Map<string, PackedNode> | undefined;

  constructor(tries: PackedTries, number: number) {
    const own = tries.arrays.nodes.subarray(number * NODE_WORDS, (number + 1) * NODE_WORDS);
    this.#tries = tries;
    this.#number = number;
    this.any = own[STAR]! < 0 ? undefined : new PackedNode(tries, own[STAR]!);
    this.exact = own[EXACT]! < 0 ? undefined : new PackedEntry(tries, own[EXACT]!);
    this.below = own[BELOW]! < 0 ? undefined : new PackedEntry(tries, own[BELOW]!);
    this.allowSomewhere = tries.rights(own[ALLOWS]!);
    this.denySomewhere = tries.rights(own[DENIES]!);
    this.surelySomewhere = tries.rights(own[SURE]!);
    this.hasConditions = own[CONDITIONS] === 1;
  }

  /** The child by a segment's name, or that of `*`. */
  child(segment: PatternSegment): PackedNode | undefined {
    if (segment === ANY) return this.any;
    const made = this.#literals?.get(segment);
    if (made !== undefined) return made;
    const name = this.#tries.names.find(segment);
    const number = name === undefined ? undefined : this.#tries.childNumber(this.#number, name);
    if (number === undefined) return undefined;
    const child = new PackedNode(this.#tries, number);
    (this.#literals ??= new Map()).set(segment, child);
    return child;
  }

  /** The names of children below which some line allows something. */
  *allowingNames(): Generator<string> {
    const { names, arrays } = this.#tries;
    const own = this.#number * NODE_WORDS;
    const first = arrays.nodes[own + FIRST]!;
    for (let child = first; child < first + arrays.nodes[own + COUNT]!; child++) {
      const at = child * NODE_WORDS;
      if (this.#tries.rights(arrays.nodes[at + ALLOWS]!).within(RightSet.none)) continue;
      yield names.name(arrays.nodes[at + NAME]!);
    }
  }
}

/** The lines of one subject for one pattern. */
export class PackedEntry {
  readonly allow: RightSet;
  readonly deny: RightSet;
  /** The lines with a condition; they add to `allow` and `deny` only while it holds. */
  readonly conditional: readonly PackedLine[] | undefined;
  readonly #tries: PackedTries;
  readonly #start: number;
  readonly #middle: number;
  #lines: readonly PackedLine[] | undefined;

  constructor(tries: PackedTries, number: number) {
    const own = tries.arrays.entries.subarray(number * ENTRY_WORDS, (number + 1) * ENTRY_WORDS);
    this.#tries = tries;
    this.allow = tries.rights(own[ALLOW]!);
    this.deny = tries.rights(own[DENY]!);
    this.#start = own[START]!;
    this.#middle = own[MIDDLE]!;
    const end = own[END]!;
    this.conditional = end === this.#middle ? undefined : tries.lines(this.#middle, end);
  }

  /** The lines without a condition, in the order of the file; without those that add nothing. */
  get lines(): readonly PackedLine[] {
    return (this.#lines ??= this.#tries.lines(this.#start, this.#middle));
  }

  /** Rights that are allowed, or denied, under the circumstances. */
  under(effect: Effect, circumstances: Circumstances): RightSet {
    let rights = this[effect];
    if (this.conditional === undefined) return rights;
    for (const line of this.conditional) {
      if (line.effect === effect && !line.rights.within(rights) && applies(line, circumstances)) {
        rights = rights.union(line.rights);
      }
    }
    return rights;
  }

  /** Rights that are denied under some circumstances. */
  get everDenied(): RightSet {
    const denials = this.conditional?.filter(({ effect }) => effect === 'deny') ?? [];
    return denials.reduce((rights, line) => rights.union(line.rights), this.deny);
  }

  /** The first line that gives or takes one of the rights. */
  line(rights: RightSet, effect: Effect, circumstances: Circumstances): PackedLine | undefined {
    const meets = (line: PackedLine) => line.effect === effect && line.rights.meets(rights);
    const always = this.lines.find(meets);
    if (this.conditional === undefined) return always;
    const now = this.conditional.find((line) => meets(line) && applies(line, circumstances));
    if (always === undefined || now === undefined) return always ?? now;
    return now.line < always.line ? now : always;
  }
}

function applies({ condition, effect }: PackedLine, circumstances: Circumstances): boolean {
  return condition === undefined || conditionHolds(condition, effect, circumstances);
}
