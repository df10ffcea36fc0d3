import { stemmerOf, stopWordsOf } from './languages.ts';
import { longestNgram, type TextOptions } from './text-options.ts';

/** Letters without a decomposition in Unicode, and their ASCII forms. */
const letters: ReadonlyMap<string, string> = new Map(
  Object.entries({
    Æ: 'AE',
    Ð: 'D',
    Ø: 'O',
    Þ: 'TH',
    ß: 'ss',
    ẞ: 'SS',
    æ: 'ae',
    ð: 'd',
    ø: 'o',
    þ: 'th',
    Đ: 'D',
    đ: 'd',
    Ħ: 'H',
    ħ: 'h',
    ı: 'i',
    ĸ: 'k',
    Ł: 'L',
    ł: 'l',
    Ŋ: 'N',
    ŋ: 'n',
    Œ: 'OE',
    œ: 'oe',
    Ŧ: 'T',
    ŧ: 't',
  }),
);

const BEYOND_ASCII = /\P{ASCII}/u;

/** Replaces letters with diacritics by ASCII letters; keeps other letters. */
function foldToAscii(text: string): string {
  if (!BEYOND_ASCII.test(text)) return text;
  let folded = '';
  for (const letter of text) folded += foldedLetter(letter);
  return folded;
}

function foldedLetter(letter: string): string {
  if (letter < '\x80') return letter;
  let folded = '';
  for (const part of letter.normalize('NFKD')) {
    folded += part < '\x80' ? part : (letters.get(part) ?? '');
  }
  return folded === '' ? letter : folded;
}

/** Called with a piece of a text and its position. */
type OnToken = (token: string, position: number) => void;

/** Rules that split texts into pieces. */
type BaseTokenizer = (text: string, visit: OnToken) => void;

/** Letters and digits of any script, as Unicode defines them. */
const WORD = /[\p{Alphabetic}\p{N}]/u;
/**
 * Cached classes of UTF-16 code units: 0 for unknown, 1 for a part of a word, 2 for a separator.
 */
const units = new Uint8Array(0x10000);

/** Runs of letters and digits. */
function simpleTokens(text: string, visit: OnToken): void {
  let position = 0;
  let start = -1;
  for (let at = 0; at < text.length;) {
    const unit = text.charCodeAt(at);
    const width = isPair(unit) ? 2 : 1;
    if (width === 1 ? isWordUnit(unit) : WORD.test(text.slice(at, at + 2))) {
      if (start < 0) start = at;
    } else if (start >= 0) {
      visit(text.slice(start, at), position++);
      start = -1;
    }
    at += width;
  }
  if (start >= 0) visit(text.slice(start), position);
}

function isPair(unit: number): boolean {
  return unit >= 0xd800 && unit < 0xdc00;
}

/** Whether a UTF-16 code unit, no part of a pair, is a letter or digit of any script. */
export function isWordUnit(unit: number): boolean {
  const found = units[unit]!;
  if (found !== 0) return found === 1;
  const isWord = WORD.test(String.fromCharCode(unit));
  units[unit] = isWord ? 1 : 2;
  return isWord;
}

/** Runs between ASCII white space. */
function whitespaceTokens(text: string, visit: OnToken): void {
  let position = 0;
  for (const token of text.split(/[ \t\n\f\r]+/)) {
    if (token !== '') visit(token, position++);
  }
}

/** The text as it is. */
function rawTokens(text: string, visit: OnToken): void {
  visit(text, 0);
}

/**
 * All n-grams of characters, including blanks and signs; the position is that of the first
 * character.
 */
function ngramTokens(least: number, most: number, prefixOnly: boolean): BaseTokenizer {
  return (text, visit) => {
    const characters = Array.from(text);
    const starts = prefixOnly ? Math.min(1, characters.length) : characters.length;
    for (let start = 0; start < starts; start++) {
      const longest = Math.min(most, characters.length - start);
      for (let length = least; length <= longest; length++) {
        visit(characters.slice(start, start + length).join(''), start);
      }
    }
  };
}

/** V8 copies shorter pieces; longer ones keep the whole text in memory. */
const LONGEST_COPY = 12;

/** Copies a piece of a text that outlives the text. */
export function ownText(piece: string): string {
  return piece.length <= LONGEST_COPY ? piece : Buffer.from(piece).toString();
}

/** Number and length of words whose tokens are cached. */
const REMEMBERED = 2 ** 16;
const LONGEST_REMEMBERED = 64;

/**
 * Makes tokens of texts as the options of an index say: pieces that are too long are left
 * out, the others put into lower case and reduced to their stems; then stop words are left
 * out, and letters replaced by those of ASCII. What is left out keeps its position.
 */
export class Tokenizer {
  /** Whether texts are split into runs of letters and digits. */
  readonly splitsWords: boolean;
  readonly #base: BaseTokenizer;
  readonly #most: number;
  readonly #steps: readonly ((token: string) => string)[];
  readonly #stops: ReadonlySet<string>;
  readonly #folds: boolean;
  readonly #cache = new Map<string, string | null>();

  constructor(options: TextOptions) {
    this.splitsWords = options.base_tokenizer === 'simple';
    this.#base = baseOf(options);
    this.#most = options.max_token_length ?? Infinity;
    this.#steps = [
      ...(options.lower_case ? [lowerCase] : []),
      ...(options.stem ? [stemmerOf(options.language)] : []),
    ];
    const stops = options.custom_stop_words ?? stopWordsOf(options.language);
    this.#stops = new Set(options.remove_stop_words ? stops : []);
    this.#folds = options.ascii_folding;
  }

  /** The tokens of a text in their order. */
  visit(text: string, visit: OnToken): void {
    this.#base(text, (piece, position) => {
      const token = this.tokenOf(piece);
      if (token !== null) visit(token, position);
    });
  }

  /** The token of a piece of a text; null for a dropped piece. */
  tokenOf(piece: string): string | null {
    if (piece.length > LONGEST_REMEMBERED) return this.#made(piece);
    const cached = this.#cache.get(piece);
    if (cached !== undefined) return cached;
    const own = ownText(piece);
    const token = this.#made(own);
    if (this.#cache.size >= REMEMBERED) this.#cache.clear();
    this.#cache.set(own, token);
    return token;
  }

  #made(piece: string): string | null {
    if (Buffer.byteLength(piece) >= this.#most) return null;
    let token = piece;
    for (const step of this.#steps) token = step(token);
    if (this.#stops.has(token)) return null;
    return this.#folds ? foldToAscii(token) : token;
  }
}

const tokenizers = new WeakMap<TextOptions, Tokenizer>();

/** The tokenizer of the options of an index. Queries share its cache: a stem takes longer than a short search. */
export function tokenizerOf(options: TextOptions): Tokenizer {
  const tokenizer = tokenizers.get(options) ?? new Tokenizer(options);
  tokenizers.set(options, tokenizer);
  return tokenizer;
}

/**
 * The tokenizer for words that are looked for with misspellings: as they are written, but
 * in lower case and folded where the index has them so. A stem would be further from a misspelt word.
 */
export function fuzzyTokenizer(options: TextOptions): Tokenizer {
  return new Tokenizer({ ...options, stem: false, remove_stop_words: false });
}

function baseOf(options: TextOptions): BaseTokenizer {
  const { min_ngram_length: least, prefix_only: prefixOnly } = options;
  const most = longestNgram(options);
  const bases: Readonly<Record<TextOptions['base_tokenizer'], BaseTokenizer>> = {
    simple: simpleTokens,
    whitespace: whitespaceTokens,
    raw: rawTokens,
    ngram: ngramTokens(least, most, prefixOnly),
  };
  return bases[options.base_tokenizer];
}

/** Character by character, since the final sigma of a Greek word is folded too. */
function lowerCase(token: string): string {
  const lower = token.toLowerCase();
  if (!lower.includes('ς')) return lower;
  return Array.from(token, (letter) => letter.toLowerCase()).join('');
}
