/** A search for words of a column. */
export interface MatchQuery {
  readonly kind: 'match';
  /** Null for all columns that have a text index. */
  readonly column: string | null;
  readonly terms: string;
  /** What the scores are multiplied by. */
  readonly boost: number;
  /** How many edits a word may be away; null for as many as its length allows. */
  readonly fuzziness: number | null;
  /** How many words are looked for in place of misspelt ones, at most. */
  readonly maxExpansions: number;
  /** Whether a text must have all words. */
  readonly all: boolean;
  /** How many letters at the beginning of a word are as they are written. */
  readonly prefixLength: number;
}

/** A search for words that follow each other, with so many others between two of them at most. */
export interface PhraseQuery {
  readonly kind: 'phrase';
  readonly column: string | null;
  readonly terms: string;
  readonly slop: number;
}

/** What one query finds, less some of the score of what another finds too. */
interface BoostQuery {
  readonly kind: 'boost';
  readonly positive: TextQuery;
  readonly negative: TextQuery;
  readonly negativeBoost: number;
}

/** What any of some queries finds, with the best of its scores. */
interface BestQuery {
  readonly kind: 'best';
  readonly queries: readonly TextQuery[];
}

/**
 * What all of the first queries find and none of the last; the others add to the score,
 * and one of them must find it where there are none of the first.
 */
export interface BooleanQuery {
  readonly kind: 'boolean';
  readonly must: readonly TextQuery[];
  readonly should: readonly TextQuery[];
  readonly mustNot: readonly TextQuery[];
}

/** A full-text search, whichever client asked. */
export type TextQuery = MatchQuery | PhraseQuery | BoostQuery | BestQuery | BooleanQuery;

/** Words of one column. */
export type LeafQuery = MatchQuery | PhraseQuery;

/** The queries for words that a query is made of, from left to right. */
export function leavesOf(query: TextQuery): readonly LeafQuery[] {
  if (query.kind === 'match' || query.kind === 'phrase') return [query];
  return partsOf(query).flatMap(leavesOf);
}

function partsOf(query: BoostQuery | BestQuery | BooleanQuery): readonly TextQuery[] {
  if (query.kind === 'boost') return [query.positive, query.negative];
  if (query.kind === 'best') return query.queries;
  return [...query.must, ...query.should, ...query.mustNot];
}

/** A query in words, for people. */
export function textOfQuery(query: TextQuery): string {
  if (query.kind === 'match') {
    const { all, terms, column } = query;
    return `${all ? 'all' : 'any'} of ${JSON.stringify(terms)} in ${column}${editsText(query)}`;
  }
  if (query.kind === 'phrase') {
    return `phrase ${JSON.stringify(query.terms)} in ${query.column}, slop ${query.slop}`;
  }
  if (query.kind === 'boost') {
    const { positive, negative, negativeBoost } = query;
    return `(${textOfQuery(positive)}) less ${negativeBoost} x (${textOfQuery(negative)})`;
  }
  if (query.kind === 'best') return `best of (${listText(query.queries)})`;
  const { must, should, mustNot } = query;
  return `must (${listText(must)}) should (${listText(should)}) must not (${listText(mustNot)})`;
}

function listText(queries: readonly TextQuery[]): string {
  return queries.map(textOfQuery).join('; ');
}

function editsText({ fuzziness }: MatchQuery): string {
  if (fuzziness === 0) return '';
  return fuzziness === null ? ', edits by length' : `, ${fuzziness} edits`;
}
