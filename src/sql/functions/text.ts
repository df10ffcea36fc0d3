import { endAt, firstDifference, sizeAt, startAt } from '../../arrow/spans.ts';
import { Int32 } from 'apache-arrow';
import { boolType, type KernelCall } from '../evaluate/bound.ts';
import type { BytesColumn } from '../values/column.ts';
import { SqlError } from '../values/sql-error.ts';
import { countCharacters, sliceCharacters, trimCharacters } from '../values/characters.ts';
import { maxTextLengthen } from '../values/limits.ts';
import { room, spend } from '../values/meter.ts';
import { textType } from '../cast/literals.ts';
import { plainFunction, type FunctionRow, type ArgumentKind } from './function-row.ts';
import {
  caseKernel,
  reverseKernel,
  testBytes,
  toInt32,
  toText,
  type Arguments,
  type BytesTest,
} from './text-kernels.ts';

const int32Type = new Int32();

/** The row of a function to text. */
export function textRow(
  usage: string,
  parameters: readonly ArgumentKind[],
  compute: (args: Arguments, call: KernelCall) => string,
  options: { readonly required?: number; readonly fallible?: boolean } = {},
): FunctionRow {
  return plainFunction({
    usage,
    parameters,
    result: textType,
    kernel: toText(compute),
    ...options,
  });
}

/** The row of a function to a count. */
export function countRow(
  usage: string,
  parameters: readonly ArgumentKind[],
  compute: (args: Arguments, call: KernelCall) => number,
  fallible = false,
): FunctionRow {
  return plainFunction({
    usage,
    parameters,
    result: int32Type,
    kernel: toInt32(compute),
    fallible,
  });
}

function caseRow(usage: string, convert: (text: string) => string): FunctionRow {
  return plainFunction({
    usage,
    parameters: ['text'],
    result: textType,
    kernel: caseKernel(convert),
  });
}

function testRow(usage: string, test: BytesTest): FunctionRow {
  return plainFunction({
    usage,
    parameters: ['text', 'text'],
    result: boolType,
    kernel: testBytes(test),
  });
}

const blank: ReadonlySet<string> = new Set([' ']);

/** Trims the characters of the second argument, or spaces, at the chosen ends. */
function trim(args: Arguments, start: boolean, end: boolean): string {
  const trimmed = args.has(1) ? charactersOf(args.text(1)) : blank;
  return trimCharacters(args.text(0), trimmed, { start, end });
}

function charactersOf(text: string): ReadonlySet<string> {
  spend(text.length * 16);
  room(text.length * 32);
  return new Set(text);
}

function clamp(place: bigint, most: number): number {
  return Number(place < 0n ? 0n : place > most ? BigInt(most) : place);
}

/** Positions are counted from 1; those before the text count towards the length. */
function substr(args: Arguments, { position }: KernelCall): string {
  const text = args.text(0);
  const count = countCharacters(text);
  const start = args.integer(1) - 1n;
  const length = args.has(2) ? args.integer(2) : BigInt(count) - (start < 0n ? start : 0n);
  if (length < 0n) {
    const message = `expected a length of 0 or more in substr, found ${length}`;
    throw new SqlError('value', message, position);
  }
  return sliceCharacters(text, clamp(start, count), clamp(start + length, count));
}

/** The first or last `n` characters; a negative `n` drops that many at the other end. */
function side(args: Arguments, left: boolean): string {
  const text = args.text(0);
  const all = countCharacters(text);
  const wanted = args.integer(1);
  const count = clamp(wanted < 0n ? BigInt(all) + wanted : wanted, all);
  return left ? sliceCharacters(text, 0, count) : sliceCharacters(text, all - count, all);
}

/** The error for a value that would become too long. */
export function checkTextLength(length: number | bigint, { name, position }: KernelCall): void {
  if (length > maxTextLengthen) {
    const message = `expected at most ${maxTextLengthen} characters from ${name}, found ${length}`;
    throw new SqlError('limit', message, position);
  }
  // The text and what it is put together from.
  room(Number(length) * 4);
  spend(Number(length));
}

/** Work of finding one part of a text. */
const PART_BYTES = 8;

/** Number of occurrences of a part, counted without splitting: the pieces might fill the memory. */
export function countParts(text: string, part: string): number {
  let count = 0;
  for (let at = text.indexOf(part); at >= 0; at = text.indexOf(part, at + part.length)) {
    spend(PART_BYTES);
    count++;
  }
  return count;
}

function replace(args: Arguments, call: KernelCall): string {
  const [text, from, to] = [args.text(0), args.text(1), args.text(2)];
  if (from === '') return text;
  if (to.length > from.length) {
    checkTextLength(text.length + countParts(text, from) * (to.length - from.length), call);
  }
  return text.replaceAll(from, () => to);
}

/** The n-th part, counted from 1; undefined if there are fewer. */
function partFrom(text: string, separator: string, place: bigint): string | undefined {
  let from = 0;
  for (let count = 1n; count < place; count++) {
    spend(PART_BYTES);
    const next = text.indexOf(separator, from);
    if (next < 0) return undefined;
    from = next + separator.length;
  }
  const end = text.indexOf(separator, from);
  return text.slice(from, end < 0 ? text.length : end);
}

function splitPart(args: Arguments, { position }: KernelCall): string {
  const [text, separator, place] = [args.text(0), args.text(1), args.integer(2)];
  if (place === 0n) {
    const message = 'expected a part other than 0 in split_part, found 0';
    throw new SqlError('value', message, position);
  }
  if (separator === '') return place === 1n || place === -1n ? text : '';
  const counted = place > 0n ? place : BigInt(countParts(text, separator)) + 2n + place;
  return counted < 1n ? '' : (partFrom(text, separator, counted) ?? '');
}

/** Pads to `n` characters on one side, or truncates. */
function pad(args: Arguments, call: KernelCall, left: boolean): string {
  const [text, length] = [args.text(0), args.integer(1)];
  const filler = args.has(2) ? args.text(2) : ' ';
  const [count, width] = [BigInt(countCharacters(text)), countCharacters(filler)];
  if (length <= count || width === 0) return sliceCharacters(text, 0, clamp(length, Number(count)));
  checkTextLength(length, call);
  const missing = Number(length - count);
  const rest = sliceCharacters(filler, 0, missing % width);
  const padding = filler.repeat(Math.floor(missing / width)) + rest;
  return left ? padding + text : text + padding;
}

function repeat(args: Arguments, call: KernelCall): string {
  const [text, count] = [args.text(0), args.integer(1)];
  if (count <= 0n || text === '') return '';
  checkTextLength(count * BigInt(text.length), call);
  return text.repeat(Number(count));
}

function strpos(args: Arguments): number {
  const [text, part] = [args.text(0), args.text(1)];
  const found = text.indexOf(part);
  return found < 0 ? 0 : countCharacters(text.slice(0, found)) + 1;
}

/** Whether the text has the part's bytes at `from`. The caller checks that they fit. */
function standsAt(texts: BytesColumn, parts: BytesColumn, row: number, from: number): boolean {
  const start = startAt(parts, row);
  const size = sizeAt(parts, row);
  spend(size);
  return firstDifference(texts.bytes, from, parts.bytes, start, size) === size;
}

const startsWith: BytesTest = (texts, parts, row) =>
  sizeAt(parts, row) <= sizeAt(texts, row) && standsAt(texts, parts, row, startAt(texts, row));

const endsWith: BytesTest = (texts, parts, row) =>
  sizeAt(parts, row) <= sizeAt(texts, row) &&
  standsAt(texts, parts, row, endAt(texts, row) - sizeAt(parts, row));

function bufferAt({ bytes, starts }: BytesColumn, row: number, size: number): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset + starts[row]!, size);
}

const contains: BytesTest = (texts, parts, row) => {
  spend(sizeAt(texts, row) + sizeAt(parts, row));
  const text = bufferAt(texts, row, sizeAt(texts, row));
  return text.includes(bufferAt(parts, row, sizeAt(parts, row)));
};

const length = countRow('length(text)', ['text'], (args) => countCharacters(args.text(0)));
const strposRow = countRow('strpos(text, part)', ['text', 'text'], strpos);
const trimRow = textRow(
  'trim(text[, characters])',
  ['text', 'text'],
  (args) => trim(args, true, true),
  { required: 1 },
);
const substrRow = textRow('substr(text, start[, length])', ['text', 'integer', 'integer'], substr, {
  required: 2,
  fallible: true,
});

/** Functions of texts. Lengths and places count characters, except in `octet_length`. */
export const textFunctions: Readonly<Record<string, FunctionRow>> = {
  lower: caseRow('lower(text)', (text) => text.toLowerCase()),
  upper: caseRow('upper(text)', (text) => text.toUpperCase()),
  length,
  char_length: length,
  character_length: length,
  octet_length: countRow('octet_length(text)', ['text'], (args) => Buffer.byteLength(args.text(0))),
  trim: trimRow,
  btrim: trimRow,
  ltrim: textRow('ltrim(text[, characters])', ['text', 'text'], (args) => trim(args, true, false), {
    required: 1,
  }),
  rtrim: textRow('rtrim(text[, characters])', ['text', 'text'], (args) => trim(args, false, true), {
    required: 1,
  }),
  substr: substrRow,
  left: textRow('left(text, count)', ['text', 'integer'], (args) => side(args, true)),
  right: textRow('right(text, count)', ['text', 'integer'], (args) => side(args, false)),
  replace: textRow('replace(text, from, to)', ['text', 'text', 'text'], replace, {
    fallible: true,
  }),
  reverse: plainFunction({
    usage: 'reverse(text)',
    parameters: ['text'],
    result: textType,
    kernel: reverseKernel,
  }),
  repeat: textRow('repeat(text, count)', ['text', 'integer'], repeat, { fallible: true }),
  lpad: textRow(
    'lpad(text, length[, filler])',
    ['text', 'integer', 'text'],
    (args, call) => pad(args, call, true),
    { required: 2, fallible: true },
  ),
  rpad: textRow(
    'rpad(text, length[, filler])',
    ['text', 'integer', 'text'],
    (args, call) => pad(args, call, false),
    { required: 2, fallible: true },
  ),
  split_part: textRow('split_part(text, separator, part)', ['text', 'text', 'integer'], splitPart, {
    fallible: true,
  }),
  strpos: strposRow,
  instr: strposRow,
  starts_with: testRow('starts_with(text, part)', startsWith),
  ends_with: testRow('ends_with(text, part)', endsWith),
  contains: testRow('contains(text, part)', contains),
};
