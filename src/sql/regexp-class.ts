import type { RegexpReader } from './regexp-reader.ts';
import type { CharacterSet, SetItem } from './regexp-set.ts';
import { isPerlClass, setOf } from './regexp-set.ts';

const controls: ReadonlyMap<string, number> = new Map([
  ['n', 10],
  ['r', 13],
  ['t', 9],
  ['f', 12],
  ['v', 11],
  ['a', 7],
]);

/** Marks that stand for themselves behind a backslash. */
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

/** The character behind a backslash that has been read; the reader stands behind it. */
function parseEscapedCode(reader: RegexpReader, place: number): number {
  const letter = reader.next();
  const control = controls.get(letter);
  if (control !== undefined) {
    return control;
  }
  if (letter === 'x') {
    return parseHex(reader, place);
  }
  return marks.test(letter) && letter !== '<' && letter !== '>'
    ? letter.codePointAt(0)!
    : reader.fail('an escape such as \\d, \\w, \\s, \\b, \\n or \\.', place);
}

/** What a backslash stands before: a class such as `\d`, or one character. */
export function parseEscape(reader: RegexpReader): SetItem {
  const place = reader.place;
  reader.next();
  if (isPerlClass(reader.peek())) {
    return reader.next();
  }
  const code = parseEscapedCode(reader, place);
  return [code, code];
}

/** One end of a range. */
function parseEnd(reader: RegexpReader): number {
  const place = reader.place;
  if (reader.take('\\')) {
    return parseEscapedCode(reader, place);
  }
  const pair = reader.peek() + reader.peek(1);
  if (reader.peek() === '[' || pair === '&&' || pair === '--' || pair === '~~') {
    return reader.fail('a character of a class', place);
  }
  return reader.next().codePointAt(0) ?? reader.fail('] behind the characters of a class', place);
}

function parseItem(reader: RegexpReader): SetItem {
  if (reader.peek() === '\\' && isPerlClass(reader.peek(1))) {
    return parseEscape(reader);
  }
  const place = reader.place;
  const from = parseEnd(reader);
  const isRange = reader.peek() === '-' && reader.peek(1) !== ']' && reader.peek(1) !== '-';
  if (!isRange) {
    return [from, from];
  }
  reader.next();
  const to = parseEnd(reader);
  return to < from ? reader.fail('a range from a lower to a higher character', place) : [from, to];
}

/** Reads `[a-z\d]` or `[^a-z]`. A `]` that stands first is one of the characters. */
export function parseClass(reader: RegexpReader, ignoreCase: boolean): CharacterSet {
  reader.next();
  const negated = reader.take('^');
  const items: SetItem[] = [];
  while (items.length === 0 || reader.peek() !== ']') {
    items.push(parseItem(reader));
  }
  reader.next();
  return setOf(items, { negated, ignoreCase });
}
