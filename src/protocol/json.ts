import { parse } from 'lossless-json';
import { CatalogError } from './errors.ts';

/** A value of a JSON text. An integer is a bigint where a number would lose digits. */
export type JsonValue =
  | null
  | boolean
  | number
  | bigint
  | string
  | JsonValue[]
  | { [key: string]: JsonValue };

/** Maximum nesting depth of lists and objects. */
export const MAX_JSON_DEPTH = 256;
/** How many members all objects may have together. Objects of very many are slow to copy. */
export const MAX_JSON_MEMBERS = 65_536;

/**
 * The value of a JSON text (RFC 8259). Integers beyond 2^53-1 become bigints, every
 * other number is an ordinary one. A key that comes twice with two values is refused.
 * @throws CatalogError InvalidInput, with the position (from 0) of what is wrong.
 */
export function parseJson(text: string): JsonValue {
  const { members, longIntegers } = sizeOf(text);
  return (longIntegers ? undefined : parsedNatively(text, members)) ?? parsedLosslessly(text);
}

/**
 * The same by the runtime's own parser, which takes a tenth of the time; undefined for a text of
 * which it might lose something, or has another opinion.
 */
function parsedNatively(text: string, members: number): JsonValue | undefined {
  try {
    const value = JSON.parse(text) as JsonValue;
    // A duplicate key leaves one member; an infinite number was out of range.
    return membersOf(value) === members ? value : undefined;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/** How many members the objects of a value have together; NaN where a number is infinite. */
function membersOf(value: JsonValue): number {
  if (typeof value === 'number') return value - value;
  if (typeof value !== 'object' || value === null) return 0;
  let members = 0;
  if (Array.isArray(value)) {
    for (const entry of value) members += membersOf(entry);
    return members;
  }
  for (const entry of Object.values(value)) members += 1 + membersOf(entry);
  return members;
}

function parsedLosslessly(text: string): JsonValue {
  try {
    return parse(text, null, numberOf) as JsonValue;
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    throw new CatalogError('InvalidInput', `the text is not valid JSON: ${error.message}`);
  }
}

/**
 * A value as JSON text; a bigint is written as the number it is.
 * @throws TypeError when there is nothing to write.
 */
export function stringifyJson(value: unknown): string {
  const text = written(value);
  if (text === undefined) throw new TypeError('the value has no form in JSON');
  return text;
}

/** As `JSON.stringify` writes it, save for bigints. */
function written(value: unknown): string | undefined {
  if (typeof value === 'bigint') return String(value);
  if (typeof value === 'object') return value === null ? 'null' : writtenObject(value);
  if (typeof value === 'string' || typeof value === 'number') return JSON.stringify(value);
  return typeof value === 'boolean' ? String(value) : undefined;
}

function writtenObject(value: object): string | undefined {
  if ('toJSON' in value && typeof value.toJSON === 'function') return written(value.toJSON());
  if (Array.isArray(value)) {
    return `[${value.map((entry: unknown) => written(entry) ?? 'null').join(',')}]`;
  }
  let text = '';
  for (const [key, member] of Object.entries(value)) {
    const own = written(member);
    if (own !== undefined) text += `${text === '' ? '' : ','}${JSON.stringify(key)}:${own}`;
  }
  return `{${text}}`;
}

/** Whether a value is an object: neither null nor a list. */
export function isJsonObject(value: JsonValue | undefined): value is { [key: string]: JsonValue } {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

const INTEGER = /^-?\d+$/;

/**
 * The value of a number's text: a bigint for an integer that a number does not hold.
 * @throws CatalogError InvalidInput beyond the range of numbers.
 */
export function numberOf(text: string): number | bigint {
  const value = Number(text);
  if (!Number.isFinite(value)) {
    const shown = text.length > 40 ? `${text.slice(0, 40)}…` : text;
    throw new CatalogError('InvalidInput', `the number ${shown} is beyond the range of numbers`);
  }
  return INTEGER.test(text) && !Number.isSafeInteger(value) ? BigInt(text) : value;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COLON = 0x3a;

/** Minimum number of digits that a number may not hold exactly. */
const LONG_DIGITS = 16;

interface TextSize {
  /** How many members all objects have together. */
  readonly members: number;
  /** Whether there may be an integer that a number does not hold. */
  readonly longIntegers: boolean;
}

/** The parser calls itself for each level, so a text that is too deep must not reach it. */
function sizeOf(text: string): TextSize {
  let depth = 0;
  let members = 0;
  let longIntegers = false;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) at = endOfString(text, at);
    else if (code === COLON) members++;
    else if (isDigit(code)) {
      const start = at;
      while (isDigit(text.charCodeAt(at + 1))) at++;
      if (at - start >= LONG_DIGITS - 1 && text[start - 1] !== '.') longIntegers = true;
    } else depth += nesting(code);
    if (depth > MAX_JSON_DEPTH) throw tooDeep(at);
    if (members > MAX_JSON_MEMBERS) throw tooManyMembers(at);
  }
  return { members, longIntegers };
}

function isDigit(code: number): boolean {
  return code >= 0x30 && code <= 0x39;
}

/** The position of the quote that ends the string, or the end of the text. */
function endOfString(text: string, start: number): number {
  let at = start + 1;
  while (at < text.length && text.charCodeAt(at) !== QUOTE) {
    at += text.charCodeAt(at) === BACKSLASH ? 2 : 1;
  }
  return at;
}

function nesting(code: number): number {
  if (code === 0x5b || code === 0x7b) return 1;
  return code === 0x5d || code === 0x7d ? -1 : 0;
}

function tooDeep(position: number): CatalogError {
  return new CatalogError(
    'InvalidInput',
    `lists and objects are nested deeper than ${MAX_JSON_DEPTH} levels at position ${position}`,
  );
}

function tooManyMembers(position: number): CatalogError {
  return new CatalogError(
    'InvalidInput',
    `objects have more than ${MAX_JSON_MEMBERS} members at position ${position}`,
  );
}
