import { excerpt, SqlError } from '../values/sql-error.ts';
import { tokenReader, type Token } from './tokens.ts';

/** Reserved words: as column names they must be quoted. */
export const reservedWords: ReadonlySet<string> = new Set([
  'and',
  'as',
  'between',
  'case',
  'cast',
  'else',
  'end',
  'escape',
  'false',
  'from',
  'ilike',
  'in',
  'is',
  'like',
  'not',
  'null',
  'or',
  'select',
  'then',
  'true',
  'when',
  'where',
]);

const endings: Readonly<Record<Token['kind'], (text: string) => string>> = {
  end: () => 'the end of the text',
  string: (text) => `'${excerpt(text)}'`,
  quoted: (text) => `the name \`${excerpt(text)}\``,
  binary: (text) => `X'${excerpt(text)}'`,
  parameter: (text) => `"${text}"`,
  name: (text) => `"${excerpt(text)}"`,
  number: (text) => `"${excerpt(text)}"`,
  symbol: (text) => `"${text}"`,
};

/** Reads the tokens of a text one by one. */
export class TokenCursor {
  readonly #read: () => Token;
  /** Tokens that were looked at and not taken yet. */
  readonly #ahead: Token[] = [];

  constructor(text: string) {
    this.#read = tokenReader(text);
  }

  /** The token `ahead` of the next one; past the end it is the `end` token. */
  peek(ahead = 0): Token {
    while (this.#ahead.length <= ahead) this.#ahead.push(this.#read());
    return this.#ahead[ahead]!;
  }

  next(): Token {
    const token = this.peek();
    this.#ahead.shift();
    return token;
  }

  /** Whether the next token is this word, in any case, and not quoted. */
  atWord(word: string, ahead = 0): boolean {
    const token = this.peek(ahead);
    return (
      token.kind === 'name' &&
      token.text.length === word.length &&
      token.text.toLowerCase() === word
    );
  }

  atSymbol(symbol: string, ahead = 0): boolean {
    const token = this.peek(ahead);
    return token.kind === 'symbol' && token.text === symbol;
  }

  takeWord(word: string): boolean {
    const found = this.atWord(word);
    if (found) this.next();
    return found;
  }

  takeSymbol(symbol: string): boolean {
    const found = this.atSymbol(symbol);
    if (found) this.next();
    return found;
  }

  expectWord(word: string): void {
    if (!this.takeWord(word)) this.fail(word.toUpperCase());
  }

  expectSymbol(symbol: string): void {
    if (!this.takeSymbol(symbol)) this.fail(`"${symbol}"`);
  }

  expectString(what: string): Token {
    return this.peek().kind === 'string' ? this.next() : this.fail(what);
  }

  /** Throws the syntax error of the next token. */
  fail(expected: string): never {
    const { kind, text, position } = this.peek();
    throw new SqlError('syntax', `expected ${expected}, found ${endings[kind](text)}`, position);
  }
}
