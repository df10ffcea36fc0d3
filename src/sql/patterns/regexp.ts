import { spend } from '../values/meter.ts';
import { parseRegexp } from './parse-regexp.ts';
import { compileProgram, type RegexpProgram } from './regexp-program.ts';
import {
  Alphabet,
  assertions,
  side,
  type CharacterClass,
  type Neighbour,
} from './regexp-alphabet.ts';
import type { RegexpFlags } from './regexp-set.ts';

/** Work of compiling an expression, in bytes, in addition to its length. */
export const COMPILE_BYTES = 4_096;

/** A state of the lazy DFA: the active steps before the next character. */
interface State {
  readonly steps: ArrayLike<number> & Iterable<number>;
  readonly before: Neighbour;
  /** Next state by character class; null after a match. */
  readonly next: (State | null | undefined)[];
}

/** Maximum number of steps of all cached states; beyond it the cache is cleared. */
const maxRememberedSteps = 100_000;

/** Work of one step of a program for one character. */
const STEP_BYTES = 16;

/** Number of times the cache may be cleared before caching stops. */
const maxForgotten = 3;

/**
 * Runs a program over texts: all its ways at once, so each character costs at
 * most as many steps as the program has, whatever the text. States that were met
 * before are remembered, which makes most characters one look-up.
 */
export class Matcher {
  readonly #program: RegexpProgram;
  readonly #alphabet: Alphabet;
  readonly #states = new Map<string, State>();
  readonly #marks: Uint32Array;
  readonly #stack: Uint32Array;
  #top = 0;
  #mark = 0;
  #remembered = 0;
  #forgotten = 0;
  #first: State;

  constructor(program: RegexpProgram) {
    this.#program = program;
    this.#alphabet = new Alphabet(program);
    this.#marks = new Uint32Array(program.steps.length);
    this.#stack = new Uint32Array(program.steps.length);
    this.#first = this.#state([program.start], side.edge);
  }

  /** Whether any part of the text matches; `codes` are its code points up to `length`. */
  matches(codes: Uint32Array, length: number): boolean {
    spend(length);
    let state = this.#first;
    for (let at = 0; at <= length; at++) {
      if (this.#forgotten > maxForgotten) return this.#simulate(state, codes, at, length);
      const found = at < length ? this.#alphabet.classOf(codes[at]!) : this.#alphabet.end;
      const next = state.next[found.index] ?? this.#advance(state, found);
      if (next === null) return true;
      state = next;
    }
    return false;
  }

  /** Continues without a cache, which is faster when states hardly recur. */
  #simulate(from: State, codes: Uint32Array, start: number, length: number): boolean {
    let ways: Pick<State, 'steps' | 'before'> = from;
    for (let at = start; at <= length; at++) {
      const found = at < length ? this.#alphabet.classOf(codes[at]!) : this.#alphabet.end;
      const steps = this.#stepsBehind(ways, found);
      if (steps === null) return true;
      ways = { steps, before: found.side };
    }
    return false;
  }

  #advance(state: State, found: CharacterClass): State | null {
    if (state.next[found.index] === null) return null;
    const steps = this.#stepsBehind(state, found);
    const next = steps === null ? null : this.#state(Uint16Array.from(steps).sort(), found.side);
    state.next[found.index] = next;
    return next;
  }

  /** The steps after the next character, the start step included; null if there was a match before it. */
  #stepsBehind(
    { steps, before }: Pick<State, 'steps' | 'before'>,
    found: CharacterClass,
  ): number[] | null {
    const taking: number[] = [];
    spend(64 + steps.length * STEP_BYTES);
    this.#newMark();
    for (const step of steps) {
      if (this.#follow(step, before, found, taking)) return null;
    }
    this.#newMark();
    const behind = [this.#program.start];
    this.#marks[this.#program.start] = this.#mark;
    for (const next of taking) {
      if (this.#marks[next] !== this.#mark) {
        this.#marks[next] = this.#mark;
        behind.push(next);
      }
    }
    return behind;
  }

  #newMark(): void {
    this.#mark++;
    if (this.#mark > 0xffffffff) {
      this.#marks.fill(0);
      this.#mark = 1;
    }
  }

  /** Collects the steps that a step reaches through the character; true if a match step is reached. */
  #follow(from: number, before: Neighbour, found: CharacterClass, taking: number[]): boolean {
    this.#top = 0;
    this.#push(from);
    while (this.#top > 0) {
      this.#top--;
      const step = this.#program.steps[this.#stack[this.#top]!]!;
      if (step.kind === 'match') return true;
      if (step.kind === 'take') {
        if (found.inSet[step.set] === true) taking.push(step.next);
      } else if (step.kind === 'jump') {
        for (const target of step.targets) this.#push(target);
      } else if (step.kind === 'save' || assertions[step.assertion](before, found.side)) {
        this.#push(step.next);
      }
    }
    return false;
  }

  /** Each step is looked at once for a character. */
  #push(step: number): void {
    if (this.#marks[step] !== this.#mark) {
      this.#marks[step] = this.#mark;
      this.#stack[this.#top] = step;
      this.#top++;
    }
  }

  #state(steps: ArrayLike<number> & Iterable<number>, before: Neighbour): State {
    const key = `${before} ${String.fromCharCode(...steps)}`;
    const cached = this.#states.get(key);
    if (cached !== undefined) return cached;
    if (this.#remembered > maxRememberedSteps) this.#forget();
    const made: State = { steps, before, next: [] };
    this.#remembered += steps.length + 16;
    this.#states.set(key, made);
    return made;
  }

  #forget(): void {
    this.#states.clear();
    this.#remembered = 0;
    this.#forgotten++;
    this.#first = { ...this.#first, next: [] };
  }
}

/** A compiled regular expression. */
export interface RegexpMatcher {
  /** Whether any part of a text matches; `codes` are its code points up to `length`. */
  matches(codes: Uint32Array, length: number): boolean;
}

/**
 * Makes a regular expression ready, in the syntax of Rust's regex crate as far
 * as `parseRegexp` knows it. Matching takes time in proportion to the text.
 * Throws SqlError `value` for what it cannot read and `limit` for what is too large.
 */
export function compileRegexp(
  pattern: string,
  flags: RegexpFlags,
  position: number,
): RegexpMatcher {
  spend(COMPILE_BYTES + pattern.length * 64);
  const { root } = parseRegexp(pattern, flags, position);
  return new Matcher(compileProgram(root, position));
}
