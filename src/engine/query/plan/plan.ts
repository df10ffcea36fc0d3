import type { Field, Schema } from 'apache-arrow';
import { CatalogError } from '../../../protocol/errors.ts';
import { holdsMultivectors } from '../../../arrow/distance/multivector.ts';
import type { Snapshot } from '../../format/snapshot.ts';
import { planText, type TextPlan } from '../../index/text/text-plan.ts';
import type { ColumnPath } from '../../request/column-path.ts';
import {
  DISTANCE,
  needOf,
  QUERY_INDEX,
  ROW_ID,
  ROW_OFFSET,
  rowFieldsOf,
  SCORE,
  withComputed,
  type ColumnNeed,
} from '../../request/computed-columns.ts';
import { predicateFormula } from '../../request/formula.ts';
import type { DistanceBounds } from '../../index/vectors/nearest-rows.ts';
import { answeredColumns, type AnsweredColumns } from '../scan/answered-columns.ts';
import { columnsRead, type Projection } from '../scan/projection.ts';
import type { NearestRequest, QueryRequest, TextRequest } from '../../request/request.ts';
import { prunedFiles, rowsOfFile } from '../scan/pruning.ts';
import type { ScanFile } from '../scan/scan.ts';
import type { VisibleSnapshot } from '../scan/visible-snapshot.ts';
import { ownStatement, type Statement, type Formula } from '../../base/statement.ts';
import { metricFor, type SearchMetric } from '../../request/search-metric.ts';
import { planSort, type SortPlan } from './sort-plan.ts';
import { indexFor, indexUse, type IndexUse } from '../../index/vectors/index-use.ts';
import { vectorColumn } from '../../request/vector-column.ts';
import type { Window } from '../scan/rows.ts';

/** A search for the nearest vectors. */
export interface NearestPlan {
  readonly column: ColumnPath;
  readonly metric: SearchMetric;
  /** Whether there are several query vectors; rows name theirs. */
  readonly batch: boolean;
  readonly vectors: readonly Float32Array[];
  readonly bounds: DistanceBounds;
  /** Rows kept per query vector before the postfilter; null for all. */
  readonly keep: number | null;
  /** Filters the rows that the search kept. */
  readonly postfilter: Formula | null;
  /** The vector index in use; null to compare all vectors. */
  readonly index: IndexUse | null;
}

/**
 * A query as plain data, in the order of its work: scan, filter, search or
 * sort, window, project. Every expression is bound.
 */
export interface QueryPlan {
  /** Shared state and budget of its expressions. */
  readonly statement: Statement;
  readonly snapshot: VisibleSnapshot;
  readonly files: readonly ScanFile[];
  readonly requestedFilter: Formula | null;
  /** Filter of scanned rows; null if all rows of the files are known to pass. */
  readonly filter: Formula | null;
  readonly filterNeed: ColumnNeed;
  readonly nearest: NearestPlan | null;
  readonly text: TextPlan | null;
  readonly sort: SortPlan | null;
  /** Applies per query vector. */
  readonly window: Window;
  readonly projections: readonly Projection[];
  /** Columns of the steps after the filter. */
  readonly need: ColumnNeed;
  /** The schema of the answer. */
  readonly schema: Schema;
}

/**
 * Plans a query over one version of a table. Nothing is read.
 * @throws CatalogError TableColumnNotFound or InvalidInput for what does not fit the table.
 */
export function planQuery(
  asksFor: QueryRequest,
  snapshot: VisibleSnapshot,
  statement: Statement = ownStatement(),
): QueryPlan {
  const { schema } = snapshot;
  const rowFields = rowFieldsOf(schema);
  const request = withColumn(asksFor, rowFields);
  const fields = resultFields(schema, request);
  requireRetained(request, snapshot);
  const {
    filter: requestedFilter,
    nearest,
    text,
  } = planFilters(request, snapshot, rowFields, fields, statement);
  const answered = answeredColumns(request.columns, schema, fields, extrasOf(request), statement);
  const sort = planSort(request.order, schema, fields);
  const { scanned, filter } = planScan(snapshot, requestedFilter);
  const asTheyLie = filter === null && nearest === null && text === null && sort === null;
  const { files, window } = planWindow(scanned, request, asTheyLie);
  return {
    statement,
    snapshot,
    files,
    requestedFilter,
    filter,
    filterNeed: needOf(schema, filter?.columns ?? []),
    nearest,
    text,
    sort,
    window,
    projections: answered.projections,
    need: withPostfilter(schema, answered, (nearest ?? text)?.postfilter ?? null),
    schema: answered.schema,
  };
}

/** A request with its searched column. */
interface PlannedRequest extends QueryRequest {
  readonly nearest: (NearestRequest & { readonly path: ColumnPath }) | null;
}

/**
 * Resolves the searched column. For a column of several vectors per row all query vectors are one
 * search, joined in sequence.
 */
function withColumn(request: QueryRequest, fields: readonly Field[]): PlannedRequest {
  const { nearest } = request;
  if (nearest === null) return { ...request, nearest };
  const lengths = nearest.vectors.map((vector) => vector.length);
  const path = vectorColumn(nearest.column, lengths, fields);
  if (!holdsMultivectors(path.field.type)) return { ...request, nearest: { ...nearest, path } };
  const size = lengths[0] ?? 0;
  const all = new Float32Array(size * lengths.length);
  for (const [at, vector] of nearest.vectors.entries()) all.set(vector, at * size);
  return { ...request, nearest: { ...nearest, path, batch: false, vectors: [all] } };
}

function withPostfilter(
  schema: Schema,
  { projections, need }: AnsweredColumns,
  postfilter: Formula | null,
): ColumnNeed {
  if (postfilter === null) return need;
  return needOf(schema, [...columnsRead(projections), ...postfilter.columns]);
}

/** Files of a scan of the whole table. */
export function allFiles(snapshot: Snapshot): readonly ScanFile[] {
  let offset = 0;
  return snapshot.fragments.map((fragment) => {
    const file = { fragment, offset };
    offset += fragment.rows;
    return file;
  });
}

function resultFields(schema: Schema, { nearest, text }: QueryRequest): readonly Field[] {
  if (text !== null) return withComputed(schema, [ROW_ID, ROW_OFFSET, SCORE]);
  if (nearest === null) return rowFieldsOf(schema);
  const found = nearest.batch ? [DISTANCE, QUERY_INDEX] : [DISTANCE];
  return withComputed(schema, [ROW_ID, ROW_OFFSET, ...found]);
}

function extrasOf({ nearest, text, withRowId }: QueryRequest) {
  const queryIndex = nearest?.batch === true;
  return { distance: nearest !== null, score: text !== null, queryIndex, rowId: withRowId };
}

interface Filters {
  readonly filter: Formula | null;
  readonly nearest: NearestPlan | null;
  readonly text: TextPlan | null;
}

function planFilters(
  request: PlannedRequest,
  snapshot: Snapshot,
  rowFields: readonly Field[],
  fields: readonly Field[],
  statement: Statement,
): Filters {
  const { nearest, text, filter: condition } = request;
  const behind = (nearest !== null || text !== null) && !request.prefilter;
  const judge =
    condition === null
      ? null
      : predicateFormula('filter', condition, behind ? fields : rowFields, statement);
  const [filter, postfilter] = behind ? [null, judge] : [judge, null];
  return {
    filter,
    nearest: nearest === null ? null : { ...planNearest(nearest, request, snapshot), postfilter },
    text: text === null ? null : planTextSearch(text, request, snapshot, postfilter),
  };
}

function planTextSearch(
  text: TextRequest,
  request: QueryRequest,
  snapshot: Snapshot,
  postfilter: Formula | null,
): TextPlan {
  const { query, fastSearch } = text;
  return { ...planText(query, snapshot), fastSearch, keep: keptBy(request), postfilter };
}

function planNearest(
  nearest: NonNullable<PlannedRequest['nearest']>,
  request: QueryRequest,
  snapshot: Snapshot,
): NearestPlan {
  const { path: column } = nearest;
  const index = indexFor(nearest, column, snapshot);
  // As in LanceDB, the index decides the distance if none is requested.
  const metric = metricFor(nearest.metric ?? index?.distance ?? null, column, nearest.vectors);
  const keep = keptBy(request);
  return {
    column,
    metric,
    batch: nearest.batch,
    vectors: nearest.vectors,
    bounds: { lower: nearest.lowerBound, upper: nearest.upperBound },
    keep,
    postfilter: null,
    index: indexUse(index, nearest, keep, metric, snapshot),
  };
}

function keptBy({ limit, offset }: QueryRequest): number | null {
  return limit === null ? null : limit + offset;
}

/** Limit of rows that a batch of searches keeps in memory for all of its vectors. */
const MAX_KEPT_ROWS = 2 ** 24;

function requireRetained(request: QueryRequest, { rows }: Snapshot): void {
  if (request.nearest?.batch !== true) return;
  const retained =
    Math.min(keptBy(request) ?? Infinity, Number(rows)) * request.nearest.vectors.length;
  if (retained <= MAX_KEPT_ROWS) return;
  throw new CatalogError(
    'InvalidInput',
    `a search may keep at most ${MAX_KEPT_ROWS} rows for all its vectors together, not ${retained}`,
  );
}

interface ScanPlan {
  readonly scanned: readonly ScanFile[];
  readonly filter: Formula | null;
}

/** Leaves out files without passing rows; drops the filter if all rows of the others pass. */
function planScan(snapshot: Snapshot, filter: Formula | null): ScanPlan {
  const all = allFiles(snapshot);
  if (filter === null) return { scanned: all, filter };
  const scanned = prunedFiles(snapshot, all, filter);
  return { scanned, filter: scanned.every(({ certain }) => certain === true) ? null : filter };
}

interface WindowPlan {
  readonly files: readonly ScanFile[];
  readonly window: Window;
}

/** Leaves out files outside of the window if rows are answered in table order. */
function planWindow(
  files: readonly ScanFile[],
  { offset, limit }: QueryRequest,
  asTheyLie: boolean,
): WindowPlan {
  if (!asTheyLie) return { files, window: { offset, limit } };
  let skip = offset;
  let wanted = Infinity;
  const read: ScanFile[] = [];
  for (const file of files) {
    const rows = rowsOfFile(file);
    if (read.length === 0 && rows !== null && rows <= skip) {
      skip -= rows;
      continue;
    }
    if (read.length === 0) wanted = skip + (limit ?? Infinity);
    if (wanted <= 0) break;
    read.push(file);
    wanted -= rows ?? 0;
  }
  return { files: read, window: { offset: skip, limit } };
}
