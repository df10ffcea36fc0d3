import {
  answered,
  branched,
  flag,
  float,
  int32,
  int64,
  integer,
  listOf,
  model,
  oneOf,
  optional,
  record,
  text,
  textList,
  textMap,
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
  // Lance's own serialiser writes the flat form, the specification the list.
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

/* Both client families' shapes of a query. */

const vector = () =>
  oneOf(
    'a list of numbers, a list of such lists, or an object with single_vector or multi_vector',
    [
      listOf(float()),
      listOf(listOf(float())),
      // An empty object is no vector: the generated Python client must send one.
      record({
        single_vector: optional(listOf(float())),
        multi_vector: optional(listOf(listOf(float()))),
      }),
    ],
  );

const columns = () =>
  oneOf('a list of names, an object of aliases, or an object with column_names or column_aliases', [
    textList(),
    record({ column_names: textList() }),
    record({ column_aliases: textMap() }),
    textMap(),
  ]);

const fullTextQuery = () =>
  oneOf('an object with string_query, structured_query or query', [
    record({ string_query: model('StringFtsQuery') }),
    record({ structured_query: model('StructuredFtsQuery') }),
    model('StringFtsQuery'),
    model('StructuredFtsQuery'),
  ]);

/** Additional fields of LanceDB queries. */
const extras = () => ({
  minimum_nprobes: optional(integer()),
  maximum_nprobes: optional(integer()),
  approx_mode: optional(text()),
  use_lsm: optional(flag()),
  order_by: optional(listOf(model('OrderByEntry'))),
});

const query = () => ({
  ...branched(),
  bypass_vector_index: optional(flag()),
  columns: optional(columns()),
  distance_type: optional(text()),
  ef: optional(integer()),
  fast_search: optional(flag()),
  filter: optional(text()),
  full_text_query: optional(fullTextQuery()),
  // Required by the specification; without them a query is a plain scan without a limit.
  k: optional(integer()),
  vector: optional(vector()),
  lower_bound: optional(float()),
  nprobes: optional(integer()),
  offset: optional(integer()),
  prefilter: optional(flag()),
  refine_factor: optional(int32()),
  upper_bound: optional(float()),
  vector_column: optional(text()),
  version: optional(int64()),
  with_row_id: optional(flag()),
  ...extras(),
});

/** Models of reading rows. */
export const queryModels = {
  CountTableRowsRequest: record({
    ...branched(),
    version: optional(int64()),
    predicate: optional(text()),
  }),
  CountTableRowsResponse: record({ ...answered(), count: optional(int64()) }),
  QueryTableRequest: record(query()),
  QueryTableResponse: record({ ...answered(), data: optional(text()) }),
  ExplainTableQueryPlanRequest: record({
    ...branched(),
    query: model('QueryTableRequest'),
    verbose: optional(flag()),
  }),
  ExplainTableQueryPlanResponse: record({ ...answered(), plan: text() }),
  AnalyzeTableQueryPlanRequest: record(query()),
  AnalyzeTableQueryPlanResponse: record({ ...answered(), analysis: text() }),
};
