import { CatalogError } from '../../protocol/errors.ts';
import type { LeafQuery, MatchQuery } from './text-query.ts';
import { defaultTextOptions } from './text-options.ts';
import type { SearchedText } from './text-plan.ts';
import { NearWords } from './edit-distance.ts';
import { fuzzyTokenizer, Tokenizer } from './tokenizer.ts';

/** A word of a query, and where in it that stands. */
export interface SearchWord {
  readonly token: string;
  readonly position: number;
}

/** A word that may be misspelt. */
export interface FuzzyWord extends SearchWord {
  /** What tokens that are near it begin with. */
  readonly prefix: string;
  readonly near: NearWords;
}

/** The words that a query looks for in its column. */
export interface SearchWords {
  readonly leaf: LeafQuery;
  /** Those that are looked for as they are. */
  readonly exact: readonly SearchWord[];
  /** Those that are looked for with edits; a query has words of one of both kinds. */
  readonly fuzzy: readonly FuzzyWord[];
}

/** A query with more words than this would be a document. */
const MOST_WORDS = 1024;

/** @throws CatalogError InvalidInput for too many words. */
export function searchWords(leaf: LeafQuery, { index }: SearchedText): SearchWords {
  const options = index.text ?? defaultTextOptions;
  const isFuzzy = leaf.kind === 'match' && leaf.fuzziness !== 0;
  const tokenizer = isFuzzy ? fuzzyTokenizer(options) : new Tokenizer(options);
  const words: SearchWord[] = [];
  tokenizer.visit(leaf.terms, (token, position) => words.push({ token, position }));
  const kept = leaf.kind === 'phrase' ? words : distinct(words);
  if (kept.length > MOST_WORDS) {
    throw new CatalogError(
      'InvalidInput',
      `a full-text search may look for at most ${MOST_WORDS} words at once, not ${kept.length}`,
    );
  }
  if (!isFuzzy) return { leaf, exact: kept, fuzzy: [] };
  return { leaf, exact: [], fuzzy: kept.map((word) => fuzzyWord(word, leaf)) };
}

/** A word that comes again is looked for once. */
function distinct(words: readonly SearchWord[]): readonly SearchWord[] {
  return [...new Map(words.toReversed().map((word) => [word.token, word])).values()].toReversed();
}

function fuzzyWord(word: SearchWord, { fuzziness, prefixLength }: MatchQuery): FuzzyWord {
  const { token } = word;
  const prefix = Array.from(token).slice(0, prefixLength).join('');
  return { ...word, prefix, near: new NearWords(token, fuzziness ?? editsFor(token)) };
}

/** How far a word may be away when nothing is said: no edit for one of two bytes, one up to five, then two. */
function editsFor(token: string): number {
  const length = Buffer.byteLength(token);
  if (length <= 2) return 0;
  return length <= 5 ? 1 : 2;
}
