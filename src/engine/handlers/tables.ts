import type { Answer } from '../../protocol/backend.ts';
import { emptyAnswer, restOn, jsonAnswer } from './call/answers.ts';
import type { Catalog } from '../catalog/catalog.ts';
import type { Stored, TableRecord } from '../format/records.ts';
import type { Call, HandlerTable, Handler } from './call/handler.ts';
import { countField } from '../base/fields.ts';
import { MAIN_CHAIN } from '../format/chain.ts';
import type { Tags } from '../versions/lines/tags.ts';
import type { VendingStores } from '../../storage/vending/credential-vendor.ts';
import { describeTable } from './tables/describe-table.ts';
import { dropTable } from './tables/deregister-table.ts';
import { listTags, tagHandlers, type TagParts } from './versions/tags.ts';
import { tableStats } from './tables/table-stats.ts';
import { listTableVersions, describeVersion } from './versions/table-versions.ts';
import type { TableView } from './call/read-place.ts';
import { batchCommitTables } from './versions/batch-commit-tables.ts';
import { batchCreateVersions } from './versions/batch-create-versions.ts';
import { createVersion } from './versions/create-version.ts';
import type { ManagedParts } from './call/managed-parts.ts';
import { declareTable } from './tables/declare-table.ts';
import { registerTable } from './tables/register-table.ts';
import { backfillColumns, type BackfillColumnsParts } from './columns/backfill-columns.ts';
import { createIndex } from './jobs/create-index.ts';
import { jobHandlers } from './jobs/jobs.ts';
import type { TransactionParts } from './jobs/transaction-actions.ts';
import { transactionHandlers } from './jobs/transactions.ts';
import { warmColumns, type WarmingParts } from './jobs/warm-columns.ts';
import { branchHandlers } from './versions/branches.ts';
import { deleteVersions, restoreTable } from './versions/delete-versions.ts';
import { addColumns } from './columns/add-columns.ts';
import { alterColumns } from './columns/alter-columns.ts';
import { dropColumns } from './columns/drop-columns.ts';
import { updateFieldMetadata, updateSchemaMetadata } from './columns/field-metadata.ts';
import type { SchemaParts } from './columns/schema-change.ts';
import { namespaceHandlers, tableListHandlers } from './tables/namespaces.ts';
import { CatalogError } from '../../protocol/errors.ts';
import { branchParameter } from './call/parameters.ts';

const noParts =
  'this service takes the rows of a write in one stream: there are no writes of several parts, send them with insert';
const noBlobs =
  'this service keeps no values apart from their rows: ask for the column with a query';
const noLog =
  'this service keeps no log of merges beside its tables: a merge is part of the table, on stable storage, once it is answered';
const noComparison =
  'this service does not compare branches: query both, or insert into main what a query of the branch answers';
const noFunctions =
  'this service runs no code of clients: it keeps no functions; a computed column takes SQL';
const noViews =
  'this service keeps no materialized views: it has nothing that follows the tables of a source_query';

function refuse(message: string): Handler {
  return () => Promise.reject(new CatalogError('Unsupported', message));
}

interface AbsentParts {
  readonly catalog: Catalog;
  readonly tables: TableView;
}

/** Operations whose features are missing here: each explains the absence or answers null. */
function absentHandlers(parts: AbsentParts): HandlerTable {
  return {
    CreateMultipartWrite: refuse(noParts),
    CompleteMultipartWrite: refuse(noParts),
    AbortMultipartWrite: refuse(noParts),
    FetchBlobs: refuse(noBlobs),
    ReadBlob: refuse(noBlobs),
    FlushLsm: refuse(noLog),
    CompactLsm: refuse(noLog),
    SetLsmWriteSpec: refuse(noLog),
    UnsetLsmWriteSpec: refuse(noLog),
    DiffTableBranch: refuse(noComparison),
    CherryPickTableBranch: refuse(noComparison),
    CreateFunction: refuse(noFunctions),
    GetFunction: refuse(noFunctions),
    CreateMaterializedView: refuse(noViews),
    RefreshMaterializedView: refuse(noViews),
    GetLsmStats: (call) => none(parts, call, 'lsm_stats'),
    GetLsmWriteSpec: (call) => none(parts, call, 'lsm_write_spec'),
  };
}

async function none({ catalog, tables }: AbsentParts, call: Call, name: string): Promise<Answer> {
  const { content } = await catalog.requireTable(call.request.object);
  await tables.chain(content, branchParameter(call));
  return jsonAnswer(call, { [name]: null });
}

/** TableExists. */
export async function tableExists(
  catalog: Catalog,
  tables: TableView,
  call: Call,
): Promise<Answer> {
  const table = await catalog.requireTable(call.request.object);
  const version = countField(call.body, 'version');
  if (version === null) restOn(call, table, MAIN_CHAIN);
  else await requireVersion(tables, table, version, call);
  return emptyAnswer(call);
}

async function requireVersion(
  tables: TableView,
  table: Stored<TableRecord>,
  version: bigint,
  call: Call,
): Promise<void> {
  if (table.content.kind !== 'engine') return void (await tables.version(table.content, version));
  const { record } = await tables.found(table.content, version);
  restOn(call, table, MAIN_CHAIN, record);
}

/** The operations on tables that Lance clients write. */
export function tableObjectHandlers(parts: ManagedParts): HandlerTable {
  return {
    DeclareTable: declareTable(parts),
    RegisterTable: registerTable(parts),
    CreateTableVersion: createVersion(parts),
    BatchCreateTableVersions: batchCreateVersions(parts),
    BatchCommitTables: batchCommitTables(parts),
  };
}

type WorkParts = BackfillColumnsParts & TransactionParts & AbsentParts & WarmingParts;

/** The operations of work that continues after its request, or before another, and of what this service cannot run. */
export function workHandlers(parts: WorkParts & { readonly page: number }): HandlerTable {
  return {
    AlterTableBackfillColumns: backfillColumns(parts),
    CreateTableIndex: createIndex(parts),
    CreateTableScalarIndex: createIndex(parts),
    ...transactionHandlers(parts),
    ...jobHandlers(parts, parts.page),
    PrewarmPageCache: warmColumns(parts),
    ...absentHandlers(parts),
  };
}

/** The operations on a table's versions, their tags and branches. */
export function historyHandlers(parts: TagParts): HandlerTable {
  const { catalog, tables } = parts;
  return {
    ...tagHandlers(parts),
    ...branchHandlers(parts),
    RestoreTable: restoreTable(catalog, tables),
    DescribeTableVersion: describeVersion(catalog, tables),
    BatchDeleteTableVersions: deleteVersions(parts),
  };
}

/** The operations that change a table's columns and their metadata. */
export function schemaHandlers(parts: SchemaParts): HandlerTable {
  return {
    AlterTableAddColumns: addColumns(parts),
    AlterTableAlterColumns: alterColumns(parts),
    AlterTableDropColumns: dropColumns(parts),
    UpdateFieldMetadata: updateFieldMetadata(parts),
    UpdateTableSchemaMetadata: updateSchemaMetadata(parts),
  };
}

/**
 * The handlers of namespaces and of table metadata.
 * @param pageLimit The most entries that a listing answers at once.
 */
export function catalogHandlers(
  catalog: Catalog,
  tables: TableView,
  tags: Tags,
  pageLimit: number,
  vending?: VendingStores,
): HandlerTable {
  return {
    ...namespaceHandlers(catalog, tables, pageLimit),
    ...tableListHandlers(catalog, pageLimit),
    DescribeTable: (call) => describeTable(catalog, tables, tags, call, vending),
    TableExists: (call) => tableExists(catalog, tables, call),
    DropTable: (call) => dropTable(catalog, tables, call),
    ListTableVersions: (call) => listTableVersions(catalog, tables, pageLimit, call),
    GetTableStats: (call) => tableStats(catalog, tables, tags, call),
    ListTableTags: (call) => listTags({ catalog, tags, pageLimit }, call),
  };
}
