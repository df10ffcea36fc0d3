import { CatalogError } from '../../../protocol/errors.ts';
import type { LeafQuery, MatchQuery } from '../../request/text-query.ts';
import { defaultTextOptions } from '../../tokens/text-options.ts';
import type { SearchedText } from '../../index/text/text-plan.ts';
import { NearWords } from '../../tokens/edit-distance.ts';
import { fuzzyTokenizer, Tokenizer } from '../../tokens/tokenizer.ts';

/** A word of a query, and where in it that stands. */
interface SearchWord {
  readonly token: string;
  readonly position: number;
}

/** A word that may be misspelt. */
export interface FuzzyWord extends SearchWord {
  /** What tokens that are near it begin with. */
  readonly prefix: string;
  /** How many edits it may be away. */
  readonly edits: number;
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
/** So many words are looked at for different ones. */
const MOST_PIECES = 2 ** 14;
/** So many words all queries of a search may have together. */
const MOST_TOGETHER = 2 ** 14;
/** For each edit of each misspelt word many words of the column are compared with it. */
const MOST_EDITS_TOGETHER = 512;

/** @throws CatalogError InvalidInput for too many words. */
export function searchWords(leaf: LeafQuery, { index }: SearchedText): SearchWords {
  const options = index.text ?? defaultTextOptions;
  const isFuzzy = leaf.kind === 'match' && leaf.fuzziness !== 0;
  const tokenizer = isFuzzy ? fuzzyTokenizer(options) : new Tokenizer(options);
  const kept = leaf.kind === 'phrase' ? allWords(tokenizer, leaf) : distinctWords(tokenizer, leaf);
  if (!isFuzzy) return { leaf, exact: kept, fuzzy: [] };
  return { leaf, exact: [], fuzzy: kept.map((word) => fuzzyWord(word, leaf)) };
}

/**
 * What a search costs is bounded by what it asks for, not by what it finds on its way: its answer
 * must not depend on how rows lie in files.
 * @throws CatalogError InvalidInput for too many words, or edits of them, in all queries of a search.
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

/** A word that comes again is looked for once. */
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

/** The text is given up as soon as it has too many: it may have any number. */
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

/** How far a word may be away when nothing is said: no edit for one of two bytes, one up to five, then two. */
function editsFor(token: string): number {
  const length = Buffer.byteLength(token);
  if (length <= 2) return 0;
  return length <= 5 ? 1 : 2;
}
