import { SqlError } from '../values/sql-error.ts';
import { maxTextLength, maxWildcardRun } from '../values/limits.ts';

/** Code units of a text to match: the bytes of UTF-8, or code points. */
type Units = ArrayLike<number>;

/** Stands for `_`, any one character. */
const any = -1;

/** The units between two `%`. */
interface Run {
  readonly units: readonly number[];
  readonly wild: boolean;
  /** Without `_`: for each prefix the length of its longest border (Knuth, Morris, Pratt). */
  readonly borders: readonly number[];
  /** With `_`: for each unit the places it fits, one bit each; `other` is for all units not named. */
  readonly places: ReadonlyMap<number, Int32Array>;
  readonly other: Int32Array;
}

function bordersOf(units: readonly number[]): readonly number[] {
  const borders = [0];
  for (let at = 1, length = 0; at < units.length; at++) {
    while (length > 0 && units[at] !== units[length]) length = borders[length - 1]!;
    length += units[at] === units[length] ? 1 : 0;
    borders.push(length);
  }
  return borders;
}

function placesOf(units: readonly number[]): Pick<Run, 'places' | 'other'> {
  const fitting = (unit: number): Int32Array => {
    const bits = new Int32Array((units.length + 31) >> 5);
    units.forEach((each, at) => {
      bits[at >> 5]! |= each === any || each === unit ? 1 << (at & 31) : 0;
    });
    return bits;
  };
  return {
    places: new Map([...new Set(units)].map((unit) => [unit, fitting(unit)])),
    other: fitting(any),
  };
}

const none: Pick<Run, 'places' | 'other'> = { places: new Map(), other: new Int32Array() };

function runOf(units: readonly number[], position: number): Run {
  const wild = units.includes(any);
  if (wild && units.length > maxWildcardRun) {
    const message = `expected at most ${maxWildcardRun} characters between two % of a LIKE pattern with _`;
    throw new SqlError('limit', `${message}, found ${units.length}`, position);
  }
  return { units, wild, borders: wild ? [] : bordersOf(units), ...(wild ? placesOf(units) : none) };
}

function matchesAt(run: Run, text: Units, at: number): boolean {
  const { units } = run;
  for (let index = 0; index < units.length; index++) {
    if (units[index] !== any && units[index] !== text[at + index]) return false;
  }
  return true;
}

/** End of the first match, in linear time; -1 if there is none. */
function findPlain({ units, borders }: Run, text: Units, from: number, to: number): number {
  let length = 0;
  for (let at = from; at < to; at++) {
    while (length > 0 && text[at] !== units[length]) length = borders[length - 1]!;
    length += text[at] === units[length] ? 1 : 0;
    if (length === units.length) return at + 1;
  }
  return -1;
}

/**
 * As findPlain for a run with `_`: every prefix that matches up to here is a bit
 * (Baeza-Yates and Gonnet, "A new approach to text searching"). The length of a
 * run is bounded, so the time is linear in the text.
 */
function findWild({ units, places, other }: Run, text: Units, from: number, to: number): number {
  const words = new Int32Array(other.length);
  const last = units.length - 1;
  for (let at = from; at < to; at++) {
    const fitting = places.get(text[at]!) ?? other;
    let carry = 1;
    for (let word = 0; word < words.length; word++) {
      const shifted = (words[word]! << 1) | carry;
      carry = words[word]! >>> 31;
      words[word] = shifted & fitting[word]!;
    }
    if ((words[last >> 5]! >>> (last & 31)) & 1) return at + 1;
  }
  return -1;
}

function find(run: Run, text: Units, from: number, to: number): number {
  return run.wild ? findWild(run, text, from, to) : findPlain(run, text, from, to);
}

/** A compiled LIKE pattern. */
export interface LikeMatcher {
  /** Whether the pattern has `_` or folds case, so that it must see code points, not bytes. */
  readonly needsCharacters: boolean;
  /** Whether the text from `from` to `to` matches as a whole. */
  matches(text: Units, from: number, to: number): boolean;
}

/** The pattern split at each `%`. */
function splitRuns(
  pattern: string,
  escape: string,
  ignoreCase: boolean,
): readonly (readonly number[])[] {
  const runs: number[][] = [[]];
  const characters = Array.from(pattern);
  for (let at = 0; at < characters.length; at++) {
    const character = characters[at]!;
    const run = runs[runs.length - 1]!;
    if (character === escape && at + 1 < characters.length) {
      at++;
      run.push(foldCharacter(characters[at]!, ignoreCase));
    } else if (character === '%') {
      runs.push([]);
    } else {
      run.push(character === '_' ? any : foldCharacter(character, ignoreCase));
    }
  }
  return runs;
}

function foldCharacter(character: string, ignoreCase: boolean): number {
  const code = character.codePointAt(0)!;
  return ignoreCase ? foldCase(code) : code;
}

const folded = new Map<number, number>();

/** The lower-case form of a code point, if that is one code point. */
export function foldCase(code: number): number {
  if (code < 128) return code >= 65 && code <= 90 ? code + 32 : code;
  let lower = folded.get(code);
  if (lower === undefined) {
    const characters = Array.from(String.fromCodePoint(code).toLowerCase());
    lower = characters.length === 1 ? characters[0]!.codePointAt(0)! : code;
    folded.set(code, lower);
  }
  return lower;
}

const encoder = new TextEncoder();

/** Code points as bytes, for matching texts without decoding them. */
function toBytes(units: readonly number[]): readonly number[] {
  return Array.from(encoder.encode(units.map((unit) => String.fromCodePoint(unit)).join('')));
}

function matchRuns(runs: readonly Run[], text: Units, from: number, to: number): boolean {
  const first = runs[0]!;
  const last = runs[runs.length - 1]!;
  const length = to - from;
  if (runs.length === 1) return length === first.units.length && matchesAt(first, text, from);
  const end = to - last.units.length;
  let at = from + first.units.length;
  if (at > end || !matchesAt(first, text, from) || !matchesAt(last, text, end)) return false;
  for (let index = 1; index < runs.length - 1; index++) {
    at = find(runs[index]!, text, at, end);
    if (at < 0) return false;
  }
  return true;
}

/**
 * Makes a LIKE pattern ready: `%` is any text, `_` any one character, and the
 * character behind `escape` (empty for none) is itself. The leftmost match of
 * each run is taken, so nothing is tried twice. Throws SqlError `limit` for a
 * run with `_` of more than 1,024 characters, and for a pattern above 1 MiB.
 */
export function compileLike(
  pattern: string,
  escape: string,
  ignoreCase: boolean,
  position: number,
): LikeMatcher {
  if (pattern.length > maxTextLength) {
    const message = `expected a LIKE pattern of at most ${maxTextLength} characters`;
    throw new SqlError('limit', `${message}, found ${pattern.length}`, position);
  }
  const split = splitRuns(pattern, escape, ignoreCase);
  const needsCharacters = ignoreCase || split.some((units) => units.includes(any));
  // Two % in a row leave an empty run, which matches anywhere.
  const used = split.filter(
    (units, index) => units.length > 0 || index === 0 || index === split.length - 1,
  );
  const runs = used.map((units) => runOf(needsCharacters ? units : toBytes(units), position));
  return Object.freeze({
    needsCharacters,
    matches: (text: Units, from: number, to: number) => matchRuns(runs, text, from, to),
  });
}

/** The literal prefix of a LIKE pattern. */
interface LikePrefix {
  /** The text must begin so. */
  readonly text: string;
  /** What must follow: nothing, anything, or `more`, which only the whole pattern decides. */
  readonly rest: 'nothing' | 'anything' | 'more';
}

/** The part of a pattern before its first `%` or `_`; the character after `escape` is literal. */
export function likePrefix(pattern: string, escape: string): LikePrefix {
  const characters = Array.from(pattern);
  let text = '';
  for (let at = 0; at < characters.length; at++) {
    const character = characters[at]!;
    if (character === escape && at + 1 < characters.length) {
      at++;
      text += characters[at]!;
    } else if (character === '%' || character === '_') {
      const all = characters.slice(at).every((each) => each === '%');
      return { text, rest: all && escape !== '%' ? 'anything' : 'more' };
    } else {
      text += character;
    }
  }
  return { text, rest: 'nothing' };
}
