import { CatalogError } from '../../../protocol/errors.ts';
import type { Formula } from '../../base/statement.ts';
import { fieldAt, fieldPlace } from '../../format/field-place.ts';
import { indexFileOf } from '../keys/index-upkeep.ts';
import type { Fragment, IndexDefinition, Snapshot } from '../../format/snapshot.ts';
import { defaultTextOptions } from '../../tokens/text-options.ts';
import { leavesOf, type LeafQuery, type TextQuery } from '../../request/text-query.ts';
import { onlyItem } from '../../base/items.ts';

/** A searched column and its text index. */
export interface SearchedText {
  readonly column: string;
  readonly index: IndexDefinition;
}

/** A full-text search of a table. */
export interface TextPlan {
  /** The query with a column in each leaf. */
  readonly query: TextQuery;
  readonly texts: readonly SearchedText[];
  /** Whether rows without an index are left out. */
  readonly fastSearch: boolean;
  /** Number of rows kept before the postfilter; null for all. */
  readonly keep: number | null;
  /** Filters the rows that the search kept. */
  readonly postfilter: Formula | null;
}

/**
 * Plans a full-text search: the query with its columns, and its indices.
 * @throws CatalogError TableColumnNotFound; TableIndexNotFound for a column without a text index;
 * InvalidInput for a phrase if the index has no positions.
 */
export function planText(
  query: TextQuery,
  snapshot: Snapshot,
): { readonly query: TextQuery; readonly texts: readonly SearchedText[] } {
  const indexed = indexedTexts(snapshot);
  const planned = withColumns(query, indexed, snapshot);
  const columns = new Set(leavesOf(planned).map(({ column }) => column));
  return { query: planned, texts: indexed.filter(({ column }) => columns.has(column)) };
}

/** The columns with a text index, each with its newest one. */
function indexedTexts({ indices = [], schema, fieldIds }: Snapshot): readonly SearchedText[] {
  const found = new Map<string, SearchedText>();
  for (const index of indices) {
    const column = schema.fields[fieldIds.indexOf(index.field)]?.name;
    if (index.type !== 'FTS' || column === undefined) continue;
    const other = found.get(column);
    if (other !== undefined && other.index.createdMillis > index.createdMillis) continue;
    found.set(column, { column, index });
  }
  return [...found.values()];
}

function withColumns(
  query: TextQuery,
  indexed: readonly SearchedText[],
  snapshot: Snapshot,
): TextQuery {
  const each = (one: TextQuery) => withColumns(one, indexed, snapshot);
  if (query.kind === 'match' || query.kind === 'phrase') return leafOf(query, indexed, snapshot);
  if (query.kind === 'boost') {
    return { ...query, positive: each(query.positive), negative: each(query.negative) };
  }
  if (query.kind === 'best') return { ...query, queries: query.queries.map(each) };
  const [must, should, mustNot] = [query.must, query.should, query.mustNot];
  return {
    ...query,
    must: must.map(each),
    should: should.map(each),
    mustNot: mustNot.map(each),
  };
}

function leafOf(query: LeafQuery, indexed: readonly SearchedText[], snapshot: Snapshot): TextQuery {
  if (query.column !== null) {
    const text = indexedText(query.column, indexed, snapshot);
    checkPositions(query, text);
    return { ...query, column: text.column };
  }
  const [newest] = indexed;
  if (newest === undefined) {
    const message = 'the table has no text index: a full-text search needs one of type FTS';
    throw new CatalogError('TableIndexNotFound', message);
  }
  const fit = indexed.filter((text) => query.kind === 'match' || knowsPositions(text));
  if (fit.length === 0) checkPositions(query, newest);
  const queries = fit.map(({ column }): TextQuery => ({ ...query, column }));
  return onlyItem(queries) ?? { kind: 'best', queries };
}

function indexedText(
  name: string,
  indexed: readonly SearchedText[],
  { schema }: Snapshot,
): SearchedText {
  const place = fieldPlace(name, schema);
  const found = indexed.find(({ column }) => column === fieldAt(place).name);
  if (place.fields.length === 1 && found !== undefined) return found;
  throw new CatalogError(
    'TableIndexNotFound',
    `the column ${JSON.stringify(name)} has no text index: a full-text search needs one of type FTS`,
  );
}

function knowsPositions({ index }: SearchedText): boolean {
  return (index.text ?? defaultTextOptions).with_position;
}

function checkPositions({ kind }: LeafQuery, text: SearchedText): void {
  if (kind !== 'phrase' || knowsPositions(text)) return;
  const { column, index } = text;
  throw new CatalogError(
    'InvalidInput',
    `the index ${JSON.stringify(index.name)} of the column ${JSON.stringify(column)} does not know positions, which a phrase needs: make it anew with with_position`,
  );
}

/** The fragments that an index of a search does not cover. */
export function unindexed({ texts }: TextPlan, { fragments }: Snapshot): readonly Fragment[] {
  return fragments.filter((fragment) =>
    texts.some(({ index }) => indexFileOf(fragment, index) === undefined),
  );
}
