import { parseBlock, type AddressBlock } from './address.ts';
import type { Condition } from './condition.ts';
import { conflictIn } from './condition-conflict.ts';
import type { DayTerm, Term } from './term.ts';
import { daysOf, isTimeZone, type Weekday } from '../../rules/zone-clock.ts';

/** A piece of a condition: a mark (`==`, `!=`, `(`, `)`, `,`) or a word. */
interface Token {
  readonly kind: 'mark' | 'word' | 'quoted';
  readonly text: string;
  /** Where it stands. */
  readonly start: number;
  readonly end: number;
}

/** What a word may hold without quotes. */
const TOKEN = /\s*(?:(==|!=|[(),])|'([^']*)'|"([^"]*)"|([^\s,()'"=!<>&|]+))/y;

/** The pieces of a condition, or what is wrong with it. */
function tokensOf(text: string): readonly Token[] | string {
  const tokens: Token[] = [];
  const end = text.trimEnd().length;
  let at = 0;
  while (at < end) {
    TOKEN.lastIndex = at;
    const match = TOKEN.exec(text);
    if (match === null) {
      const rest = text.slice(at).trim();
      return `the condition cannot be read from ${JSON.stringify(rest)} on`;
    }
    const [whole, mark, single, double, word] = match;
    const kind = mark !== undefined ? 'mark' : word !== undefined ? 'word' : 'quoted';
    const read = mark ?? single ?? double ?? word ?? '';
    const start = at + whole.length - whole.trimStart().length;
    at += whole.length;
    tokens.push({ kind, text: read, start, end: at });
  }
  return tokens;
}

/** Either the condition (none if the text is blank), or one sentence that says what is wrong. */
export type ConditionResult =
  | { readonly condition: Condition | undefined }
  | { readonly fault: string };

/** Reads the `cond` column of a line (contract section 5). */
export function parseCondition(text: string): ConditionResult {
  const tokens = tokensOf(text);
  if (typeof tokens === 'string') return { fault: tokens };
  if (tokens.length === 0) return { condition: undefined };
  try {
    const terms = settleZones(new TermReader(text, tokens).read());
    const conflict = conflictIn(terms);
    if (conflict !== undefined) return { fault: `the condition can never hold: ${conflict}` };
    return { condition: { text: text.trim(), terms } };
  } catch (error) {
    if (error instanceof ConditionFault) return { fault: error.message };
    throw error;
  }
}

class ConditionFault extends Error {}

/** A term as it is read: days may name no zone. */
type ReadTerm = Exclude<Term, DayTerm> | (Omit<DayTerm, 'zone'> & { readonly zone: string | null });

/** Days without a zone are those of the condition's times, or else of UTC. */
function settleZones(terms: readonly ReadTerm[]): readonly Term[] {
  const zones = new Set(terms.flatMap((term) => (term.kind === 'time' ? [term.zone] : [])));
  return terms.map((term) => {
    if (term.kind !== 'day') return term;
    if (term.zone === null && zones.size > 1) {
      throw new ConditionFault(`say in which zone: ${term.text} ${[...zones].join(' or ')}`);
    }
    const [first = 'UTC'] = zones;
    return { ...term, zone: term.zone ?? first };
  });
}

const VARIABLES = 'ip, time, day, branch and ctx.KEY';

/** Reads terms from left to right; what does not fit is thrown as a `ConditionFault`. */
class TermReader {
  readonly #text: string;
  readonly #tokens: readonly Token[];
  #at = 0;

  constructor(text: string, tokens: readonly Token[]) {
    this.#text = text;
    this.#tokens = tokens;
  }

  read(): readonly ReadTerm[] {
    const terms = [this.#term()];
    while (this.#at < this.#tokens.length) {
      this.#word('and', 'terms are joined by and');
      terms.push(this.#term());
    }
    return terms;
  }

  #term(): ReadTerm {
    const start = this.#at;
    const variable = this.#next(`a term begins with one of ${VARIABLES}`);
    const kind = variable.kind === 'word' ? variable.text : '';
    if (kind === 'ip') return this.#addresses(start);
    if (kind === 'time') return this.#time(start);
    if (kind === 'day') return this.#days(start);
    if (kind === 'branch') return this.#value(start, null);
    if (kind.startsWith('ctx.')) return this.#value(start, contextKey(kind.slice('ctx.'.length)));
    throw new ConditionFault(
      `unknown variable ${JSON.stringify(variable.text)}: there are ${VARIABLES}`,
    );
  }

  #addresses(start: number): Term {
    this.#word('in', 'an address is asked for with ip in NETWORK');
    const blocks = this.#list('a network').map(blockOf);
    return { kind: 'ip', text: this.#since(start), blocks };
  }

  #time(start: number): Term {
    this.#word('in', 'a time is asked for with time in 08:00..18:00 ZONE');
    const window = this.#next('a window such as 08:00..18:00 follows time in').text;
    const [from, to] = minutesOf(window);
    const zone = this.#zone();
    if (zone === null) {
      throw new ConditionFault(`the window ${window} has no zone: write ${window} UTC`);
    }
    return { kind: 'time', text: this.#since(start), from, to, zone };
  }

  #days(start: number): ReadTerm {
    this.#word('in', 'days are asked for with day in mon..fri');
    const chosen = new Set(this.#list('a day').flatMap(namedDays));
    const zone = this.#zone();
    return { kind: 'day', text: this.#since(start), days: chosen, zone };
  }

  #value(start: number, key: string | null): Term {
    const name = this.#since(start);
    const mark = this.#next(`${name} is asked for with ==, != or in (…)`);
    const among = mark.text !== '!=';
    if (mark.kind === 'word' && mark.text === 'in') {
      if (this.#peek()?.text !== '(') throw new ConditionFault(`write ${name} in (…)`);
      const values = new Set(this.#list('a value'));
      return { kind: 'value', text: this.#since(start), key, values, among };
    }
    if (mark.kind !== 'mark' || (mark.text !== '==' && mark.text !== '!=')) {
      throw new ConditionFault(
        `${name} is asked for with ==, != or in (…), not ${JSON.stringify(mark.text)}`,
      );
    }
    const values = new Set([this.#valueText('a value')]);
    return { kind: 'value', text: this.#since(start), key, values, among };
  }

  /** Values between commas, in brackets or without. */
  #list(what: string): readonly string[] {
    const bracketed = this.#peek()?.text === '(' && this.#peek()?.kind === 'mark';
    if (bracketed) this.#at++;
    const values = [this.#valueText(what)];
    while (this.#isMark(',')) {
      this.#at++;
      values.push(this.#valueText(what));
    }
    if (bracketed) {
      if (!this.#isMark(')')) throw new ConditionFault('a bracket is not closed');
      this.#at++;
    }
    return values;
  }

  #valueText(what: string): string {
    const token = this.#next(`${what} is missing at the end`);
    if (token.kind === 'quoted') return token.text;
    if (token.kind === 'word' && token.text !== 'and') return token.text;
    throw new ConditionFault(`${what} is missing before ${JSON.stringify(token.text)}`);
  }

  #zone(): string | null {
    const token = this.#peek();
    if (token === undefined || (token.kind === 'word' && token.text === 'and')) return null;
    this.#at++;
    if (token.kind === 'word' && isTimeZone(token.text)) return token.text;
    throw new ConditionFault(
      `unknown time zone ${JSON.stringify(token.text)}: write UTC or a name such as Europe/Berlin`,
    );
  }

  #word(word: string, otherwise: string): void {
    const token = this.#next(otherwise);
    if (token.kind === 'word' && token.text === word) return;
    throw new ConditionFault(`${otherwise}, not ${JSON.stringify(token.text)}`);
  }

  #next(otherwise: string): Token {
    const token = this.#tokens[this.#at++];
    if (token === undefined) throw new ConditionFault(`the condition ends too early: ${otherwise}`);
    return token;
  }

  #peek(): Token | undefined {
    return this.#tokens[this.#at];
  }

  #isMark(text: string): boolean {
    const token = this.#peek();
    return token?.kind === 'mark' && token.text === text;
  }

  #since(start: number): string {
    return this.#text.slice(this.#tokens[start]!.start, this.#tokens[this.#at - 1]!.end);
  }
}

function contextKey(key: string): string {
  if (!/^[A-Za-z0-9!#$%&*+.^_`|~-]+$/.test(key)) {
    throw new ConditionFault(`ctx.${key} can never be there: its key is no name of a header`);
  }
  if (key === key.toLowerCase()) return key;
  throw new ConditionFault(`keys of the context are in lower case: write ctx.${key.toLowerCase()}`);
}

function blockOf(text: string): AddressBlock {
  const result = parseBlock(text);
  if ('fault' in result) throw new ConditionFault(result.fault);
  return result.block;
}

function minutesOf(window: string): readonly [number, number] {
  const match = /^(\d\d):(\d\d)\.\.(\d\d):(\d\d)$/.exec(window);
  const [, h1 = 99, m1 = 99, h2 = 99, m2 = 99] = (match ?? []).map(Number);
  const [from, to] = [h1 * 60 + m1, h2 * 60 + m2];
  if (m1 > 59 || m2 > 59 || from >= 1440 || to > 1440) {
    throw new ConditionFault(`${JSON.stringify(window)} is no window: write one like 08:00..18:00`);
  }
  if (from !== to) return [from, to];
  throw new ConditionFault(`the window ${window} is empty: the whole day is 00:00..24:00`);
}

function namedDays(text: string): readonly Weekday[] {
  const days = daysOf(text);
  if (days !== undefined) return days;
  throw new ConditionFault(
    `${JSON.stringify(text)} is no day: write mon, tue, wed, thu, fri, sat, sun or mon..fri`,
  );
}
