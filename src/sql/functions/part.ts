import { kernelOf, type Kernel, type KernelCall } from '../evaluate/bound.ts';
import { appendAll } from '../values/append.ts';
import { countCharacters, sliceCharacters } from '../values/characters.ts';
import { isValid } from '../values/column.ts';
import { listType } from '../bind/element.ts';
import { SqlError } from '../values/sql-error.ts';
import { maxListElements } from '../values/limits.ts';
import { hold, room, spend } from '../values/meter.ts';
import { textType } from '../cast/literals.ts';
import { call } from '../evaluate/node.ts';
import { constantColumn } from '../values/scalar.ts';
import { buildTexts, textColumnOf, textAt } from '../values/text.ts';
import { checkCount, fitArgument, type FunctionRow } from './function-row.ts';
import { buildLists, tooManyElements } from './list-builder.ts';
import { checkTextLength, countParts, countRow, textRow } from './text.ts';
import type { Arguments } from './text-kernels.ts';

const splitUsage = 'string_to_array(text, separator[, null])';

/** The pieces between separators; an empty separator gives the whole text, a null separator the characters. */
function piecesOf(text: string, separator: string | undefined): readonly string[] {
  if (separator === undefined) {
    room(text.length * 40);
    return Array.from(text);
  }
  room(Math.min(maxListElements, text.length / Math.max(1, separator.length)) * 40);
  return separator === '' ? [text] : text.split(separator, maxListElements + 1);
}

const splitKernel: Kernel = kernelOf(2, ([column, separator, nulls], made) => {
  const texts = textColumnOf(column);
  const [between, missing] = [separator, nulls].map((each) =>
    each === undefined ? undefined : textColumnOf(each),
  );
  const textOf = (from: typeof missing, row: number): string | undefined =>
    from !== undefined && isValid(from, row) ? textAt(from, row) : undefined;
  const pieces: string[] = [];
  const sizes = Array.from({ length: made.length }, (_, row) => {
    const own = isValid(texts, row) ? piecesOf(textAt(texts, row), textOf(between, row)) : [];
    if (pieces.length + own.length > maxListElements) throw tooManyElements(made);
    hold(own.length * 40);
    spend(own.length * 16);
    for (const piece of own) pieces.push(piece);
    return own.length;
  });
  const found = buildTexts(pieces.length, null, made.position, (at) => pieces[at]!);
  const elements = appendAll([found, constantColumn(textType, null, 1)]);
  let next = 0;
  return buildLists(elements, texts.valid, made, (row, emit) => {
    const nullText = textOf(missing, row);
    for (const end = next + sizes[row]!; next < end; next++) {
      emit(pieces[next] === nullText ? pieces.length : next);
    }
  });
});

const splitRow: FunctionRow = {
  usage: splitUsage,
  bind(made) {
    checkCount(splitUsage, made, 2, 3);
    return call({
      name: made.name,
      type: listType(textType),
      arguments: made.arguments.map((each, at) => fitArgument(splitUsage, 'text', each, at + 1)),
      kernel: splitKernel,
      position: made.position,
      fallible: true,
    });
  },
};

/** Everything before the n-th separator, or after it if counted from the end. */
function beforeSeparator(args: Arguments): string {
  const [text, separator, count] = [args.text(0), args.text(1), args.integer(2)];
  if (separator === '' || count === 0n) return '';
  const step = count > 0n ? 1 : -1;
  let at = step > 0 ? -separator.length : text.length;
  for (let left = count > 0n ? count : -count; left > 0n; left--) {
    // Below 0 `lastIndexOf` would begin at 0 again.
    const from = step > 0 ? at + separator.length : at - 1;
    at =
      step > 0 ? text.indexOf(separator, from) : from < 0 ? -1 : text.lastIndexOf(separator, from);
    spend(8);
    if (at < 0) return text;
  }
  return step > 0 ? text.slice(0, at) : text.slice(at + separator.length);
}

/** Position of a text in a comma-separated list, 0 if it is missing. */
function placeInSet(args: Arguments): number {
  const [text, set] = [args.text(0), args.text(1)];
  const found = set === '' || text.includes(',') ? -1 : `,${set},`.indexOf(`,${text},`);
  return found < 0 ? 0 : countParts(set.slice(0, found), ',') + 1;
}

/** The part from `start` on, is replaced by the new part: as many characters as given, by default the length of the new part. */
function overlay(args: Arguments, made: KernelCall): string {
  const [text, part, start] = [args.text(0), args.text(1), args.integer(2)];
  const length = args.has(3) ? args.integer(3) : BigInt(countCharacters(part));
  if (start < 1n || length < 0n) {
    const found = start < 1n ? `a start of ${start}` : `a length of ${length}`;
    const message = `expected a start of 1 or more and a length of 0 or more in overlay, found ${found}`;
    throw new SqlError('value', message, made.position);
  }
  const all = countCharacters(text);
  const clamp = (place: bigint): number => Number(place > BigInt(all) ? BigInt(all) : place);
  const [from, to] = [clamp(start - 1n), clamp(start - 1n + length)];
  return sliceCharacters(text, 0, from) + part + sliceCharacters(text, to, all);
}

/** Limit of the work of one comparison: the product of the lengths of both texts. */
const maxSteps = 16_777_216;

/** Levenshtein distance of two texts. */
function levenshtein(args: Arguments, made: KernelCall): number {
  const [first, second] = [args.text(0), args.text(1)];
  const [rows, columns] = [countCharacters(first), countCharacters(second)];
  if (rows * columns > maxSteps) {
    const found = `${rows} and ${columns}`;
    const message = `expected texts of which the lengths make at most ${maxSteps} in levenshtein, found ${found} characters`;
    throw new SqlError('limit', message, made.position);
  }
  room((rows + columns) * 24);
  const [left, right] = [Array.from(first), Array.from(second)];
  let row = Uint32Array.from({ length: right.length + 1 }, (_, at) => at);
  for (const [above, character] of left.entries()) {
    spend(row.length * 4);
    const next = new Uint32Array(row.length);
    next[0] = above + 1;
    for (let at = 1; at < row.length; at++) {
      const replaced = row[at - 1]! + (right[at - 1] === character ? 0 : 1);
      next[at] = Math.min(replaced, row[at]! + 1, next[at - 1]! + 1);
    }
    row = next;
  }
  return row[right.length]!;
}

const substringIndexRow = textRow(
  'substring_index(text, separator, count)',
  ['text', 'text', 'integer'],
  beforeSeparator,
);

/** Functions of parts of texts: split, overlay, edit distance. */
export const partFunctions: Readonly<Record<string, FunctionRow>> = {
  string_to_array: splitRow,
  string_to_list: splitRow,
  substring_index: substringIndexRow,
  substr_index: substringIndexRow,
  find_in_set: countRow('find_in_set(text, set)', ['text', 'text'], placeInSet),
  overlay: textRow(
    'overlay(text, part, start[, length])',
    ['text', 'text', 'integer', 'integer'],
    (args, made) => {
      const text = overlay(args, made);
      checkTextLength(text.length, made);
      return text;
    },
    { required: 3, fallible: true },
  ),
  levenshtein: countRow('levenshtein(text, text)', ['text', 'text'], levenshtein, true),
};
