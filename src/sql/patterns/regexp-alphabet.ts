import type { RegexpProgram } from './regexp-program.ts';
import { casesOf, isWordCharacter, perlClassesOf, type Assertion } from './regexp-set.ts';

/** The neighbour of a position: the edge of the text, a line feed, a word character or another character. */
export const side = { edge: 0, line: 1, word: 2, other: 3 } as const;
export type Neighbour = (typeof side)[keyof typeof side];

/** Whether an assertion holds between two neighbours. */
export const assertions: Readonly<
  Record<Assertion, (before: Neighbour, after: Neighbour) => boolean>
> = {
  'text-start': (before) => before === side.edge,
  'text-end': (_, after) => after === side.edge,
  'line-start': (before) => before === side.edge || before === side.line,
  'line-end': (_, after) => after === side.edge || after === side.line,
  boundary: (before, after) => (before === side.word) !== (after === side.word),
  'no-boundary': (before, after) => (before === side.word) === (after === side.word),
};

/** Characters that all sets and assertions of the program treat alike. */
export interface CharacterClass {
  readonly index: number;
  readonly side: Neighbour;
  /** For each set of the program whether it has the characters. */
  readonly inSet: readonly boolean[];
}

/** Maximum number of cached classes of characters beyond ASCII. */
const maxRememberedCharacters = 65_536;

/** Assigns characters to classes, each character once. */
export class Alphabet {
  readonly #program: RegexpProgram;
  /** Boundaries of the sets' ranges. */
  readonly #edges: Uint32Array;
  readonly #folds: boolean;
  readonly #classes = new Map<string, CharacterClass>();
  readonly #ascii: (CharacterClass | undefined)[] = Array.from({ length: 128 });
  readonly #others = new Map<number, CharacterClass>();
  /** The end of the text. */
  readonly end: CharacterClass = { index: 0, side: side.edge, inSet: [] };

  constructor(program: RegexpProgram) {
    this.#program = program;
    const edges = program.sets.flatMap(({ ranges }) =>
      ranges.flatMap(([from, to]) => [from, to + 1]),
    );
    this.#edges = Uint32Array.from(new Set(edges)).sort();
    this.#folds = program.sets.some(({ ignoreCase }) => ignoreCase);
  }

  /** How many edges of ranges lie at or before a code point: between two of them all sets are alike. */
  #placeOf(code: number): number {
    let [low, high] = [0, this.#edges.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.#edges[middle]! <= code) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low;
  }

  classOf(code: number): CharacterClass {
    const cached = code < 128 ? this.#ascii[code] : this.#others.get(code);
    if (cached !== undefined) return cached;
    const found = this.#find(code);
    if (code < 128) {
      this.#ascii[code] = found;
      return found;
    }
    if (this.#others.size >= maxRememberedCharacters) this.#others.clear();
    this.#others.set(code, found);
    return found;
  }

  #find(code: number): CharacterClass {
    const own = code === 10 ? side.line : isWordCharacter(code) ? side.word : side.other;
    const places = (this.#folds ? casesOf(code) : [code]).map((each) => this.#placeOf(each));
    const key = `${own} ${perlClassesOf(code)} ${places.join(' ')}`;
    const cached = this.#classes.get(key);
    if (cached !== undefined) return cached;
    const inSet = this.#program.sets.map((set) => set.has(code));
    const made = { index: this.#classes.size + 1, side: own, inSet };
    this.#classes.set(key, made);
    return made;
  }
}
