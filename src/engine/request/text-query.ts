/** A search for words of a column. */
export interface MatchQuery {
  readonly kind: 'match';
  /** Null for all indexed columns. */
  readonly column: string | null;
  readonly terms: string;
  /** Factor of the scores. */
  readonly boost: number;
  /** Greatest number of edits; null for a default by word length. */
  readonly fuzziness: number | null;
  /** Greatest number of expansions of misspelt words. */
  readonly maxExpansions: number;
  /** Whether a text must contain all words. */
  readonly all: boolean;
  /** Number of leading characters that must match. */
  readonly prefixLength: number;
}

/** A phrase: words in sequence, with at most `slop` other words between two. */
export interface PhraseQuery {
  readonly kind: 'phrase';
  readonly column: string | null;
  readonly terms: string;
  readonly slop: number;
}

/** Results of one query with lowered scores for rows that another finds too. */
interface BoostQuery {
  readonly kind: 'boost';
  readonly positive: TextQuery;
  readonly negative: TextQuery;
  readonly negativeBoost: number;
}

/** Union of queries with the best score. */
interface BestQuery {
  readonly kind: 'best';
  readonly queries: readonly TextQuery[];
}

/**
 * A boolean query. Rows match all of `must` and none of `mustNot`; `should` adds to scores, and at
 * least one must match if `must` is empty.
 */
export interface BooleanQuery {
  readonly kind: 'boolean';
  readonly must: readonly TextQuery[];
  readonly should: readonly TextQuery[];
  readonly mustNot: readonly TextQuery[];
}

/** A full-text search, in the form of either client. */
export type TextQuery = MatchQuery | PhraseQuery | BoostQuery | BestQuery | BooleanQuery;

/** Words of one column. */
export type LeafQuery = MatchQuery | PhraseQuery;

/** The leaf queries of a query, from left to right. */
export function leavesOf(query: TextQuery): readonly LeafQuery[] {
  if (query.kind === 'match' || query.kind === 'phrase') return [query];
  return partsOf(query).flatMap(leavesOf);
}

function partsOf(query: BoostQuery | BestQuery | BooleanQuery): readonly TextQuery[] {
  if (query.kind === 'boost') return [query.positive, query.negative];
  if (query.kind === 'best') return query.queries;
  return [...query.must, ...query.should, ...query.mustNot];
}

/** Describes a query in words. */
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
