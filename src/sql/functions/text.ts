import { Int32 } from 'apache-arrow';
import { boolType } from '../bound.ts';
import type { KernelCall } from '../bound.ts';
import type { BytesColumn } from '../column.ts';
import { SqlError } from '../errors.ts';
import { countCharacters, sliceCharacters, trimCharacters } from '../characters.ts';
import { maxTextBytes } from '../limits.ts';
import { textType } from '../literals.ts';
import { textTooLong } from '../text.ts';
import type { FunctionRow, Parameter } from './function-row.ts';
import { plainFunction } from './function-row.ts';
import type { Arguments, BytesTest } from './text-kernels.ts';
import { caseKernel, testBytes, toInt32, toText } from './text-kernels.ts';

const int32Type = new Int32();

function textRow(
  usage: string,
  parameters: readonly Parameter[],
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

function countRow(
  usage: string,
  parameters: readonly Parameter[],
  compute: (args: Arguments) => number,
): FunctionRow {
  return plainFunction({ usage, parameters, result: int32Type, kernel: toInt32(compute) });
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

/** Cuts the characters of the second argument, or blanks, off the ends that are asked for. */
function trim(args: Arguments, start: boolean, end: boolean): string {
  const trimmed = args.has(1) ? new Set(Array.from(args.text(1))) : blank;
  return trimCharacters(args.text(0), trimmed, { start, end });
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

/** The first or last `n` characters; a negative `n` leaves that many off at the other end. */
function side(args: Arguments, left: boolean): string {
  const text = args.text(0);
  const all = countCharacters(text);
  const wanted = args.integer(1);
  const count = clamp(wanted < 0n ? BigInt(all) + wanted : wanted, all);
  return left ? sliceCharacters(text, 0, count) : sliceCharacters(text, all - count, all);
}

function replace(args: Arguments, { position }: KernelCall): string {
  const [text, from, to] = [args.text(0), args.text(1), args.text(2)];
  if (from === '') {
    return text;
  }
  const parts = text.split(from);
  if (text.length + (parts.length - 1) * (to.length - from.length) > maxTextBytes) {
    throw textTooLong(position);
  }
  return parts.join(to);
}

function splitPart(args: Arguments, { position }: KernelCall): string {
  const [text, separator, place] = [args.text(0), args.text(1), args.integer(2)];
  if (place === 0n) {
    throw new SqlError('value', 'expected a part other than 0 in split_part, found 0', position);
  }
  const parts = separator === '' ? [text] : text.split(separator);
  const index = place > 0n ? place - 1n : BigInt(parts.length) + place;
  return index >= 0n && index < parts.length ? parts[Number(index)]! : '';
}

function checkedLength(length: bigint, position: number): number {
  if (length > maxTextBytes) {
    throw textTooLong(position);
  }
  return Number(length < 0n ? 0n : length);
}

/** Fills up to `n` characters on one side, or cuts what is more. */
function pad(args: Arguments, { position }: KernelCall, left: boolean): string {
  const text = args.text(0);
  const length = checkedLength(args.integer(1), position);
  const filler = Array.from(args.has(2) ? args.text(2) : ' ');
  const missing = filler.length === 0 ? 0 : Math.max(0, length - countCharacters(text));
  const whole = filler.join('').repeat(Math.floor(missing / Math.max(1, filler.length)));
  const padding = whole + filler.slice(0, missing % Math.max(1, filler.length)).join('');
  const kept = sliceCharacters(text, 0, length);
  return left ? padding + kept : kept + padding;
}

function repeat(args: Arguments, { position }: KernelCall): string {
  const [text, count] = [args.text(0), args.integer(1)];
  return text.repeat(
    checkedLength(count * BigInt(Math.max(1, text.length)), position) / Math.max(1, text.length),
  );
}

function strpos(args: Arguments): number {
  const [text, part] = [args.text(0), args.text(1)];
  const found = text.indexOf(part);
  return found < 0 ? 0 : countCharacters(text.slice(0, found)) + 1;
}

/** Whether the part's bytes stand in the text at `from`; the caller knows that they fit. */
function standsAt(texts: BytesColumn, parts: BytesColumn, row: number, from: number): boolean {
  const start = parts.starts[row]!;
  const size = parts.ends[row]! - start;
  for (let at = 0; at < size; at++) {
    if (texts.bytes[from + at] !== parts.bytes[start + at]) {
      return false;
    }
  }
  return true;
}

function sizeAt(column: BytesColumn, row: number): number {
  return column.ends[row]! - column.starts[row]!;
}

const startsWith: BytesTest = (texts, parts, row) =>
  sizeAt(parts, row) <= sizeAt(texts, row) && standsAt(texts, parts, row, texts.starts[row]!);

const endsWith: BytesTest = (texts, parts, row) =>
  sizeAt(parts, row) <= sizeAt(texts, row) &&
  standsAt(texts, parts, row, texts.ends[row]! - sizeAt(parts, row));

function bufferAt({ bytes, starts }: BytesColumn, row: number, size: number): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset + starts[row]!, size);
}

const contains: BytesTest = (texts, parts, row) => {
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
  reverse: textRow('reverse(text)', ['text'], (args) =>
    Array.from(args.text(0)).reverse().join(''),
  ),
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
