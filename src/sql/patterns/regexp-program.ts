import { SqlError } from '../values/sql-error.ts';
import { maxPatternSteps } from '../values/limits.ts';
import type { CharacterSet, Assertion, RegexpNode } from './regexp-set.ts';

/** One step of a program; all but `match` continue to the steps they name. */
type Step =
  | { readonly kind: 'take'; readonly set: number; readonly next: number }
  | { readonly kind: 'assert'; readonly assertion: Assertion; readonly next: number }
  /** Of several ways the first that matches is taken. */
  | { readonly kind: 'jump'; readonly targets: readonly number[] }
  /** Remembers the place in the text: where a group begins, or ends. */
  | { readonly kind: 'save'; readonly slot: number; readonly next: number }
  | { readonly kind: 'match' };

/** A regular expression as a nondeterministic automaton (Thompson, "Regular expression search algorithm"). */
export interface RegexpProgram {
  readonly steps: readonly Step[];
  readonly start: number;
  /** The distinct sets that the steps take characters of. */
  readonly sets: readonly CharacterSet[];
}

type Emitters = {
  readonly [Kind in RegexpNode['kind']]: (
    node: Extract<RegexpNode, { kind: Kind }>,
    next: number,
  ) => number;
};

/** Emits steps from the end to the start, so that each part knows its successor. */
class Compiler {
  readonly steps: Step[] = [{ kind: 'match' }];
  readonly sets: CharacterSet[] = [];
  readonly #places = new Map<string, number>();
  readonly #position: number;
  readonly #saves: boolean;
  #visits = 0;

  constructor(position: number, saves: boolean) {
    this.#position = position;
    this.#saves = saves;
  }

  readonly #emitters: Emitters = {
    set: ({ set }, next) => this.#add({ kind: 'take', set: this.#place(set), next }),
    assertion: ({ assertion }, next) => this.#add({ kind: 'assert', assertion, next }),
    sequence: ({ parts }, next) =>
      parts.reduceRight((behind, part) => this.emit(part, behind), next),
    choice: ({ parts }, next) =>
      this.#add({ kind: 'jump', targets: parts.map((part) => this.emit(part, next)) }),
    repeat: (node, next) => this.#repeat(node, next),
    group: (node, next) => (this.#saves ? this.#group(node, next) : this.emit(node.body, next)),
  };

  /** Emits a node that continues at the step `next`; returns its first step. */
  emit(node: RegexpNode, next: number): number {
    // Counted too, as a group of nothing may be repeated without a step.
    this.#visits++;
    this.#check(this.#visits > maxPatternSteps * 10);
    return this.#emitters[node.kind](node as never, next);
  }

  #group({ index, body }: RegexpNode & { kind: 'group' }, next: number): number {
    const end = this.#add({ kind: 'save', slot: index * 2 + 1, next });
    return this.#add({ kind: 'save', slot: index * 2, next: this.emit(body, end) });
  }

  #repeat({ body, least, most, lazy }: RegexpNode & { kind: 'repeat' }, next: number): number {
    const optional = most === Infinity ? 0 : most - least;
    const ways = (first: number): number[] => (lazy ? [next, first] : [first, next]);
    let start = most === Infinity ? this.#loop(body, next, ways) : next;
    for (let count = 0; count < optional; count++) {
      start = this.#add({ kind: 'jump', targets: ways(this.emit(body, start)) });
    }
    for (let count = 0; count < least; count++) start = this.emit(body, start);
    return start;
  }

  #loop(body: RegexpNode, next: number, ways: (first: number) => number[]): number {
    const fork = this.#add({ kind: 'jump', targets: [next] });
    const repeated = this.emit(body, fork);
    this.steps[fork] = { kind: 'jump', targets: ways(repeated) };
    return fork;
  }

  #place(set: CharacterSet): number {
    const cached = this.#places.get(set.key);
    if (cached !== undefined) return cached;
    this.#places.set(set.key, this.sets.length);
    return this.sets.push(set) - 1;
  }

  #add(step: Step): number {
    this.#check(this.steps.length >= maxPatternSteps);
    return this.steps.push(step) - 1;
  }

  #check(tooLarge: boolean): void {
    if (tooLarge) {
      const message = `expected a regular expression of at most ${maxPatternSteps} steps, found more`;
      throw new SqlError('limit', message, this.#position);
    }
  }
}

/**
 * Compiles a regular expression, its counts written out; where `saves`, so that the
 * places of its groups are known. Throws SqlError `limit` above 200 steps.
 */
export function compileProgram(tree: RegexpNode, position: number, saves = false): RegexpProgram {
  const compiler = new Compiler(position, saves);
  const start = compiler.emit(tree, 0);
  return { steps: compiler.steps, start, sets: compiler.sets };
}
