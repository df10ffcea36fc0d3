import { endAt, sizeAt, startAt } from '../../arrow/spans.ts';
import { kernelOf, type Bound, type Kernel, type KernelCall } from '../evaluate/bound.ts';
import { CodePoints } from '../patterns/like-column.ts';
import type { BytesColumn } from '../values/column.ts';
import { listType } from '../bind/element.ts';
import { SqlError, excerpt } from '../values/sql-error.ts';
import { int64Type, textType } from '../cast/literals.ts';
import { call } from '../evaluate/node.ts';
import { RegexpSearch, type Match } from '../patterns/regexp-search.ts';
import type { RegexpFlags } from '../patterns/regexp-set.ts';
import { allValid, buildTexts, textColumnOf, textAt } from '../values/text.ts';
import { bigintsOf } from '../values/widen.ts';
import { checkCount, fitArgument, type FunctionCall, type FunctionRow } from './function-row.ts';
import { buildLists, tooManyElements } from './list-builder.ts';
import { checkTextLength } from './text.ts';
import { maxListElements, maxTextLengthen } from '../values/limits.ts';
import { hold, room, spend } from '../values/meter.ts';
import { flagsOf } from '../patterns/parse-regexp.ts';

const noFlags: RegexpFlags = { ignoreCase: false, lines: false, dotAll: false };

/** The flags of a function, and whether `g` is among them. */
interface Flags {
  readonly flags: RegexpFlags;
  readonly global: boolean;
}

/** The flags in argument `at`, a literal such as `'i'`; null means no flags. Throws SqlError `value` for other letters. */
export function flagsArgument(
  usage: string,
  { name, arguments: args }: FunctionCall,
  at: number,
  mayBeGlobal: boolean,
): Flags {
  const given = args[at - 1];
  const argument = given === undefined ? undefined : fitArgument(usage, 'text', given, at);
  if (argument === undefined || (argument.kind === 'literal' && argument.value === null)) {
    return { flags: noFlags, global: false };
  }
  const text =
    argument.kind === 'literal' && typeof argument.value === 'string' ? argument.value : undefined;
  const global = mayBeGlobal && text?.includes('g') === true;
  const letters = global ? text.replaceAll('g', '') : text;
  const flags =
    letters === undefined || letters.includes('-') ? undefined : flagsOf(letters, noFlags);
  if (flags === undefined) {
    const shown = text === undefined ? 'no literal' : `'${excerpt(text)}'`;
    const flags = mayBeGlobal ? 'g, i, m and s' : 'i, m and s';
    const message = `expected the letters ${flags} as the flags of ${name}, found ${shown}`;
    throw new SqlError('value', message, argument.position);
  }
  return { flags, global };
}

/** Limit of how often consecutive searches may read one character. */
const maxLooks = 16;

/** The texts of a column, and where a pattern matches in them. */
class Searcher {
  readonly #texts: BytesColumn;
  readonly #room = new CodePoints();
  readonly #position: number;
  readonly search: RegexpSearch;
  #start = 0;
  #row = 0;

  constructor(texts: BytesColumn, search: RegexpSearch, position: number) {
    this.#texts = texts;
    this.search = search;
    this.#position = position;
  }

  /** Goes to the text of a row. */
  open(row: number): void {
    this.#row = row;
    this.#room.read(this.#texts.bytes, startAt(this.#texts, row), endAt(this.#texts, row), false);
    this.#start = this.search.scanned;
  }

  /** In code points. */
  get length(): number {
    return this.#room.length;
  }

  /** In a text of ASCII a place is the offset of a byte. */
  #asciiSlice(from: number, to: number): string {
    const { buffer, byteOffset } = this.#texts.bytes;
    const start = byteOffset + startAt(this.#texts, this.#row);
    return Buffer.from(buffer, start + from, to - from).toString('latin1');
  }

  /** The text from one place to another. */
  slice(from: number, to: number): string {
    spend((to - from) * 4);
    if (this.length === sizeAt(this.#texts, this.#row)) return this.#asciiSlice(from, to);
    const { codes } = this.#room;
    let text = '';
    for (let at = from; at < to; at += 4096) {
      text += String.fromCodePoint(...codes.subarray(at, Math.min(to, at + 4096)));
    }
    return text;
  }

  /** Throws SqlError `limit` for a text in which the pattern looks for its matches too long. */
  find(from: number): Match | undefined {
    const match = this.search.find(this.#room.codes, this.#room.length, from);
    const looks = this.search.scanned - this.#start;
    if (looks > this.length * maxLooks + 1024) {
      const message = `expected a regular expression that looks at each character at most ${maxLooks} times, found more`;
      throw new SqlError('limit', message, this.#position);
    }
    return match;
  }

  /** The non-overlapping matches from a position on; an empty match does not directly follow another match. */
  *matches(from: number): Generator<Match> {
    let behind = -1;
    for (let at = from; at <= this.length;) {
      const match = this.find(at);
      if (match === undefined) return;
      const [start, end] = [match[0]!, match[1]!];
      if (start < end || start !== behind) {
        yield match;
        behind = end;
      }
      at = start === end ? end + 1 : end;
    }
  }
}

/** A pattern and its flags. */
interface Pattern {
  /** Compiled at bind time if the pattern is a literal. */
  readonly fixed: RegexpSearch | undefined;
  readonly flags: RegexpFlags;
  readonly position: number;
}

/** The search of each row's pattern; consecutive equal patterns are compiled once. */
function searcherOf(
  texts: BytesColumn,
  patterns: BytesColumn,
  { fixed, flags, position }: Pattern,
): (row: number) => Searcher {
  let last: { readonly pattern: string; readonly searcher: Searcher } | undefined;
  const whole = fixed === undefined ? undefined : new Searcher(texts, fixed, position);
  return (row) => {
    const pattern = whole === undefined ? textAt(patterns, row) : '';
    if (whole === undefined && last?.pattern !== pattern) {
      const search = new RegexpSearch(pattern, flags, position);
      last = { pattern, searcher: new Searcher(texts, search, position) };
    }
    const found = whole ?? last!.searcher;
    found.open(row);
    return found;
  };
}

function patternOf(pattern: Bound, flags: RegexpFlags): Pattern {
  const { position } = pattern;
  const written =
    pattern.kind === 'literal' && typeof pattern.value === 'string' ? pattern.value : undefined;
  const fixed = written === undefined ? undefined : new RegexpSearch(written, flags, position);
  return { fixed, flags, position };
}

/** A piece of a replacement: text, or a group by its number or name. */
type Piece = string | { readonly group: string };

const reference = /\$\$|\$\{([^}]*)\}|\$(\w+)|\\(\d*)/g;

/** `$1`, `${name}` and, as in PostgreSQL, `\1` are groups, `$$` is a dollar. */
function piecesOf(replacement: string): readonly Piece[] {
  spend(replacement.length * 8);
  room(replacement.length * 32);
  const pieces: Piece[] = [];
  let end = 0;
  for (const found of replacement.matchAll(reference)) {
    pieces.push(replacement.slice(end, found.index));
    const group = found[1] ?? found[2] ?? found[3];
    pieces.push(group === undefined ? '$' : { group });
    end = found.index + found[0].length;
  }
  return [...pieces, replacement.slice(end)];
}

/** The text of a group; empty if the group does not exist or did not match. */
function groupText(searcher: Searcher, match: Match, group: string): string {
  const { names } = searcher.search;
  const index = /^\d+$/.test(group) ? Number(group) : names.get(group);
  const start = index === undefined ? -1 : (match[index * 2] ?? -1);
  return start < 0 ? '' : searcher.slice(start, match[index! * 2 + 1]!);
}

function replaced(
  searcher: Searcher,
  pieces: readonly Piece[],
  all: boolean,
  made: KernelCall,
): string {
  const parts: string[] = [];
  let [end, size] = [0, 0];
  const put = (part: string): void => {
    size += part.length;
    spend(part.length + 16);
    if (size > maxTextLengthen) checkTextLength(size, made);
    if (parts.length % 1024 === 0) room(size * 4 + parts.length * 32);
    parts.push(part);
  };
  for (const match of searcher.matches(0)) {
    put(searcher.slice(end, match[0]!));
    for (const piece of pieces) {
      put(typeof piece === 'string' ? piece : groupText(searcher, match, piece.group));
    }
    end = match[1]!;
    if (!all) break;
  }
  put(searcher.slice(end, searcher.length));
  return parts.join('');
}

function replaceKernel(pattern: Pattern, all: boolean): Kernel {
  return kernelOf(3, ([text, patterns, replacement], made) => {
    const [texts, forms, puts] = [
      textColumnOf(text),
      textColumnOf(patterns),
      textColumnOf(replacement),
    ];
    const find = searcherOf(texts, forms, pattern);
    let last: { readonly text: string; readonly pieces: readonly Piece[] } | undefined;
    return buildTexts(made.length, allValid([texts, forms, puts]), made.position, (row) => {
      const put = textAt(puts, row);
      if (last?.text !== put) last = { text: put, pieces: piecesOf(put) };
      return replaced(find(row), last.pieces, all, made);
    });
  });
}

const replaceUsage = "regexp_replace(text, pattern, replacement[, 'flags'])";

/** Replaces the first match, with the flag `g` every match. */
const replaceRow: FunctionRow = {
  usage: replaceUsage,
  bind(made) {
    checkCount(replaceUsage, made, 3, 4);
    const { flags, global } = flagsArgument(replaceUsage, made, 4, true);
    const args = textArguments(replaceUsage, made, 3);
    const kernel = replaceKernel(patternOf(args[1]!, flags), global);
    return partCall(made, textType, args, kernel);
  },
};

function textArguments(usage: string, made: FunctionCall, count: number): readonly Bound[] {
  return made.arguments
    .slice(0, count)
    .map((argument, at) => fitArgument(usage, 'text', argument, at + 1));
}

function partCall(
  { name, position }: FunctionCall,
  type: Bound['type'],
  args: readonly Bound[],
  kernel: Kernel,
): Bound {
  return call({ name, type, arguments: args, kernel, position, fallible: true });
}

/** The texts of the groups of the first match, or the whole match if there are no groups. */
function matchKernel(pattern: Pattern): Kernel {
  return kernelOf(2, ([text, patterns], made) => {
    const [texts, forms] = [textColumnOf(text), textColumnOf(patterns)];
    const find = searcherOf(texts, forms, pattern);
    const present = allValid([texts, forms]);
    const valid = new Uint8Array(made.length);
    const pieces: string[] = [];
    const sizes = valid.map(() => 0);
    const counts = Array.from(sizes);
    for (let row = 0; row < made.length; row++) {
      const searcher = present === null || present[row] === 1 ? find(row) : undefined;
      const match = searcher?.find(0);
      if (searcher !== undefined && match !== undefined) {
        valid[row] = 1;
        const { groups } = searcher.search;
        for (let group = groups === 0 ? 0 : 1; group <= groups; group++) {
          if (match[group * 2]! >= 0) {
            hold((match[group * 2 + 1]! - match[group * 2]!) * 2 + 40);
            pieces.push(searcher.slice(match[group * 2]!, match[group * 2 + 1]!));
            counts[row]!++;
          }
        }
      }
      if (pieces.length > maxListElements) throw tooManyElements(made);
    }
    const found = buildTexts(pieces.length, null, made.position, (at) => pieces[at]!);
    let next = 0;
    return buildLists(found, valid, made, (row, emit) => {
      for (const end = next + counts[row]!; next < end; next++) emit(next);
    });
  });
}

/** `regexp_match` outside of predicates: a list of texts, null without a match. */
export function bindRegexpMatch(usage: string, made: FunctionCall): Bound {
  checkCount(usage, made, 2, 3);
  const { flags } = flagsArgument(usage, made, 3, false);
  const args = textArguments(usage, made, 2);
  return partCall(made, listType(textType), args, matchKernel(patternOf(args[1]!, flags)));
}

/** A place in a text, counted from 1. */
function startOf(starts: ArrayLike<bigint> | undefined, row: number, made: KernelCall): number {
  const start = starts?.[row] ?? 1n;
  if (start < 1n) {
    const message = `expected a start of 1 or more in ${made.name}, found ${start}`;
    throw new SqlError('value', message, made.position);
  }
  return start > 0x7fff_ffffn ? 0x7fff_ffff : Number(start);
}

/** Computes a number from the matches of a row. */
type Measure = (searcher: Searcher, start: number, wanted: bigint) => number;

/** An empty pattern matches nothing here, as in DataFusion. */
const countMatches: Measure = (searcher, start) => {
  let count = 0;
  for (const match of searcher.matches(start)) count += match[0] === match[1] ? 0 : 1;
  return count;
};

/** Position of the n-th match, counted from 1; 0 if there is none. */
const placeOfMatch: Measure = (searcher, start, wanted) => {
  let left = wanted;
  for (const match of searcher.matches(start)) {
    left--;
    if (left === 0n) return match[0]! + 1;
  }
  return 0;
};

function measureKernel(pattern: Pattern, measure: Measure): Kernel {
  return kernelOf(2, ([text, patterns, starts, numbers], made) => {
    const [texts, forms] = [textColumnOf(text), textColumnOf(patterns)];
    const find = searcherOf(texts, forms, pattern);
    const more = [starts, numbers].filter((column) => column !== undefined);
    const valid = allValid([texts, forms, ...more]);
    const [from, wanted] = [starts, numbers].map((column) =>
      column === undefined ? undefined : bigintsOf(column),
    );
    const values = new BigInt64Array(made.length);
    for (let row = 0; row < made.length; row++) {
      if (valid === null || valid[row] === 1) {
        const start = startOf(from, row, made) - 1;
        values[row] = BigInt(measure(find(row), start, wanted?.[row] ?? 1n));
      }
    }
    return { kind: 'bigint', length: made.length, values, valid };
  });
}

/** Row of a function with `integers` arguments after the pattern, then flags. */
function measureRow(usage: string, integers: number, measure: Measure): FunctionRow {
  return {
    usage,
    bind(made) {
      checkCount(usage, made, 2, 3 + integers);
      const { flags } = flagsArgument(usage, made, 3 + integers, false);
      const texts = textArguments(usage, made, 2);
      const numbers = made.arguments
        .slice(2, 2 + integers)
        .map((argument, at) => fitArgument(usage, 'integer', argument, at + 3));
      const kernel = measureKernel(patternOf(texts[1]!, flags), measure);
      return partCall(made, int64Type, [...texts, ...numbers], kernel);
    },
  };
}

/** Functions of the matches of regular expressions. */
export const regexpPartFunctions: Readonly<Record<string, FunctionRow>> = {
  regexp_replace: replaceRow,
  regexp_count: measureRow("regexp_count(text, pattern[, start[, 'flags']])", 1, countMatches),
  regexp_instr: measureRow(
    "regexp_instr(text, pattern[, start[, number[, 'flags']]])",
    2,
    placeOfMatch,
  ),
};
