import {
  ngramTokens,
  rawTokens,
  simpleTokens,
  whitespaceTokens,
  type BaseTokenizer,
  type OnToken,
} from './base-tokens.ts';
import { foldToAscii } from './ascii-folding.ts';
import { stemmerOf, stopWordsOf } from './languages.ts';
import { ownText } from './own-text.ts';
import { longestNgram, type TextOptions } from './text-options.ts';

/** Words come again and again: what became of so many is remembered, unless they are longer than this. */
const REMEMBERED = 2 ** 16;
const LONGEST_REMEMBERED = 64;

/**
 * Makes tokens of texts as the options of an index say: pieces that are too long are left
 * out, the others put into lower case and reduced to their stems; then stop words are left
 * out, and letters replaced by those of ASCII. What is left out keeps its position.
 */
export class Tokenizer {
  readonly #base: BaseTokenizer;
  readonly #most: number;
  readonly #steps: readonly ((token: string) => string)[];
  readonly #stops: ReadonlySet<string>;
  readonly #folds: boolean;
  readonly #known = new Map<string, string | null>();

  constructor(options: TextOptions) {
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
      const token = this.#tokenOf(piece);
      if (token !== null) visit(token, position);
    });
  }

  /** Null for a piece that is left out. */
  #tokenOf(piece: string): string | null {
    if (piece.length > LONGEST_REMEMBERED) return this.#made(piece);
    const known = this.#known.get(piece);
    if (known !== undefined) return known;
    const own = ownText(piece);
    const token = this.#made(own);
    if (this.#known.size >= REMEMBERED) this.#known.clear();
    this.#known.set(own, token);
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

/** Letter by letter: the last sigma of a Greek word is like any other. */
function lowerCase(token: string): string {
  const lower = token.toLowerCase();
  if (!lower.includes('ς')) return lower;
  return Array.from(token, (letter) => letter.toLowerCase()).join('');
}
