import type { Kernel, KernelCall } from '../evaluate/bound.ts';
import { isValid, validOf } from '../values/column.ts';
import { asText } from '../bind/concatenate.ts';
import { SqlError } from '../values/sql-error.ts';
import { room, spend } from '../values/meter.ts';
import { textType } from '../cast/literals.ts';
import { call } from '../evaluate/node.ts';
import { buildTexts, textColumnOf, textAt } from '../values/text.ts';
import { checkCount, plainFunction, type FunctionRow } from './function-row.ts';
import { checkTextLength, countRow, textRow } from './text.ts';
import { toText, type Arguments } from './text-kernels.ts';

/** The first letter of each word becomes upper-case, the others lower-case. */
function capitalise(text: string): string {
  spend(text.length * 8);
  room(text.length * 8);
  return text.replace(/[\p{Alphabetic}\p{N}]+/gu, (word) => {
    const first = String.fromCodePoint(word.codePointAt(0)!);
    return first.toUpperCase() + word.slice(first.length).toLowerCase();
  });
}

/** The character of a code point. A surrogate is half a character in UTF-16 and none by itself. */
function characterOf(args: Arguments, { position }: KernelCall): string {
  const code = args.integer(0);
  if (code < 0n || code > 0x10ffffn || (code >= 0xd800n && code < 0xe000n)) {
    const message = `expected the number of a Unicode character in chr, found ${code}`;
    throw new SqlError('value', message, position);
  }
  return String.fromCodePoint(Number(code));
}

/** Maps each character of `from` to the one of `to` at the same index, or to nothing. */
function substitutes(from: string, to: string): ReadonlyMap<string, string> {
  room(to.length * 16 + from.length * 100);
  spend((to.length + from.length) * 32);
  const map = new Map<string, string>();
  const characters = Array.from(to);
  for (const [at, character] of Array.from(from).entries()) {
    map.set(character, map.get(character) ?? characters[at] ?? '');
  }
  return map;
}

/** The map is reused for consecutive rows with the same arguments. */
const translateKernel: Kernel = (columns, made) => {
  let last: readonly [string, string, ReadonlyMap<string, string>] = ['', '', new Map()];
  const translate = (args: Arguments): string => {
    const [from, to] = [args.text(1), args.text(2)];
    if (last[0] !== from || last[1] !== to) last = [from, to, substitutes(from, to)];
    room(args.text(0).length * 32);
    const text = Array.from(args.text(0), (character) => last[2].get(character) ?? character);
    return text.join('');
  };
  return toText(translate)(columns, made);
};

const joinUsage = 'concat_ws(separator, value, ...)';

/** Joins the values that are not null; null if the separator is null. */
const joinKernel: Kernel = (columns, made) => {
  const [separators, ...texts] = columns.map(textColumnOf);
  return buildTexts(made.length, validOf(separators!), made.position, (row) => {
    const separator = textAt(separators!, row);
    const parts = texts.filter((text) => isValid(text, row)).map((text) => textAt(text, row));
    const size = parts.reduce((sum, part) => sum + part.length + separator.length, 0);
    checkTextLength(size, made);
    return parts.join(separator);
  });
};

const joinRow: FunctionRow = {
  usage: joinUsage,
  bind(made) {
    checkCount(joinUsage, made, 2, Infinity);
    return call({
      name: made.name,
      type: textType,
      arguments: made.arguments.map((argument) => asText(argument, argument.position)),
      kernel: joinKernel,
      position: made.position,
      fallible: true,
    });
  },
};

/** Functions of characters and their numbers, and of words. */
export const characterFunctions: Readonly<Record<string, FunctionRow>> = {
  ascii: countRow('ascii(text)', ['text'], (args) => args.text(0).codePointAt(0) ?? 0),
  bit_length: countRow('bit_length(text)', ['text'], (args) => Buffer.byteLength(args.text(0)) * 8),
  chr: textRow('chr(code)', ['integer'], characterOf, { fallible: true }),
  concat_ws: joinRow,
  initcap: textRow('initcap(text)', ['text'], (args) => capitalise(args.text(0))),
  to_hex: textRow('to_hex(integer)', ['integer'], (args) =>
    BigInt.asUintN(64, args.integer(0)).toString(16),
  ),
  translate: plainFunction({
    usage: 'translate(text, from, to)',
    parameters: ['text', 'text', 'text'],
    result: textType,
    kernel: translateKernel,
  }),
};
