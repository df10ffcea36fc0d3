import { SqlError } from './errors.ts';
import type { Token } from './tokens.ts';

/** Words that are no bare column names; quoted they are. */
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
  string: (text) => `'${shortened(text)}'`,
  quoted: (text) => `the name \`${shortened(text)}\``,
  binary: (text) => `X'${shortened(text)}'`,
  name: (text) => `"${shortened(text)}"`,
  number: (text) => `"${shortened(text)}"`,
  symbol: (text) => `"${text}"`,
};

function shortened(text: string): string {
  return text.length > 40 ? `${text.slice(0, 40)}...` : text;
}

/** A place in the list of tokens, and the questions a parser asks there. */
export class Cursor {
  readonly tokens: readonly Token[];
  #index = 0;

  constructor(tokens: readonly Token[]) {
    this.tokens = tokens;
  }

  /** The token `ahead` of the next one; past the end it is the `end` token. */
  peek(ahead = 0): Token {
    return this.tokens[Math.min(this.#index + ahead, this.tokens.length - 1)]!;
  }

  next(): Token {
    const token = this.peek();
    this.#index++;
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
    this.#index += found ? 1 : 0;
    return found;
  }

  takeSymbol(symbol: string): boolean {
    const found = this.atSymbol(symbol);
    this.#index += found ? 1 : 0;
    return found;
  }

  expectWord(word: string): void {
    if (!this.takeWord(word)) {
      this.fail(word.toUpperCase());
    }
  }

  expectSymbol(symbol: string): void {
    if (!this.takeSymbol(symbol)) {
      this.fail(`"${symbol}"`);
    }
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
