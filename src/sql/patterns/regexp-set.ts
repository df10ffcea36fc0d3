import { foldCase } from './like.ts';
import type { RegexpReader } from './regexp-reader.ts';

const controls: ReadonlyMap<string, number> = new Map([
  ['n', 10],
  ['r', 13],
  ['t', 9],
  ['f', 12],
  ['v', 11],
  ['a', 7],
]);

/** Punctuation that may be escaped. */
const marks = /^[!-/:-@[-`{-~]$/;

function parseHex(reader: RegexpReader, place: number): number {
  const braced = reader.take('{');
  const digits = braced ? reader.until('}') : reader.next() + reader.next();
  const code = /^[0-9a-fA-F]{1,6}$/.test(digits) ? Number.parseInt(digits, 16) : Infinity;
  if (code > 0x10ffff || (braced && !reader.take('}'))) {
    return reader.fail('the hexadecimal digits of a character', place);
  }
  return code;
}

/** Parses the character after a backslash, which has been read. */
function parseEscapedCode(reader: RegexpReader, place: number): number {
  const letter = reader.next();
  const control = controls.get(letter);
  if (control !== undefined) return control;
  if (letter === 'x') return parseHex(reader, place);
  return marks.test(letter) && letter !== '<' && letter !== '>'
    ? letter.codePointAt(0)!
    : reader.fail('an escape such as \\d, \\w, \\s, \\b, \\n or \\.', place);
}

/** Parses an escape: a class such as `\d`, or one character. */
export function parseEscape(reader: RegexpReader): SetItem {
  const place = reader.place;
  reader.next();
  if (isPerlClass(reader.peek())) return reader.next();
  const code = parseEscapedCode(reader, place);
  return [code, code];
}

/** One end of a range. */
function parseEnd(reader: RegexpReader): number {
  const place = reader.place;
  if (reader.take('\\')) return parseEscapedCode(reader, place);
  const pair = reader.peek() + reader.peek(1);
  if (reader.peek() === '[' || pair === '&&' || pair === '--' || pair === '~~') {
    return reader.fail('a character of a class', place);
  }
  return reader.next().codePointAt(0) ?? reader.fail('] after the characters of a class', place);
}

function parseItem(reader: RegexpReader): SetItem {
  if (reader.peek() === '\\' && isPerlClass(reader.peek(1))) return parseEscape(reader);
  const place = reader.place;
  const from = parseEnd(reader);
  const isRange = reader.peek() === '-' && reader.peek(1) !== ']' && reader.peek(1) !== '-';
  if (!isRange) return [from, from];
  reader.next();
  const to = parseEnd(reader);
  return to < from ? reader.fail('a range from a lower to a higher character', place) : [from, to];
}

/** Reads `[a-z\d]` or `[^a-z]`. A leading `]` is literal. */
export function parseClass(reader: RegexpReader, ignoreCase: boolean): CharacterSet {
  reader.next();
  const negated = reader.take('^');
  const items: SetItem[] = [];
  while (items.length === 0 || reader.peek() !== ']') items.push(parseItem(reader));
  reader.next();
  return setOf(items, { negated, ignoreCase });
}

/** The characters that one place of a regular expression takes, by code point. */
export interface CharacterSet {
  /** Equal for sets that take the same characters in the same words. */
  readonly key: string;
  /** The ranges in order, and whether a character is sought in them in all its cases. */
  readonly ranges: readonly Range[];
  readonly ignoreCase: boolean;
  has(code: number): boolean;
}

/** Characters from one code point to another, both included. */
type Range = readonly [from: number, to: number];

/** A part of a set: a range, or a class such as `\d` by its letter. */
export type SetItem = Range | string;

/** Characters of `\d`, `\w` and `\s`: Unicode's, as in UTS 18. */
const perlClasses: Readonly<Record<string, RegExp>> = {
  d: /^\p{Nd}$/u,
  w: /^[\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\p{Join_Control}]$/u,
  s: /^\p{White_Space}$/u,
};

/** Whether an escaped letter names a class. */
function isPerlClass(letter: string): boolean {
  return /^[dwsDWS]$/.test(letter);
}

function inPerlClass(letter: string, character: string): boolean {
  const lower = letter.toLowerCase();
  return perlClasses[lower]!.test(character) === (letter === lower);
}

/** Whether a character is one of `\w`, between which `\b` finds no boundary. */
export function isWordCharacter(code: number): boolean {
  return inPerlClass('w', String.fromCodePoint(code));
}

/** The letters of the classes that a character is in. */
export function perlClassesOf(code: number): string {
  const character = String.fromCodePoint(code);
  return ['d', 'w', 's'].filter((letter) => inPerlClass(letter, character)).join('');
}

function upperCase(code: number): number {
  const characters = Array.from(String.fromCodePoint(code).toUpperCase());
  return characters.length === 1 ? characters[0]!.codePointAt(0)! : code;
}

/** The code points that differ from one only in case, itself among them. */
export function casesOf(code: number): readonly number[] {
  const upper = upperCase(code);
  return [code, foldCase(code), upper, foldCase(upper)];
}

/** The ranges in order, those that touch made one. */
function merge(ranges: readonly Range[]): readonly Range[] {
  const merged: Range[] = [];
  for (const range of [...ranges].sort((left, right) => left[0] - right[0])) {
    const last = merged.at(-1);
    if (last !== undefined && range[0] <= last[1] + 1) {
      merged[merged.length - 1] = [last[0], Math.max(last[1], range[1])];
    } else {
      merged.push(range);
    }
  }
  return merged;
}

function holds(ranges: readonly Range[], code: number): boolean {
  let [low, high] = [0, ranges.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (ranges[middle]![1] < code) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low < ranges.length && ranges[low]![0] <= code;
}

function rangesOf(items: readonly SetItem[], ignoreCase: boolean): readonly Range[] {
  const ranges = items.filter((item) => typeof item !== 'string');
  // Single characters add their other cases; ranges are tested with all cases of the text's character.
  const cases = ranges
    .filter(([from, to]) => ignoreCase && from === to)
    .flatMap(([from]) => casesOf(from).map((code): Range => [code, code]));
  return merge([...ranges, ...cases]);
}

/** The characters of any of the items, or when negated of none of them. */
export function setOf(
  items: readonly SetItem[],
  { negated = false, ignoreCase = false }: { negated?: boolean; ignoreCase?: boolean },
): CharacterSet {
  const ranges = rangesOf(items, ignoreCase);
  const classes = [...new Set(items.filter((item) => typeof item === 'string'))];
  return {
    key: `${negated}${ignoreCase}${classes.join('')}${ranges.join(' ')}`,
    ranges,
    ignoreCase,
    has(code) {
      const cases = ignoreCase ? casesOf(code) : [code];
      const found =
        cases.some((each) => holds(ranges, each)) ||
        classes.some((letter) => inPerlClass(letter, String.fromCodePoint(code)));
      return found !== negated;
    },
  };
}

/** A zero-width assertion. */
export type Assertion =
  | 'text-start'
  | 'text-end'
  | 'line-start'
  | 'line-end'
  | 'boundary'
  | 'no-boundary';

/** A parsed regular expression. */
export type RegexpNode =
  | { readonly kind: 'set'; readonly set: CharacterSet }
  | { readonly kind: 'assertion'; readonly assertion: Assertion }
  | { readonly kind: 'sequence'; readonly parts: readonly RegexpNode[] }
  | { readonly kind: 'choice'; readonly parts: readonly RegexpNode[] }
  /** `most` is Infinity where there is no end. */
  | {
      readonly kind: 'repeat';
      readonly body: RegexpNode;
      readonly least: number;
      readonly most: number;
      /** Whether as few as possible are taken: it finds the same texts, but other parts of them. */
      readonly lazy: boolean;
    }
  /** A capturing group, counted from 1. */
  | { readonly kind: 'group'; readonly index: number; readonly body: RegexpNode };

/** A regular expression with its groups. */
export interface RegexpTree {
  readonly root: RegexpNode;
  /** How many groups have a number. */
  readonly groups: number;
  readonly names: ReadonlyMap<string, number>;
}

/** Flags of a regular expression. */
export interface RegexpFlags {
  /** `i`: ignore case. */
  readonly ignoreCase: boolean;
  /** `m`: `^` and `$` match at line ends too. */
  readonly lines: boolean;
  /** `s`: the dot takes a line feed too. */
  readonly dotAll: boolean;
}
