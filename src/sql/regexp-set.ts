import { foldCase } from './like.ts';

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
export type Range = readonly [from: number, to: number];

/** A part of a set: a range, or a class such as `\d` by its letter. */
export type SetItem = Range | string;

/** What `\d`, `\w` and `\s` stand for: Unicode's characters, as UTS 18 has them. */
const perlClasses: Readonly<Record<string, RegExp>> = {
  d: /^\p{Nd}$/u,
  w: /^[\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\p{Join_Control}]$/u,
  s: /^\p{White_Space}$/u,
};

/** Whether a letter behind a backslash names a class. */
export function isPerlClass(letter: string): boolean {
  return /^[dwsDWS]$/.test(letter);
}

function inPerlClass(letter: string, character: string): boolean {
  const lower = letter.toLowerCase();
  return perlClasses[lower]!.test(character) === (letter === lower);
}

/** Whether a character is one of `\w`, between which `\b` finds no boundary. */
export function isWord(code: number): boolean {
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
  // Of a single character the other cases are known; a range is asked with the cases of the text's.
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
