import { join } from 'node:path';
import type { Answer } from '../../../protocol/backend.ts';
import { CatalogError } from '../../../protocol/errors.ts';
import { textField } from '../../base/fields.ts';
import { statementOf } from '../../base/statement.ts';
import { fieldPlace } from '../../format/field-place.ts';
import { readManifestFile } from '../../format/lance/manifest-file.ts';
import { arrowFields } from '../../format/lance/lance-schema.ts';
import { schemaOf } from '../../../arrow/nested-type.ts';
import type { Stored, TableRecord } from '../../format/records.ts';
import { placeSummary } from '../../once/commit-summary.ts';
import type { JobRunner } from '../../upkeep/jobs/job-runner.ts';
import type { LanceIndexJob, TransactionRecord } from '../../upkeep/jobs/transaction.ts';
import type { Transactions } from '../../upkeep/jobs/transactions.ts';
import {
  lanceIndexNames,
  type LanceIndex,
  type LanceTableVersion,
} from '../../versions/managed/lance-library.ts';
import { emptyAnswer, jsonAnswer } from '../call/answers.ts';
import type { Call, HandlerTable } from '../call/handler.ts';
import { branchParameter, pageParameters } from '../call/parameters.ts';
import type { LibraryChanges } from '../rows/library-changes.ts';
import { libraryTable } from '../rows/library-reads.ts';
import { onLanceTables } from '../rows/lance-handlers.ts';
import { indexName } from './create-index.ts';
import { indexNotFound } from './indices.ts';
import { lanceIndexSpec } from '../../upkeep/jobs/lance-index-spec.ts';

/** Parts of the operations on indices of Lance tables. */
export interface LanceIndexParts extends LibraryChanges {
  readonly transactions: Transactions;
  readonly runner: JobRunner;
  /** The most entries that a listing answers at once. */
  readonly pageLimit: number;
}

/** The same handlers, of which those on indices answer for Lance tables by the library. */
export function withLanceIndices(parts: LanceIndexParts, handlers: HandlerTable): HandlerTable {
  return onLanceTables(parts, handlers, {
    ListTableIndices: (call, table) => listIndices(parts, call, table),
    DescribeTableIndexStats: (call, table) => indexStats(parts, call, table),
    PrewarmTableIndex: (call, table) => prewarm(parts, call, table),
    CreateTableIndex: (call, table) => createIndex(parts, call, table),
    CreateTableScalarIndex: (call, table) => createIndex(parts, call, table),
  });
}

async function listIndices(
  parts: LanceIndexParts,
  call: Call,
  table: Stored<TableRecord>,
): Promise<Answer> {
  const place = await libraryTable(parts, call, table, call.body);
  const { limit, after } = pageParameters(call, parts.pageLimit);
  const found = await parts.library.indices(place, statementOf(call));
  const names = (one: LanceIndex, other: LanceIndex) => (one.name < other.name ? -1 : 1);
  const all = found.toSorted(names).filter(({ name }) => name > after);
  const shown = all.slice(0, limit);
  return jsonAnswer(call, {
    indexes: shown.map(contentOf),
    page_token: all.length > limit ? shown.at(-1)?.name : undefined,
  });
}

function contentOf(index: LanceIndex): object {
  const { name, indexUuid, columns, indexType, indexDetails = {} } = index;
  return {
    index_name: name,
    index_uuid: indexUuid ?? '',
    columns,
    status: (index.numUnindexedRows ?? 0) === 0 ? 'done' : 'indexing',
    index_type: lanceIndexNames[indexType] ?? 'Unknown',
    type_url: index.typeUrl,
    num_indexed_rows: index.numIndexedRows,
    num_unindexed_rows: index.numUnindexedRows,
    size_bytes: index.sizeBytes,
    num_segments: index.numSegments,
    created_at: index.createdAt,
    index_version: index.indexVersion,
    index_details: typeof indexDetails === 'string' ? indexDetails : JSON.stringify(indexDetails),
  };
}

async function indexStats(
  parts: LanceIndexParts,
  call: Call,
  table: Stored<TableRecord>,
): Promise<Answer> {
  const place = await libraryTable(parts, call, table, call.body);
  const { indexName: name = '' } = call.request;
  const stats = await parts.library.indexStats(place, name, statementOf(call));
  if (stats === null) throw indexNotFound(call);
  return jsonAnswer(call, {
    num_indexed_rows: stats.numIndexedRows,
    num_unindexed_rows: stats.numUnindexedRows,
    index_type: stats.indexType,
    distance_type: stats.distanceType ?? null,
    num_indices: stats.numIndices ?? 1,
  });
}

async function prewarm(
  parts: LanceIndexParts,
  call: Call,
  table: Stored<TableRecord>,
): Promise<Answer> {
  const place = await libraryTable(parts, call, table, {});
  const { indexName: name = '' } = call.request;
  const { segments } = await manifestOf(parts, place);
  if (!segments.some((segment) => segment.name === name)) throw indexNotFound(call);
  await parts.library.prewarm(place, name, statementOf(call));
  return emptyAnswer(call);
}

/** A job that has the library build the index; its id is a transaction's, too. */
async function createIndex(
  parts: LanceIndexParts,
  call: Call,
  table: Stored<TableRecord>,
): Promise<Answer> {
  const { object } = call.request;
  const index = lanceIndexSpec(call.body);
  const column = textField(call.body, 'column') ?? '';
  const branch = branchParameter(call);
  const place = await libraryTable(parts, call, table, {});
  const { manifest, segments } = await manifestOf(parts, place);
  fieldPlace(column, schemaOf(arrowFields(manifest.fields), new Map()));
  const chain = await parts.tables.chain(table.content, branch);
  const job: LanceIndexJob = {
    type: 'lance_index',
    column,
    where: null,
    name: indexName(call.body, column),
    index,
    replace: call.request.dialect === 'lancedb',
    branch,
    branchKey: chain.key,
  };
  if (!job.replace && segments.some(({ name }) => name === job.name)) {
    const why = `the table already has an index ${JSON.stringify(job.name)}`;
    throw new CatalogError('TableIndexAlreadyExists', why);
  }
  const answer = ({ id }: TransactionRecord): Answer =>
    jsonAnswer(
      call,
      { transaction_id: id },
      { commit: placeSummary('create_index', table.content.id) },
    );
  const seal = call.once.seal(answer);
  // An adopted table has another record than the request found.
  const current = await parts.catalog.requireTable(object);
  const record = await parts.transactions.begin({ path: object, table: current, job, seal });
  parts.runner.wake();
  return answer(record);
}

function manifestOf(
  { storage }: LanceIndexParts,
  { location, at }: LanceTableVersion,
): ReturnType<typeof readManifestFile> {
  return readManifestFile(storage, join(location, at.manifest));
}
