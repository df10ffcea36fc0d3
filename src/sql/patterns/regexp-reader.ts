import { excerpt, SqlError } from '../values/sql-error.ts';
import { maxPatternLength } from '../values/limits.ts';

/** Reads the characters of a regular expression and reports errors with their position. */
export class RegexpReader {
  readonly #characters: readonly string[];
  readonly #position: number;
  #at = 0;

  /** Throws SqlError `limit` for a pattern of more than 4,096 characters. */
  constructor(pattern: string, position: number) {
    this.#position = position;
    if (pattern.length > maxPatternLength) {
      const message = `expected a regular expression of at most ${maxPatternLength} characters, found ${pattern.length}`;
      throw new SqlError('limit', message, position);
    }
    this.#characters = Array.from(pattern);
  }

  /** The next character, empty at the end. */
  peek(ahead = 0): string {
    return this.#characters[this.#at + ahead] ?? '';
  }

  next(): string {
    const character = this.peek();
    this.#at++;
    return character;
  }

  take(text: string): boolean {
    const found = Array.from(text).every((character, ahead) => this.peek(ahead) === character);
    this.#at += found ? Array.from(text).length : 0;
    return found;
  }

  /** The characters up to one of `ends`, which is left standing. */
  until(ends: string): string {
    let text = '';
    while (this.peek() !== '' && !ends.includes(this.peek())) text += this.next();
    return text;
  }

  /** The place for `fail` to name later, counted from 0. */
  get place(): number {
    return this.#at;
  }

  /** Throws SqlError `value` that names the character, the next one unless another place is given. */
  fail(expected: string, place = this.#at): never {
    const rest = this.#characters.slice(place).join('');
    const found = rest === '' ? 'its end' : `'${excerpt(rest)}'`;
    const message = `expected ${expected} at character ${place + 1} of the regular expression, found ${found}`;
    throw new SqlError('value', message, this.#position);
  }

  /** Throws SqlError `limit` of the whole pattern. */
  tooLarge(message: string): never {
    throw new SqlError('limit', message, this.#position);
  }
}
