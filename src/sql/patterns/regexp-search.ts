import { spend } from '../values/meter.ts';
import { COMPILE_BYTES, Matcher } from './regexp.ts';
import { parseRegexp } from './parse-regexp.ts';
import { Alphabet, assertions, side, type Neighbour } from './regexp-alphabet.ts';
import { compileProgram, type RegexpProgram } from './regexp-program.ts';
import type { RegexpFlags } from './regexp-set.ts';

/** Work of one step of a program for one character. */
const STEP_BYTES = 16;

/** A thread of the automaton, with the positions of its groups. */
interface Thread {
  readonly step: number;
  readonly slots: Int32Array;
}

/** Start and end of a match and of its groups; -1 for a group that did not match. */
export type Match = Int32Array;

/**
 * Finds where a regular expression matches: of the matches that begin first the one
 * that its quantifiers and alternatives prefer. All ways are followed at once (Pike's
 * automaton), so each character costs at most as many steps as the program has.
 */
export class RegexpSearch {
  readonly #program: RegexpProgram;
  readonly #alphabet: Alphabet;
  readonly #matcher: Matcher;
  readonly #marks: Uint32Array;
  readonly #slots: number;
  #mark = 0;
  /** How many characters were looked at so far. */
  scanned = 0;
  /** How many groups have a number. */
  readonly groups: number;
  readonly names: ReadonlyMap<string, number>;

  /** Throws SqlError as `compileRegexp` does. */
  constructor(pattern: string, flags: RegexpFlags, position: number) {
    spend(COMPILE_BYTES + pattern.length * 64);
    const { root, groups, names } = parseRegexp(pattern, flags, position);
    this.#program = compileProgram(root, position, true);
    this.#matcher = new Matcher(this.#program);
    this.#alphabet = new Alphabet(this.#program);
    this.#marks = new Uint32Array(this.#program.steps.length);
    this.#slots = groups * 2 + 2;
    this.groups = groups;
    this.names = names;
  }

  /** The first match at or after `from`, among `length` code points; undefined if there is none. */
  find(codes: Uint32Array, length: number, from: number): Match | undefined {
    // The automaton without groups rejects most texts at a fraction of the cost.
    if (from === 0 && !this.#matcher.matches(codes, length)) return undefined;
    let threads: Thread[] = [];
    let match: Match | undefined;
    for (let at = from; at <= length; at++) {
      this.scanned++;
      spend(STEP_BYTES * (1 + threads.length));
      if (match === undefined) this.#begin(threads, codes, length, at);
      const next: Thread[] = [];
      this.#mark++;
      const inSet = at < length ? this.#alphabet.classOf(codes[at]!).inSet : [];
      for (const { step, slots } of threads) {
        const now = this.#program.steps[step]!;
        if (now.kind === 'match') {
          match = slots.with(1, at);
          break;
        }
        if (now.kind === 'take' && inSet[now.set] === true) {
          this.#add(next, now.next, slots, { codes, length, at: at + 1 });
        }
      }
      threads = next;
      if (threads.length === 0 && match !== undefined) break;
    }
    return match;
  }

  /** A match may begin here; it is preferred less than those that began before. */
  #begin(threads: Thread[], codes: Uint32Array, length: number, at: number): void {
    const slots = new Int32Array(this.#slots).fill(-1);
    slots[0] = at;
    if (threads.length === 0) this.#mark++;
    this.#add(threads, this.#program.start, slots, { codes, length, at });
  }

  #sideAt(codes: Uint32Array, length: number, at: number): Neighbour {
    return at < 0 || at >= length ? side.edge : this.#alphabet.classOf(codes[at]!).side;
  }

  /** Adds the steps reachable without a character, preferred ones first. Each step is added once. */
  #add(
    threads: Thread[],
    step: number,
    slots: Int32Array,
    text: { readonly codes: Uint32Array; readonly length: number; readonly at: number },
  ): void {
    if (this.#marks[step] === this.#mark) return;
    this.#marks[step] = this.#mark;
    spend(STEP_BYTES + this.#slots);
    const now = this.#program.steps[step]!;
    switch (now.kind) {
      case 'jump':
        for (const target of now.targets) this.#add(threads, target, slots, text);
        break;
      case 'save':
        this.#add(threads, now.next, slots.with(now.slot, text.at), text);
        break;
      case 'assert': {
        const { codes, length, at } = text;
        const before = this.#sideAt(codes, length, at - 1);
        if (assertions[now.assertion](before, this.#sideAt(codes, length, at))) {
          this.#add(threads, now.next, slots, text);
        }
        break;
      }
      case 'take':
      case 'match':
        threads.push({ step, slots });
    }
  }
}
