import {
  float,
  int32,
  integer,
  listOf,
  model,
  oneOf,
  optional,
  record,
  text,
  textList,
} from './model-kinds.ts';

/** Models of full-text searches. */
export const ftsModels = {
  StringFtsQuery: record({ columns: optional(textList()), query: text() }),
  StructuredFtsQuery: record({ query: model('FtsQuery') }),
  FtsQuery: record({
    match: optional(model('MatchQuery')),
    phrase: optional(model('PhraseQuery')),
    boost: optional(model('BoostQuery')),
    multi_match: optional(model('MultiMatchQuery')),
    boolean: optional(model('BooleanQuery')),
  }),
  MatchQuery: record({
    boost: optional(float()),
    column: optional(text()),
    fuzziness: optional(int32()),
    max_expansions: optional(integer()),
    operator: optional(model('Operator')),
    prefix_length: optional(int32()),
    terms: text(),
  }),
  PhraseQuery: record({ column: optional(text()), slop: optional(int32()), terms: text() }),
  BoostQuery: record({
    positive: model('FtsQuery'),
    negative: model('FtsQuery'),
    negative_boost: optional(float()),
  }),
  // Lance's own serialiser writes the flat form, the specification the list (wire-contract 5.4).
  MultiMatchQuery: oneOf('an object with match_queries, or with query and columns', [
    record({ match_queries: listOf(model('MatchQuery')) }),
    record({ query: text(), columns: textList(), boost: optional(listOf(float())) }),
  ]),
  BooleanQuery: record({
    must: listOf(model('FtsQuery')),
    must_not: listOf(model('FtsQuery')),
    should: listOf(model('FtsQuery')),
  }),
  Operator: text(),
};
