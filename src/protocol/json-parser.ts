import { CatalogError } from './errors.ts';
import { numberOf, MAX_JSON_DEPTH, MAX_JSON_MEMBERS, type JsonValue } from './json.ts';

/** Longer texts are parsed in turns. */
export const LONG_JSON = 2 ** 17;
/** Values other than numbers that a long text may have. */
const MAX_VALUES = 2 ** 17;
/** Values that are read between two looks at the clock. */
const LOOK_VALUES = 512;
/** Time of one turn, in ms. */
const TURN_MILLIS = 8;

type JsonObject = Record<string, JsonValue>;

/** A list or an object that is not closed yet; of an object also the key whose value comes next. */
interface Open {
  readonly list: JsonValue[] | null;
  readonly object: JsonObject | null;
  key: string;
}

/**
 * The value of a long JSON text, as `parseJson` gives it, save that a list or an object whose key
 * comes twice is refused whatever it holds. Parses for a few milliseconds at a time.
 * @param pause Resolves when others have had their turn.
 * @throws CatalogError InvalidInput, with the position (from 0) of the fault.
 */
export async function parseJsonInTurns(
  text: string,
  pause: () => Promise<unknown>,
): Promise<JsonValue> {
  const parser = new JsonParser(text);
  while (!parser.advance(performance.now() + TURN_MILLIS)) await pause();
  return parser.value;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const word = /true|false|null/y;
const number = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const plainText = /[ !#-[\]-\uffff]*/y;
const space = /[ \t\n\r]+/y;

const words: Readonly<Record<string, JsonValue>> = { true: true, false: false, null: null };

/** A parser of RFC 8259 that can stop after each value. */
class JsonParser {
  readonly #text: string;
  readonly #open: Open[] = [];
  #at = 0;
  #value: JsonValue | undefined;
  #members = 0;
  #others = 0;

  constructor(text: string) {
    this.#text = text;
  }

  /** The value; null before all was read. */
  get value(): JsonValue {
    return this.#value ?? null;
  }

  /** Reads on until a time; true at the end of the text. */
  advance(until: number): boolean {
    for (let values = 1; this.#value === undefined; values++) {
      this.#readValue();
      if (values % LOOK_VALUES === 0 && performance.now() > until) return false;
    }
    if (this.#code() !== undefined) throw this.#unexpected('the end of the text');
    return true;
  }

  /** Reads one value that is neither a list nor an object, or the beginning of one that is not empty. */
  #readValue(): void {
    const code = this.#code();
    if (code === 0x5b) this.#begin({ list: [], object: null, key: '' }, 0x5d);
    else if (code === 0x7b) this.#begin({ list: null, object: {}, key: '' }, 0x7d);
    else if (code === QUOTE) this.#add(this.#countOther(this.#string()));
    else if (code === 0x2d || isDigit(code)) this.#add(numberOf(this.#take(number, 'a number')));
    else this.#add(this.#countOther(words[this.#take(word, 'a value')]!));
  }

  #begin(open: Open, end: number): void {
    this.#at++;
    this.#countOther(null);
    if (this.#open.length === MAX_JSON_DEPTH) {
      throw this.#refusal(`lists and objects are nested deeper than ${MAX_JSON_DEPTH} levels`);
    }
    if (this.#code() === end) {
      this.#at++;
      this.#add(open.list ?? open.object!);
      return;
    }
    this.#open.push(open);
    if (open.object !== null) this.#readKey(open);
  }

  /** Gives a value its place, and closes what ends behind it. */
  #add(value: JsonValue): void {
    let added = value;
    for (;;) {
      const open = this.#open.at(-1);
      if (open === undefined) {
        this.#value = added;
        return;
      }
      if (open.list !== null) open.list.push(added);
      else this.#setMember(open, added);
      const code = this.#code();
      if (code === 0x2c) {
        this.#at++;
        if (open.object !== null) this.#readKey(open);
        return;
      }
      if (code !== (open.list === null ? 0x7d : 0x5d)) throw this.#unexpected('a comma or an end');
      this.#at++;
      this.#open.pop();
      added = open.list ?? open.object!;
    }
  }

  #readKey(open: Open): void {
    if (this.#code() !== QUOTE) throw this.#unexpected('a key');
    open.key = this.#string();
    if (this.#code() !== 0x3a) throw this.#unexpected('a colon');
    this.#at++;
    if (++this.#members > MAX_JSON_MEMBERS) {
      throw this.#refusal(`objects have more than ${MAX_JSON_MEMBERS} members`);
    }
  }

  #setMember({ object, key }: Open, value: JsonValue): void {
    if (Object.hasOwn(object!, key) && object![key] !== value) {
      throw this.#refusal(`the key ${JSON.stringify(key.slice(0, 40))} comes twice`);
    }
    // An assignment to this name would set the prototype.
    if (key !== '__proto__') object![key] = value;
    else Object.defineProperty(object, key, { value, ...ofMember });
  }

  #string(): string {
    const start = this.#at;
    plainText.lastIndex = start + 1;
    plainText.test(this.#text);
    this.#at = plainText.lastIndex + 1;
    if (this.#text.charCodeAt(this.#at - 1) === QUOTE) {
      return this.#text.slice(start + 1, this.#at - 1);
    }
    return this.#escapedString(start, this.#at - 1);
  }

  /** A string that is not plain, by the runtime's own parser. */
  #escapedString(start: number, from: number): string {
    let at = from;
    while (at < this.#text.length && this.#text.charCodeAt(at) !== QUOTE) {
      at += this.#text.charCodeAt(at) === BACKSLASH ? 2 : 1;
    }
    this.#at = at + 1;
    try {
      return JSON.parse(this.#text.slice(start, this.#at)) as string;
    } catch {
      this.#at = start;
      throw this.#unexpected('a valid string');
    }
  }

  #take(pattern: RegExp, what: string): string {
    const start = this.#at;
    pattern.lastIndex = start;
    if (!pattern.test(this.#text)) throw this.#unexpected(what);
    this.#at = pattern.lastIndex;
    return this.#text.slice(start, this.#at);
  }

  /** The next character that is no space, which is not read yet; undefined at the end. */
  #code(): number | undefined {
    let code = this.#text.charCodeAt(this.#at);
    if (code <= 0x20) {
      space.lastIndex = this.#at;
      if (space.test(this.#text)) this.#at = space.lastIndex;
      code = this.#text.charCodeAt(this.#at);
    }
    return Number.isNaN(code) ? undefined : code;
  }

  #countOther(value: JsonValue): JsonValue {
    if (++this.#others <= MAX_VALUES) return value;
    throw this.#refusal(`the text has more than ${MAX_VALUES} values beside numbers`);
  }

  #unexpected(what: string): CatalogError {
    return this.#refusal(`the text is not valid JSON: ${what} is missing`);
  }

  #refusal(sentence: string): CatalogError {
    return new CatalogError('InvalidInput', `${sentence} at position ${this.#at}`);
  }
}

const ofMember = { enumerable: true, writable: true, configurable: true };

function isDigit(code: number | undefined): boolean {
  return code !== undefined && code >= 0x30 && code <= 0x39;
}
