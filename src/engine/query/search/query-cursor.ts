import type { Fragment } from '../../format/snapshot.ts';
import type { FragmentWords, WordsFound } from './column-texts.ts';
import { AdjustedCursor, AllCursor, BestCursor, FilteredCursor } from './compound-cursors.ts';
import { nothing, type Cursor } from './cursor.ts';
import type { SearchWords } from './search-words.ts';
import { SumCursor } from './sum-cursor.ts';
import { rarityOf, TermCursor } from './term-cursor.ts';
import type {
  BooleanQuery,
  LeafQuery,
  MatchQuery,
  PhraseQuery,
  TextQuery,
} from '../../request/text-query.ts';
import type { Numbers } from '../../index/text/postings.ts';
import { onlyItem } from '../../base/items.ts';

/** Statistics of the words of a query in all fragments. */
export interface QueryWords {
  readonly words: SearchWords;
  readonly found: WordsFound;
}

/** A cursor over a fragment's rows for a query. */
export function queryCursor(
  query: TextQuery,
  fragment: Fragment,
  wordsOf: (leaf: LeafQuery) => QueryWords,
): Cursor {
  const cursor = (part: TextQuery) => queryCursor(part, fragment, wordsOf);
  if (query.kind === 'match') return matchCursor(query, wordsOf(query), fragment);
  if (query.kind === 'phrase') return phraseCursor(query, wordsOf(query), fragment);
  if (query.kind === 'boolean') return booleanCursor(query, cursor);
  if (query.kind === 'best') {
    return anyOf(query.queries.map(cursor), (parts) => new BestCursor(parts));
  }
  const { positive, negative, negativeBoost } = query;
  return new AdjustedCursor(cursor(positive), cursor(negative), -negativeBoost);
}

function booleanCursor(query: BooleanQuery, cursor: (part: TextQuery) => Cursor): Cursor {
  const must = query.must.map(cursor);
  const should = anyOf(query.should.map(cursor), (parts) => new SumCursor(parts));
  const not = query.mustNot.map(cursor);
  const base = must.length === 0 ? should : allOf(must);
  const whole = must.length > 0 && should !== nothing ? new AdjustedCursor(base, should, 1) : base;
  if (not.length === 0) return whole;
  return new FilteredCursor(whole, (row) => not.every((each) => each.seek(row) !== row));
}

/** A query for all words finds nothing if one of them is in no text. */
function matchCursor(query: MatchQuery, { words, found }: QueryWords, fragment: Fragment): Cursor {
  const here = found.in(fragment);
  if (here === undefined) return nothing;
  const term = (token: string) => termCursor(token, query.boost, found, here);
  const sum = (tokens: readonly string[]) => anyOf(tokens.map(term), (all) => new SumCursor(all));
  const exact = words.exact.map(({ token }) => token);
  const near = words.fuzzy.map((word) => found.expansions.get(word) ?? []);
  if (!query.all) return sum([...new Set([...exact, ...near.flat()])]);
  return allOf([...exact.map(term), ...near.map(sum)]);
}

function phraseCursor(
  { slop }: PhraseQuery,
  { words, found }: QueryWords,
  fragment: Fragment,
): Cursor {
  const here = found.in(fragment);
  if (here === undefined || words.exact.length === 0) return nothing;
  const terms = words.exact.map(({ token, position }) => ({
    cursor: termCursor(token, 1, found, here),
    position,
  }));
  const present = terms.flatMap(({ cursor, position }) =>
    cursor instanceof TermCursor ? [{ cursor, position }] : [],
  );
  if (present.length < terms.length) return nothing;
  const all = allOf(present.map(({ cursor }) => cursor));
  return present.length === 1 ? all : new FilteredCursor(all, phraseTest(present, slop));
}

function termCursor(
  token: string,
  boost: number,
  found: WordsFound,
  { postings, lengths }: FragmentWords,
): Cursor {
  const parts = postings.get(token);
  if (parts === undefined) return nothing;
  const factor = boost * rarityOf(found.rowsWith(token), found.texts);
  return new TermCursor(parts, lengths, { factor, averageLength: found.averageLength });
}

/** Parts without rows are dropped. */
function anyOf(parts: readonly Cursor[], join: (parts: readonly Cursor[]) => Cursor): Cursor {
  const some = parts.filter((part) => part !== nothing);
  if (some.length === 0) return nothing;
  return onlyItem(some) ?? join(some);
}

function allOf(parts: readonly Cursor[]): Cursor {
  if (parts.length === 0 || parts.includes(nothing)) return nothing;
  return onlyItem(parts) ?? new AllCursor(parts);
}

const NO_PLACES = new Uint8Array(0);

/** A word of a phrase and its position. */
interface PhraseWord {
  readonly cursor: TermCursor;
  readonly position: number;
}

/**
 * Tests whether the words form the phrase in the current row of all cursors, with at most `slop`
 * other words between two of them.
 */
function phraseTest(words: readonly PhraseWord[], slop: number): () => boolean {
  return () => {
    let before: PhraseWord | undefined;
    let reached: Numbers = NO_PLACES;
    for (const word of words) {
      const places = word.cursor.places();
      const gap = word.position - (before?.position ?? 0);
      reached = before === undefined ? places : reachable(reached, places, gap, gap + slop);
      if (reached.length === 0) return false;
      before = word;
    }
    return before !== undefined;
  };
}

/** Positions that follow one of the previous positions within a distance range. */
function reachable(before: Numbers, places: Numbers, least: number, most: number): Uint32Array {
  const found = new Uint32Array(places.length);
  let count = 0;
  let from = 0;
  for (const place of places) {
    while (from < before.length && before[from]! + most < place) from++;
    if (from < before.length && before[from]! + least <= place) found[count++] = place;
  }
  return found.subarray(0, count);
}
