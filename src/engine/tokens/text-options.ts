import { CatalogError } from '../../protocol/errors.ts';
import {
  countField,
  describe,
  fieldError,
  flagField,
  textField,
  type Fields,
} from '../base/fields.ts';
import { hasStemmer, languageOf, languages, type Language } from './languages.ts';

const tokenizers = ['simple', 'whitespace', 'raw', 'ngram'] as const;

/** Options of a text index: how texts become tokens, and what is stored. */
export interface TextOptions {
  readonly base_tokenizer: (typeof tokenizers)[number];
  readonly language: Language;
  /** Whether positions are stored, which phrases need. */
  readonly with_position: boolean;
  /** Tokens of at least this length in bytes are dropped; null for no limit. */
  readonly max_token_length: number | null;
  readonly lower_case: boolean;
  readonly stem: boolean;
  readonly remove_stop_words: boolean;
  /** Stop words in place of the language's; null for the language's. */
  readonly custom_stop_words: readonly string[] | null;
  readonly ascii_folding: boolean;
  readonly min_ngram_length: number;
  readonly max_ngram_length: number;
  readonly prefix_only: boolean;
}

/** Defaults, the same as LanceDB's. */
export const defaultTextOptions: TextOptions = {
  base_tokenizer: 'simple',
  language: 'English',
  with_position: false,
  max_token_length: 40,
  lower_case: true,
  stem: true,
  remove_stop_words: true,
  custom_stop_words: null,
  ascii_folding: true,
  min_ngram_length: 3,
  max_ngram_length: 3,
  prefix_only: false,
};

/** Tokenizers of LanceDB that need dictionaries, which are not available. */
const DICTIONARIES = /^(icu|jieba|lindera)(\/|$)/;
const MOST_NGRAM = 255;
/** Limit of stop words: each version's manifest holds the options of its indices. */
const MOST_STOP_WORDS = 5000;
const MOST_STOP_LETTERS = 50_000;

/**
 * Parses the options of a text index.
 * @throws CatalogError InvalidInput naming the option; Unsupported for options that only other
 * services have.
 */
export function textOptions(body: Fields): TextOptions {
  checkKind(body);
  const base = baseTokenizer(body);
  const language = languageField(body);
  const flag = (name: BooleanOption) => flagField(body, name, defaultTextOptions[name]);
  const options: TextOptions = {
    base_tokenizer: base,
    language,
    with_position: flag('with_position'),
    max_token_length: lengthField(body),
    lower_case: flag('lower_case'),
    stem: flag('stem'),
    remove_stop_words: flag('remove_stop_words'),
    custom_stop_words: wordsField(body),
    ascii_folding: flag('ascii_folding'),
    ...ngramLengths(body),
    prefix_only: flag('prefix_only'),
  };
  checkStemmer(options);
  return options;
}

type BooleanOption = {
  [Name in keyof TextOptions]: TextOptions[Name] extends boolean ? Name : never;
}[keyof TextOptions];

/** Document types of a text; JSON documents by path are not supported. */
function checkKind(body: Fields): void {
  const kind = textField(body, 'lance_tokenizer');
  if (kind === null || kind === 'text') return;
  if (kind !== 'json') throw fieldError('lance_tokenizer', '"text"', JSON.stringify(kind));
  throw new CatalogError('Unsupported', 'a text index of JSON by its paths is not built');
}

function baseTokenizer(body: Fields): TextOptions['base_tokenizer'] {
  const name = textField(body, 'base_tokenizer') ?? defaultTextOptions.base_tokenizer;
  const found = tokenizers.find((one) => one === name);
  if (found !== undefined) return found;
  const expected = '"simple", "whitespace", "raw" or "ngram"';
  if (!DICTIONARIES.test(name)) throw fieldError('base_tokenizer', expected, JSON.stringify(name));
  throw new CatalogError(
    'Unsupported',
    `the tokenizer ${JSON.stringify(name)} is not built: it needs dictionaries; there are ${expected}`,
  );
}

function languageField(body: Fields): Language {
  const name = textField(body, 'language') ?? defaultTextOptions.language;
  const language = languageOf(name);
  if (language !== undefined) return language;
  throw fieldError('language', `one of ${languages.join(', ')}`, JSON.stringify(name));
}

/** Null means no limit, unlike absence. */
function lengthField(body: Fields): number | null {
  if (body['max_token_length'] === null) return null;
  const length = countField(body, 'max_token_length');
  return length === null ? defaultTextOptions.max_token_length : Number(length);
}

function wordsField(body: Fields): readonly string[] | null {
  const words = body['custom_stop_words'];
  if (words === undefined || words === null) return null;
  if (!Array.isArray(words)) throw fieldError('custom_stop_words', 'a list', describe(words));
  const texts = words.map((word, at) => {
    if (typeof word === 'string') return word;
    throw fieldError(`custom_stop_words[${at}]`, 'a string', describe(word));
  });
  const length = texts.reduce((sum, text) => sum + text.length, 0);
  if (texts.length <= MOST_STOP_WORDS && length <= MOST_STOP_LETTERS) return texts;
  const expected = `at most ${MOST_STOP_WORDS} words of ${MOST_STOP_LETTERS} letters together`;
  throw fieldError('custom_stop_words', expected, `${texts.length} of ${length}`);
}

/** LanceDB's clients of all languages say `min_ngram_length`, and their users `ngram_min_length`. */
function ngramLengths(body: Fields) {
  const [min, max] = [ngramLength(body, 'min'), ngramLength(body, 'max')];
  if (min > max) {
    throw new CatalogError(
      'InvalidInput',
      `min_ngram_length must be at most max_ngram_length, and ${min} is more than ${max}`,
    );
  }
  return { min_ngram_length: min, max_ngram_length: max };
}

function ngramLength(body: Fields, end: 'min' | 'max'): number {
  const name = `${end}_ngram_length` as const;
  const length = countField(body, name) ?? countField(body, `ngram_${end}_length`);
  if (length === null) return defaultTextOptions[name];
  if (length >= 1n && length <= MOST_NGRAM) return Number(length);
  throw fieldError(name, `from 1 to ${MOST_NGRAM}`, String(length));
}

/** Greatest length of a kept piece in characters, of at least a byte each. */
export function longestNgram({ max_ngram_length: most, max_token_length: length }: TextOptions) {
  return length === null ? most : Math.min(most, length - 1);
}

/** Greatest number of pieces that begin with one character. */
export function piecesOfCharacter(options: TextOptions): number {
  if (options.base_tokenizer !== 'ngram') return 1;
  return Math.max(1, longestNgram(options) - options.min_ngram_length + 1);
}

function checkStemmer({ stem, language }: TextOptions): void {
  if (!stem || hasStemmer(language)) return;
  throw new CatalogError(
    'Unsupported',
    `words of the language ${language} are not reduced to their stems: set stem to false`,
  );
}
