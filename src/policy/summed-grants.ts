import type { ObjectPath } from '../protocol/identifier.ts';
import type { Circumstances } from './circumstances.ts';
import { RightSet } from './right-set.ts';
import type { Entry, TrieNode } from './trie.ts';
import type { Grants } from './want.ts';

/** What the lines of some trees that match an object add up to, and no more: nothing of the way is kept. */
export class SummedGrants implements Grants {
  allow = RightSet.none;
  deny = RightSet.none;
  readonly #path: ObjectPath;
  readonly #circumstances: Circumstances;

  constructor(roots: readonly TrieNode[], path: ObjectPath, circumstances: Circumstances) {
    this.#path = path;
    this.#circumstances = circumstances;
    for (const root of roots) this.#visit(root, 0);
  }

  /** Adds what stands at a node, to which so many segments lead, and further on the way. */
  #visit({ below, exact, literals, any }: TrieNode, depth: number): void {
    if (below !== undefined) this.#add(below);
    if (depth === this.#path.length) {
      if (exact !== undefined) this.#add(exact);
      return;
    }
    const named = literals?.get(this.#path[depth]!);
    if (named !== undefined) this.#visit(named, depth + 1);
    if (any !== undefined) this.#visit(any, depth + 1);
  }

  #add(entry: Entry): void {
    this.allow = this.allow.union(entry.under('allow', this.#circumstances));
    this.deny = this.deny.union(entry.under('deny', this.#circumstances));
  }
}
