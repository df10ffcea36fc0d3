import { excerpt, SqlError } from '../values/sql-error.ts';
import { maxTextLength } from '../values/limits.ts';

/**
 * One word of an expression's text. `text` is what the token means: the name
 * without its quotes, the string without its escapes, the digits of a binary.
 */
export interface Token {
  readonly kind:
    | 'name'
    | 'quoted'
    | 'string'
    | 'binary'
    | 'number'
    | 'symbol'
    | 'parameter'
    | 'end';
  readonly text: string;
  /** The 1-based character where the token starts. */
  readonly position: number;
}

const space = /[\s\uFEFF]+/y;
const parameter = /\$[1-9]\d{0,4}(?![\p{L}\p{N}_$])|\?/uy;
const name = /[\p{L}_][\p{L}\p{M}\p{N}_$]*/uy;
const number = /(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?/y;
const letter = /[\p{L}_]/uy;
const symbol = /<=|>=|<>|!=|==|\|\||::|[()[\],.+\-*/%=<>:]/y;
const comment = /--|\/\*/y;

/** The text read so far, and the characters outside the basic plane in it. */
interface Reader {
  readonly text: string;
  index: number;
  astral: number;
}

function match(reader: Reader, pattern: RegExp): string | undefined {
  pattern.lastIndex = reader.index;
  return pattern.exec(reader.text)?.[0];
}

function here(reader: Reader): number {
  return reader.index + 1 - reader.astral;
}

/** Moves past `text`; a surrogate pair is one character of a position. */
function advance(reader: Reader, end: number): void {
  for (let index = reader.index; index < end; index++) {
    const unit = reader.text.charCodeAt(index);
    if (unit >= 0xd800 && unit < 0xdc00) reader.astral++;
  }
  reader.index = end;
}

/** The quoted piece that starts at the reader; the quote is doubled inside. */
function readQuoted(reader: Reader, quote: string, what: string): string {
  const start = here(reader);
  const pieces: string[] = [];
  let from = reader.index + 1;
  for (;;) {
    const close = reader.text.indexOf(quote, from);
    if (close < 0) {
      throw new SqlError(
        'syntax',
        `expected ${quote} to end ${what}, found the end of the text`,
        start,
      );
    }
    pieces.push(reader.text.slice(from, close));
    if (reader.text[close + 1] !== quote) {
      advance(reader, close + 1);
      return pieces.join(quote);
    }
    from = close + 2;
  }
}

function readNumber(reader: Reader, text: string): Token {
  const position = here(reader);
  advance(reader, reader.index + text.length);
  const next = match(reader, letter);
  if (next !== undefined) {
    throw new SqlError(
      'syntax',
      `expected the number ${excerpt(text)} to end, found "${next}"`,
      here(reader),
    );
  }
  return { kind: 'number', text, position };
}

function readBinary(reader: Reader): Token {
  const position = here(reader);
  advance(reader, reader.index + 1);
  const text = readQuoted(reader, "'", 'the binary literal');
  if (text.length % 2 !== 0 || !/^[0-9a-fA-F]*$/.test(text)) {
    throw new SqlError(
      'syntax',
      `expected pairs of hexadecimal digits in X'...', found '${excerpt(text)}'`,
      position,
    );
  }
  return { kind: 'binary', text, position };
}

/** Kinds of ASCII characters, for the tokens that most expressions are made of. */
const OTHER = 0;
const DIGIT = 1;
const WORD = 2;
const ALONE = 3;
const SPACE = 4;
const COMPARING = 5;

const kinds = new Uint8Array(128);
for (const unit of Buffer.from('0123456789')) kinds[unit] = DIGIT;
for (const unit of Buffer.from('abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_'))
  kinds[unit] = WORD;
for (const unit of Buffer.from('()[],+*%')) kinds[unit] = ALONE;
for (const unit of Buffer.from(' \t\n\v\f\r')) kinds[unit] = SPACE;
for (const unit of Buffer.from('=<>!')) kinds[unit] = COMPARING;

/** The kind of a character; `OTHER` behind the end too. */
function kindAt(text: string, index: number): number {
  return kinds[text.charCodeAt(index)] ?? OTHER;
}

/**
 * A word, a whole number or a symbol of ASCII characters that ends before a blank, a symbol or the end of the text;
 * undefined for any other token. Regular expressions take five times as long.
 */
function plainToken(reader: Reader): Token | undefined {
  const { text, index: start } = reader;
  const kind = kindAt(text, start);
  let end = start + 1;
  if (kind === COMPARING)
    return kindAt(text, end) === COMPARING || text[start] === '!'
      ? undefined
      : taken(reader, 'symbol', end);
  if (kind === WORD) while (kindAt(text, end) === WORD || kindAt(text, end) === DIGIT) end++;
  if (kind === DIGIT) while (kindAt(text, end) === DIGIT) end++;
  if (kind === OTHER || (kind !== ALONE && !isEndOfPlain(text, end))) return undefined;
  return taken(reader, kind === WORD ? 'name' : kind === DIGIT ? 'number' : 'symbol', end);
}

/** Whether no character at a position can continue a word or a number. */
function isEndOfPlain(text: string, at: number): boolean {
  const kind = kindAt(text, at);
  return at >= text.length || kind === SPACE || kind === ALONE || kind === COMPARING;
}

function taken(reader: Reader, kind: Token['kind'], end: number): Token {
  const token = { kind, text: reader.text.slice(reader.index, end), position: here(reader) };
  reader.index = end;
  return token;
}

const quotes: Readonly<Record<string, { kind: Token['kind']; what: string }>> = {
  "'": { kind: 'string', what: 'the string' },
  '`': { kind: 'quoted', what: 'the quoted name' },
  '"': { kind: 'quoted', what: 'the quoted name' },
};

function readToken(reader: Reader): Token {
  const position = here(reader);
  const first = reader.text[reader.index]!;
  const quote = Object.hasOwn(quotes, first) ? quotes[first] : undefined;
  if (quote !== undefined) {
    const text = readQuoted(reader, first, quote.what);
    if (quote.kind === 'quoted' && text === '') {
      throw new SqlError('syntax', 'expected a name between the quotes, found nothing', position);
    }
    return { kind: quote.kind, text, position };
  }
  if (/[xX]/.test(first) && reader.text[reader.index + 1] === "'") return readBinary(reader);
  const digits = match(reader, number);
  return digits === undefined ? readWord(reader, position) : readNumber(reader, digits);
}

function readWord(reader: Reader, position: number): Token {
  if (match(reader, comment) !== undefined) {
    throw new SqlError('syntax', 'expected an expression, found a comment', position);
  }
  const placeholder = match(reader, parameter);
  const word = placeholder ?? match(reader, name);
  const text = word ?? match(reader, symbol);
  if (text === undefined) {
    const found = String.fromCodePoint(reader.text.codePointAt(reader.index)!);
    throw new SqlError(
      'syntax',
      `expected an expression, found the character "${found}"`,
      position,
    );
  }
  advance(reader, reader.index + text.length);
  const kind = placeholder === undefined ? 'name' : 'parameter';
  return { kind: word === undefined ? 'symbol' : kind, text, position };
}

function skipSpace(reader: Reader): void {
  while (kindAt(reader.text, reader.index) === SPACE) reader.index++;
  if (reader.text.charCodeAt(reader.index) >= kinds.length)
    reader.index += match(reader, space)?.length ?? 0;
}

/**
 * Reads the tokens of an expression's text one by one; after the last come
 * `end` tokens. Comments are refused: a predicate that is put together from
 * parts must not lose its rest to one. Throws SqlError `syntax`, and `limit`
 * for a text above 1 MiB.
 */
export function tokenReader(text: string): () => Token {
  if (text.length > maxTextLength) {
    const message = `expected at most ${maxTextLength} characters, found ${text.length}`;
    throw new SqlError('limit', message, maxTextLength + 1);
  }
  const reader: Reader = { text, index: 0, astral: 0 };
  return () => {
    skipSpace(reader);
    return reader.index < text.length
      ? (plainToken(reader) ?? readToken(reader))
      : { kind: 'end', text: '', position: here(reader) };
  };
}
