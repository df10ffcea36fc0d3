import { isTimeZone } from '../../rules/zone-clock.ts';

/** A piece of a condition: a mark (`==`, `!=`, `(`, `)`, `,`) or a word. */
interface Token {
  readonly kind: 'mark' | 'word' | 'quoted';
  readonly text: string;
  /** Position in the text. */
  readonly start: number;
  readonly end: number;
}

/** Characters of a word without quotes. */
const TOKEN = /\s*(?:(==|!=|[(),])|'([^']*)'|"([^"]*)"|([^\s,()'"=!<>&|]+))/y;

/** A condition that cannot be read; the message is one sentence that says what is wrong. */
export class ConditionFault extends Error {}

/** The pieces of a condition. @throws ConditionFault */
function tokensOf(text: string): readonly Token[] {
  const tokens: Token[] = [];
  const end = text.trimEnd().length;
  let at = 0;
  while (at < end) {
    TOKEN.lastIndex = at;
    const match = TOKEN.exec(text);
    if (match === null) {
      const rest = text.slice(at).trim();
      throw new ConditionFault(`the condition cannot be read from ${JSON.stringify(rest)} on`);
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

/** The values that a term lists, and whether the variable has to be among them (`==`, `in`) or not (`!=`). */
export interface TextMembership {
  readonly values: ReadonlySet<string>;
  readonly among: boolean;
}

/** Reads the text of a condition from left to right. Every method throws `ConditionFault` for what does not fit. */
export class TermReader {
  readonly #text: string;
  readonly #tokens: readonly Token[];
  #at = 0;

  /** @throws ConditionFault */
  constructor(text: string) {
    this.#text = text;
    this.#tokens = tokensOf(text);
  }

  get isAtEnd(): boolean {
    return this.#at >= this.#tokens.length;
  }

  /** The number of the next token: what `textSince` begins at. */
  get position(): number {
    return this.#at;
  }

  /** The text of the condition from the token at a position to the token that was read last. */
  textSince(position: number): string {
    return this.#text.slice(this.#tokens[position]!.start, this.#tokens[this.#at - 1]!.end);
  }

  /** Takes the next token. @param otherwise What the refusal of a condition that ends here says. */
  next(otherwise: string): Token {
    const token = this.#tokens[this.#at++];
    if (token === undefined) throw new ConditionFault(`the condition ends too early: ${otherwise}`);
    return token;
  }

  /** Takes this word, without quotes. @param otherwise What the refusal of any other says. */
  word(word: string, otherwise: string): void {
    const token = this.next(otherwise);
    if (token.kind === 'word' && token.text === word) return;
    throw new ConditionFault(`${otherwise}, not ${JSON.stringify(token.text)}`);
  }

  /** Takes values between commas, in brackets or without. @param what One of them, for the refusal. */
  list(what: string): readonly string[] {
    const bracketed = this.#isMark('(');
    if (bracketed) this.#at++;
    const values = [this.#value(what)];
    while (this.#isMark(',')) {
      this.#at++;
      values.push(this.#value(what));
    }
    if (bracketed) {
      if (!this.#isMark(')')) throw new ConditionFault('a bracket is not closed');
      this.#at++;
    }
    return values;
  }

  /** Takes `== VALUE`, `!= VALUE` or `in (VALUE, …)`. @param variable As it is written. */
  membership(variable: string): TextMembership {
    const mark = this.next(`${variable} is compared with ==, != or in (…)`);
    if (mark.kind === 'word' && mark.text === 'in') {
      if (this.#peek()?.text !== '(') throw new ConditionFault(`write ${variable} in (…)`);
      return { values: new Set(this.list('a value')), among: true };
    }
    if (mark.kind !== 'mark' || (mark.text !== '==' && mark.text !== '!=')) {
      throw new ConditionFault(
        `${variable} is compared with ==, != or in (…), not ${JSON.stringify(mark.text)}`,
      );
    }
    return { values: new Set([this.#value('a value')]), among: mark.text === '==' };
  }

  /** Takes a time zone; undefined where the term ends before one. */
  zone(): string | undefined {
    const token = this.#peek();
    if (token === undefined || (token.kind === 'word' && token.text === 'and')) return undefined;
    this.#at++;
    if (token.kind === 'word' && isTimeZone(token.text)) return token.text;
    throw new ConditionFault(
      `unknown time zone ${JSON.stringify(token.text)}: write UTC or a name such as Europe/Berlin`,
    );
  }

  #value(what: string): string {
    const token = this.next(`${what} is missing at the end`);
    if (token.kind === 'quoted') return token.text;
    if (token.kind === 'word' && token.text !== 'and') return token.text;
    throw new ConditionFault(`${what} is missing before ${JSON.stringify(token.text)}`);
  }

  #peek(): Token | undefined {
    return this.#tokens[this.#at];
  }

  #isMark(text: string): boolean {
    const token = this.#peek();
    return token?.kind === 'mark' && token.text === text;
  }
}
