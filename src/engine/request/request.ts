import { CatalogError } from '../../protocol/errors.ts';
import { columnsField, orderField, type Selection, type OrderTerm } from './columns-field.ts';
import {
  countField,
  fieldError,
  flagField,
  integerField,
  numberField,
  textField,
  type Fields,
} from '../base/fields.ts';
import { fullTextField } from './text-field.ts';
import type { TextQuery } from './text-query.ts';
import { searchMetrics, type SearchMetric } from './search-metric.ts';
import { vectorField, type QueryVectors } from './vector-field.ts';

/** A requested search for the nearest vectors. */
export interface NearestRequest extends QueryVectors {
  /** Null for the default of the column. */
  readonly metric: SearchMetric | null;
  /** Least distance, inclusive. */
  readonly lowerBound: number | null;
  /** Upper bound of distances, exclusive. */
  readonly upperBound: number | null;
  /** The column to search; null for the table's only vector column. */
  readonly column: string | null;
  /** Index options of a search. */
  readonly index: IndexSettings;
}

/** Index options of a search. */
interface IndexSettings {
  /** Whether to compare all vectors and ignore indices. */
  readonly bypass: boolean;
  /** Whether rows that the index does not cover are left out. */
  readonly fast: boolean;
  /** Search effort; null for the default. */
  readonly probes: number | null;
  /** Partitions that are searched in any case; null for the default. */
  readonly leastProbes: number | null;
  /** Partitions that are searched at most, 0 for all; null for the default. */
  readonly mostProbes: number | null;
  /** Least number of rows that are compared by their own vectors. */
  readonly ef: number | null;
  /** Multiple of the limit that is compared by the rows' own vectors. */
  readonly refine: number | null;
}

/** A requested full-text search. */
export interface TextRequest {
  readonly query: TextQuery;
  /** Whether to leave out rows without an index. */
  readonly fastSearch: boolean;
}

/** A query in one form for all clients. */
export interface QueryRequest {
  /** Null for all columns. */
  readonly columns: readonly Selection[] | null;
  readonly filter: string | null;
  /** Whether the filter applies before the nearest rows are chosen. */
  readonly prefilter: boolean;
  readonly nearest: NearestRequest | null;
  /** A full-text search; a query has one kind of search. */
  readonly text: TextRequest | null;
  readonly order: readonly OrderTerm[];
  /** Rows to answer, for each query vector; null for no limit. */
  readonly limit: number | null;
  /** Rows to leave out before the first that is answered. */
  readonly offset: number;
  readonly withRowId: boolean;
}

/** Default limit of a search. */
const SEARCH_LIMIT = 10;

/**
 * The query in a request's body, in either client's form. Unknown keys are
 * ignored, and so are the settings of indexes: without one they change nothing.
 * @throws CatalogError InvalidInput naming the field, what was expected and what was found; Unsupported for
 * what is not built.
 */
export function parseQueryRequest(body: Fields): QueryRequest {
  checkIgnored(body);
  const nearest = nearestField(body);
  const text = textSearchField(body, nearest);
  return Object.freeze({
    columns: columnsField(body),
    filter: textField(body, 'filter'),
    prefilter: flagField(body, 'prefilter', true),
    nearest,
    text,
    order: orderField(body),
    limit: limitField(body, nearest === null && text === null ? null : SEARCH_LIMIT),
    offset: bounded(countField(body, 'offset') ?? 0n),
    withRowId: flagField(body, 'with_row_id', false),
  });
}

/** Clients merge the answers of two queries for a hybrid search. */
function textSearchField(body: Fields, nearest: NearestRequest | null): TextRequest | null {
  const query = fullTextField(body);
  if (query === null) return null;
  if (nearest === null) return { query, fastSearch: flagField(body, 'fast_search', false) };
  throw new CatalogError(
    'InvalidInput',
    'a query searches for vectors or for words: send vector and full_text_query in two queries and merge their answers',
  );
}

/** Settings of indices are still checked for their type. */
function checkIgnored(body: Fields): void {
  const counts = ['nprobes', 'minimum_nprobes', 'maximum_nprobes', 'ef', 'refine_factor'];
  for (const name of counts) integerField(body, name);
  const flags = ['fast_search', 'bypass_vector_index', 'use_lsm'];
  for (const name of flags) flagField(body, name, false);
}

function nearestField(body: Fields): NearestRequest | null {
  const vectors = vectorField(body);
  const metric = metricField(body);
  const lowerBound = numberField(body, 'lower_bound');
  const upperBound = numberField(body, 'upper_bound');
  const column = textField(body, 'vector_column');
  const index = indexSettings(body);
  return vectors === null ? null : { ...vectors, metric, lowerBound, upperBound, column, index };
}

/** A greatest number of probes of 0 is none. */
function indexSettings(body: Fields): IndexSettings {
  const number = (name: string) => {
    const value = integerField(body, name);
    return value === null ? null : bounded(value);
  };
  const least = number('nprobes') ?? number('minimum_nprobes');
  return {
    bypass: flagField(body, 'bypass_vector_index', false),
    fast: flagField(body, 'fast_search', false),
    probes: number('maximum_nprobes') === 0 ? Infinity : least,
    leastProbes: number('minimum_nprobes') ?? number('nprobes'),
    mostProbes: number('maximum_nprobes') ?? number('nprobes'),
    ef: number('ef'),
    refine: number('refine_factor'),
  };
}

function metricField(body: Fields): SearchMetric | null {
  const name = textField(body, 'distance_type');
  if (name === null) return null;
  const metric = searchMetrics.find((each) => each === name.toLowerCase());
  if (metric !== undefined) return metric;
  const expected = '"l2", "cosine", "dot" or "hamming"';
  throw fieldError('distance_type', expected, JSON.stringify(name));
}

/**
 * The field `k`. A client without a limit sends 2^63 - 1, or what an int32 cast
 * makes of that: -1.
 */
function limitField(body: Fields, absent: number | null): number | null {
  const limit = integerField(body, 'k');
  if (limit === null) return absent;
  if (limit === -1n || limit > BigInt(Number.MAX_SAFE_INTEGER)) return null;
  if (limit < 0n) throw fieldError('k', 'at least 0', String(limit));
  return Number(limit);
}

function bounded(count: bigint): number {
  return Number(count > BigInt(Number.MAX_SAFE_INTEGER) ? Number.MAX_SAFE_INTEGER : count);
}
