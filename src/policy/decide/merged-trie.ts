import type { ObjectPath } from '../../protocol/identifier.ts';
import type { Action } from '../../protocol/operations/operation.ts';
import { ANY } from '../lines/pattern.ts';
import type { PackedEntry, PackedNode } from './packed-tries.ts';
import { nextNodes } from './trie.ts';
import type { Verdict } from './snapshot.ts';

/** How many places a principal's lines are kept merged for; the others are merged each time. */
const KEPT_PLACES = 256;

/** The cached result so far. */
interface MergedLines {
  places: number;
}

/** The entries that match an object: the same for all objects that no line distinguishes. */
class Matching {
  readonly entries: readonly PackedEntry[];
  /** Whether some lines have conditions. */
  readonly isConditional: boolean;
  /** The result for a principal without scopes, outside of `system` and without conditions. */
  #verdicts: Map<Action, Verdict> | undefined;

  constructor(entries: readonly PackedEntry[]) {
    this.entries = entries;
    this.isConditional = entries.some(({ conditional }) => conditional !== undefined);
  }

  verdict(action: Action): Verdict | undefined {
    return this.#verdicts?.get(action);
  }

  keep(action: Action, verdict: Verdict): void {
    this.#verdicts ??= new Map();
    this.#verdicts.set(action, verdict);
  }
}

/**
 * The trees of a principal, walked as one: a place on the way is merged when it is first come to,
 * and where a decision goes often it costs one step for each segment, however many trees there are.
 */
export class MergedTrie {
  readonly #start: Place;

  constructor(roots: readonly PackedNode[]) {
    this.#start = new Place(roots, new Matching([]), { places: 0 });
  }

  /** The entries of all patterns that match the object. */
  matching(path: ObjectPath): Matching {
    let place = this.#start;
    for (const segment of path) {
      if (place.isEnd) return place.below;
      place = place.next(segment);
    }
    return place.here;
  }
}

class Place {
  readonly #nodes: readonly PackedNode[];
  readonly #merged: MergedLines;
  readonly #named = new Map<string, Place>();
  #other: Place | undefined;
  /** The entries for everything from here on. */
  readonly below: Matching;
  /** Those, and the entries for exactly this. */
  readonly here: Matching;

  constructor(nodes: readonly PackedNode[], above: Matching, merged: MergedLines) {
    this.#nodes = nodes;
    this.#merged = merged;
    this.below = joined(above, nodes, 'below');
    this.here = joined(this.below, nodes, 'exact');
  }

  /** Whether no line distinguishes objects further down. */
  get isEnd(): boolean {
    return this.#nodes.length === 0;
  }

  next(segment: string): Place {
    const cached = this.#named.get(segment);
    if (cached !== undefined) return cached;
    if (!this.#nodes.some((node) => node.child(segment) !== undefined)) {
      return (this.#other ??= this.#merge(ANY));
    }
    const place = this.#merge(segment);
    if (this.#merged.places < KEPT_PLACES) {
      this.#merged.places += 1;
      this.#named.set(segment, place);
    }
    return place;
  }

  #merge(segment: string | typeof ANY): Place {
    return new Place(nextNodes(this.#nodes, segment), this.below, this.#merged);
  }
}

function joined(above: Matching, nodes: readonly PackedNode[], kind: 'below' | 'exact'): Matching {
  const own = nodes.map((node) => node[kind]).filter((entry) => entry !== undefined);
  return own.length === 0 ? above : new Matching([...above.entries, ...own]);
}
