import type * as LanceDb from '@lancedb/lancedb';
import type { BooleanQuery, MatchQuery, TextQuery } from '../../engine/request/text-query.ts';

/** A query that the library cannot answer. Its message is for the client. */
class InvalidQuery extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'InvalidQuery';
  }
}

/** A full-text search of the library: words in all columns, or a structure. */
export type LibraryText = string | LanceDb.FullTextQuery;

/** @throws InvalidQuery for what the library cannot search. */
export function textSearchOf(library: typeof LanceDb, query: TextQuery): LibraryText {
  return isPlain(query) ? query.terms : structureOf(library, query);
}

/** Words in all indexed columns, without any option. */
function isPlain(query: TextQuery): query is MatchQuery {
  if (query.kind !== 'match' || query.column !== null) return false;
  const { boost, fuzziness, all, prefixLength } = query;
  return boost === 1 && fuzziness === 0 && !all && prefixLength === 0;
}

function structureOf(library: typeof LanceDb, query: TextQuery): LanceDb.FullTextQuery {
  if (query.kind === 'match') return matchOf(library, query);
  if (query.kind === 'phrase') {
    const { terms, column, slop } = query;
    return new library.PhraseQuery(terms, named(column), { slop });
  }
  if (query.kind === 'boost') {
    const [positive, negative] = [query.positive, query.negative];
    return new library.BoostQuery(structureOf(library, positive), structureOf(library, negative), {
      negativeBoost: query.negativeBoost,
    });
  }
  return query.kind === 'best' ? bestOf(library, query.queries) : booleanOf(library, query);
}

function matchOf(library: typeof LanceDb, query: MatchQuery): LanceDb.FullTextQuery {
  const { terms, column, boost, maxExpansions, prefixLength } = query;
  return new library.MatchQuery(terms, named(column), {
    boost,
    // Null, which the type lacks, means a default by word length; undefined means no edits.
    fuzziness: query.fuzziness as number,
    maxExpansions,
    operator: operatorOf(library, query),
    prefixLength,
  });
}

/** The library searches several columns for the same words. */
function bestOf(library: typeof LanceDb, queries: readonly TextQuery[]): LanceDb.FullTextQuery {
  const matches = queries.filter((each) => each.kind === 'match');
  const [first] = matches;
  const alike = matches.every((each) => each.terms === first?.terms && each.all === first.all);
  if (
    first === undefined ||
    !alike ||
    matches.length < queries.length ||
    !matches.every(isSimple)
  ) {
    throw new InvalidQuery(
      'a multi_match of a Lance table searches its columns for the same words',
    );
  }
  const columns = matches.map(({ column }) => named(column));
  return new library.MultiMatchQuery(first.terms, columns, {
    boosts: matches.map(({ boost }) => boost),
    operator: operatorOf(library, first),
  });
}

function isSimple({ fuzziness, prefixLength }: MatchQuery): boolean {
  return fuzziness === 0 && prefixLength === 0;
}

function booleanOf(library: typeof LanceDb, query: BooleanQuery): LanceDb.FullTextQuery {
  const { Occur } = library;
  const part = (occur: LanceDb.Occur, queries: readonly TextQuery[]) =>
    queries.map((each): [LanceDb.Occur, LanceDb.FullTextQuery] => [
      occur,
      structureOf(library, each),
    ]);
  return new library.BooleanQuery([
    ...part(Occur.Must, query.must),
    ...part(Occur.Should, query.should),
    ...part(Occur.MustNot, query.mustNot),
  ]);
}

function operatorOf({ Operator }: typeof LanceDb, { all }: MatchQuery): LanceDb.Operator {
  return all ? Operator.And : Operator.Or;
}

function named(column: string | null): string {
  if (column !== null) return column;
  throw new InvalidQuery('a structured search of a Lance table must name a column in each part');
}
