import { parseDate, parseTime, parseTimestamp } from '../values/calendar.ts';
import type { TokenCursor } from './cursor.ts';
import { excerpt, SqlError } from '../values/sql-error.ts';
import type { LiteralValue } from '../values/expression.ts';
import { isIntervalUnit, parseInterval } from '../values/interval.ts';
import type { Token } from './tokens.ts';

/** The digits that a decimal of 128 bits holds. */
const maxDigits = 38;

/** The value of a number token. A whole number stays exact at any size up to 38 digits. */
function numberValue(token: Token, negative: boolean): LiteralValue {
  const sign = negative ? '-' : '';
  if (!/^\d+$/.test(token.text)) return { type: 'number', text: sign + token.text };
  const digits = token.text.replace(/^0+(?=\d)/, '');
  if (digits.length > maxDigits) {
    const message = `expected a whole number of at most ${maxDigits} digits, found ${digits.length} digits`;
    throw new SqlError('overflow', message, token.position);
  }
  return { type: 'integer', value: BigInt(sign + digits) };
}

function malformed(token: Token, expected: string): SqlError {
  return new SqlError(
    'value',
    `expected ${expected}, found '${excerpt(token.text)}'`,
    token.position,
  );
}

function dateValue(token: Token): LiteralValue {
  const days = parseDate(token.text);
  if (days === undefined) throw malformed(token, 'a date such as 2024-02-29');
  return { type: 'date', days };
}

function timeValue(token: Token): LiteralValue {
  const nanoseconds = parseTime(token.text);
  if (nanoseconds === undefined) throw malformed(token, 'a time such as 23:59:59.5');
  return { type: 'time', nanoseconds };
}

function timestampValue(token: Token): LiteralValue {
  const stamp = parseTimestamp(token.text);
  if (stamp === undefined) throw malformed(token, 'a timestamp such as 2024-02-29 23:59:59');
  return { type: 'timestamp', ...stamp };
}

const typed: ReadonlyMap<string, (token: Token) => LiteralValue> = new Map([
  ['date', dateValue],
  ['time', timeValue],
  ['timestamp', timestampValue],
]);

const words: ReadonlyMap<string, LiteralValue> = new Map<string, LiteralValue>([
  ['null', { type: 'null' }],
  ['true', { type: 'boolean', value: true }],
  ['false', { type: 'boolean', value: false }],
]);

function parseIntervalLiteral(cursor: TokenCursor): LiteralValue {
  const token = cursor.next();
  const { kind, text } = cursor.peek();
  const unit = kind === 'name' && isIntervalUnit(text) ? cursor.next().text : undefined;
  const interval = parseInterval(token.text, unit);
  if (interval === undefined) throw malformed(token, "an interval such as '1 day 2 hours'");
  return { type: 'interval', interval };
}

/** `interval '1 day'`, or `interval 1 day` with a bare number. */
function atInterval(cursor: TokenCursor): boolean {
  const { kind } = cursor.peek(1);
  return cursor.atWord('interval') && (kind === 'string' || kind === 'number');
}

function parseWord(cursor: TokenCursor): LiteralValue | undefined {
  const word = cursor.peek().text.toLowerCase();
  const make = cursor.peek(1).kind === 'string' ? typed.get(word) : undefined;
  if (make !== undefined) {
    cursor.next();
    return make(cursor.next());
  }
  if (atInterval(cursor)) {
    cursor.next();
    return parseIntervalLiteral(cursor);
  }
  const value = words.get(word);
  if (value !== undefined) cursor.next();
  return value;
}

function parseSigned(cursor: TokenCursor): LiteralValue | undefined {
  if (!cursor.atSymbol('-') || cursor.peek(1).kind !== 'number') return undefined;
  cursor.next();
  return numberValue(cursor.next(), true);
}

const readers: Readonly<Record<Token['kind'], (cursor: TokenCursor) => LiteralValue | undefined>> =
  {
    number: (cursor) => numberValue(cursor.next(), false),
    string: (cursor) => ({ type: 'text', value: cursor.next().text }),
    binary: (cursor) => ({ type: 'binary', hex: cursor.next().text.toLowerCase() }),
    name: parseWord,
    symbol: parseSigned,
    quoted: () => undefined,
    parameter: () => undefined,
    end: () => undefined,
  };

/** Parses the literal at the cursor; undefined, without reading, if there is none. */
export function parseLiteral(cursor: TokenCursor): LiteralValue | undefined {
  return readers[cursor.peek().kind](cursor);
}
