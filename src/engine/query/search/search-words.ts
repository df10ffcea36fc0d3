import { CatalogError } from '../../../protocol/errors.ts';
import type { LeafQuery, MatchQuery } from '../../request/text-query.ts';
import { defaultTextOptions } from '../../tokens/text-options.ts';
import type { SearchedText } from '../../index/text/text-plan.ts';
import { NearWords } from '../../tokens/edit-distance.ts';
import { fuzzyTokenizer, tokenizerOf, type Tokenizer } from '../../tokens/tokenizer.ts';

/** A word of a query and its position. */
interface SearchWord {
  readonly token: string;
  readonly position: number;
}

/** A word that is matched with edits. */
export interface FuzzyWord extends SearchWord {
  /** Required prefix of its expansions. */
  readonly prefix: string;
  /** Greatest number of edits. */
  readonly edits: number;
  readonly near: NearWords;
}

/** The words that a query searches for in its column. */
export interface SearchWords {
  readonly leaf: LeafQuery;
  readonly exact: readonly SearchWord[];
  /** Fuzzy words; a query has words of one kind. */
  readonly fuzzy: readonly FuzzyWord[];
}

/** Limit of words of a query. */
const MOST_WORDS = 1024;
/** Limit of words that are examined for duplicates. */
const MOST_PIECES = 2 ** 14;
/** Limit of words of all queries of a search. */
const MOST_TOGETHER = 2 ** 14;
/** Limit of edits of all fuzzy words: each is compared with many words of the column. */
const MOST_EDITS_TOGETHER = 512;

/** @throws CatalogError InvalidInput for too many words. */
export function searchWords(leaf: LeafQuery, { index }: SearchedText): SearchWords {
  const options = index.text ?? defaultTextOptions;
  const isFuzzy = leaf.kind === 'match' && leaf.fuzziness !== 0;
  const tokenizer = isFuzzy ? fuzzyTokenizer(options) : tokenizerOf(options);
  const words = leaf.kind === 'phrase' ? allWords(tokenizer, leaf) : distinctWords(tokenizer, leaf);
  if (!isFuzzy) return { leaf, exact: words, fuzzy: [] };
  return { leaf, exact: [], fuzzy: words.map((word) => fuzzyWord(word, leaf)) };
}

/**
 * Bounds the cost of a search by its request, not by what it meets, since its answer must not
 * depend on the distribution of rows over files.
 * @throws CatalogError InvalidInput for too many words, or edits of them, in all queries of a
 * search.
 */
export function checkTogether(queries: readonly SearchWords[]): void {
  const words = queries.reduce((sum, { exact, fuzzy }) => sum + exact.length + fuzzy.length, 0);
  if (words > MOST_TOGETHER) throw tooMany(MOST_TOGETHER, 'words');
  const edits = queries.flatMap(({ fuzzy }) => fuzzy).reduce((sum, { edits: own }) => sum + own, 0);
  if (edits <= MOST_EDITS_TOGETHER) return;
  throw new CatalogError(
    'InvalidInput',
    `the words of a full-text search may be at most ${MOST_EDITS_TOGETHER} edits away together, not ${edits}`,
  );
}

function allWords(tokenizer: Tokenizer, { terms }: LeafQuery): readonly SearchWord[] {
  const words: SearchWord[] = [];
  tokenizer.visit(terms, (token, position) => {
    words.push({ token, position });
    if (words.length > MOST_WORDS) throw tooMany(MOST_WORDS, 'words');
  });
  return words;
}

function distinctWords(tokenizer: Tokenizer, { terms }: LeafQuery): readonly SearchWord[] {
  const words = new Map<string, SearchWord>();
  let pieces = 0;
  tokenizer.visit(terms, (token, position) => {
    if (!words.has(token)) words.set(token, { token, position });
    if (words.size > MOST_WORDS) throw tooMany(MOST_WORDS, 'different words');
    if (++pieces > MOST_PIECES) throw tooMany(MOST_PIECES, 'words');
  });
  return [...words.values()];
}

/** The text is abandoned at the limit: it may have any number of words. */
function tooMany(most: number, words: string): CatalogError {
  return new CatalogError(
    'InvalidInput',
    `a full-text search may look for at most ${most} ${words} at once`,
  );
}

function fuzzyWord(word: SearchWord, { fuzziness, prefixLength }: MatchQuery): FuzzyWord {
  const { token } = word;
  const prefix = Array.from(token).slice(0, prefixLength).join('');
  const edits = fuzziness ?? editsFor(token);
  return { ...word, prefix, edits, near: new NearWords(token, edits) };
}

/** Default number of edits: none up to two bytes, one up to five, then two. */
function editsFor(token: string): number {
  const length = Buffer.byteLength(token);
  if (length <= 2) return 0;
  return length <= 5 ? 1 : 2;
}
