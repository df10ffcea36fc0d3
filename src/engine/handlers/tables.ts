import type { Answer } from '../../protocol/backend.ts';
import { emptyAnswer, restOn, jsonAnswer } from './call/answers.ts';
import type { Catalog } from '../catalog/catalog.ts';
import type { Stored, TableRecord } from '../format/records.ts';
import type { Call, HandlerTable, Handler } from './call/handler.ts';
import {
  countField,
  describe,
  fieldError,
  flagField,
  textField,
  type Fields,
} from '../base/fields.ts';
import { MAIN_CHAIN } from '../format/chain.ts';
import type { Tags } from '../versions/lines/tags.ts';
import { describeTable } from './tables/describe-table.ts';
import { dropTable } from './tables/deregister-table.ts';
import { listTags, tagHandlers, type TagParts } from './versions/tags.ts';
import { tableStats } from './tables/table-stats.ts';
import { listTableVersions, describeVersion } from './versions/table-versions.ts';
import type { TableView } from './call/read-place.ts';
import { KnownManifests } from '../versions/managed/known-manifests.ts';
import { batchCommitTables } from './versions/batch-commit-tables.ts';
import { batchCreateVersions } from './versions/batch-create-versions.ts';
import { createVersion } from './versions/create-version.ts';
import type { ManagedParts } from './call/managed-parts.ts';
import { declareTable } from './tables/declare-table.ts';
import { registerTable } from './tables/register-table.ts';
import { backfillColumns, type BackfillColumnsParts } from './columns/backfill-columns.ts';
import { createIndex } from './jobs/create-index.ts';
import { foreignCodeHandlers } from './jobs/foreign-code.ts';
import { jobHandlers } from './jobs/jobs.ts';
import type { TransactionParts } from './jobs/transaction-actions.ts';
import { transactionHandlers } from './jobs/transactions.ts';
import { warmColumns, type WarmingParts } from './jobs/warm-columns.ts';
import { branchHandlers } from './versions/branches.ts';
import { deleteVersions, restoreTable } from './versions/delete-versions.ts';
import { addColumns } from './columns/add-columns.ts';
import { alterColumns } from './columns/alter-columns.ts';
import { dropColumns } from './columns/drop-columns.ts';
import {
  commitSchemaChange,
  versionAnswer,
  type SchemaParts,
  type ChangeBase,
} from './columns/schema-change.ts';
import { namespaceHandlers, tableListHandlers } from './tables/namespaces.ts';
import { CatalogError } from '../../protocol/errors.ts';
import { branchParameter } from './call/parameters.ts';
import { schemaOf } from '../../arrow/nested-type.ts';
import type { Contents } from '../format/change.ts';
import { commitSummary } from '../once/commit-summary.ts';
import { isJsonObject, type JsonValue } from '../../protocol/json.ts';
import type { Field } from 'apache-arrow';
import { changedAt, fieldAt, fieldPlace } from '../format/field-place.ts';
import { tableColumns, withColumns } from '../format/table-columns.ts';
import type { Committed } from '../versions/lines/version-commits.ts';
import { pairs } from '../base/items.ts';

const noParts =
  'this service takes the rows of a write in one stream: there are no writes of several parts, send them with insert';
const noBlobs =
  'this service keeps no values apart from their rows: ask for the column with a query';
const noLog =
  'this service keeps no log of merges beside its tables: a merge is part of the table, on stable storage, once it is answered';
const noComparison =
  'this service does not compare branches: query both, or insert into main what a query of the branch answers';

function refuse(message: string): Handler {
  return () => Promise.reject(new CatalogError('Unsupported', message));
}

interface AbsentParts {
  readonly catalog: Catalog;
  readonly tables: TableView;
}

/** Routes of newer clients for missing features: each explains the absence or answers null. */
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
export function tableObjectHandlers(managed: ManagedParts): HandlerTable {
  const parts = { ...managed, manifests: new KnownManifests() };
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
    ...foreignCodeHandlers,
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
): HandlerTable {
  return {
    ...namespaceHandlers(catalog, tables, pageLimit),
    ...tableListHandlers(catalog, pageLimit),
    DescribeTable: (call) => describeTable(catalog, tables, tags, call),
    TableExists: (call) => tableExists(catalog, tables, call),
    DropTable: (call) => dropTable(catalog, tables, call),
    ListTableVersions: (call) => listTableVersions(catalog, tables, pageLimit, call),
    GetTableStats: (call) => tableStats(catalog, tables, tags, call),
    ListTableTags: (call) => listTags({ catalog, tags, pageLimit }, call),
  };
}

/**
 * UpdateTableSchemaMetadata: the body is the map itself, and so is the answer:
 * all that the schema has then.
 *
 * Keys that the body does not name stay, null takes one away. The namespace
 * specification speaks of replacing and of key-value pairs to set; its reference
 * server merges, as an update of a field's metadata does, and clients keep what
 * they must not lose in other keys (the LanceDB client its embedding functions).
 */
function updateSchemaMetadata(parts: SchemaParts): Handler {
  return async (call) => {
    const change = metadataOf(call.body, 'metadata');
    const changed = ({ base }: ChangeBase): Contents => ({
      ...base,
      schema: schemaOf(base.schema.fields, mergedMetadata(base.schema.metadata, change)),
    });
    return commitSchemaChange(parts, call, changed, (made) =>
      jsonAnswer(call, Object.fromEntries(made.manifest.schema.metadata), {
        commit: commitSummary('update_schema_metadata', made),
      }),
    );
  };
}

/** Values to set by key; null takes the key away. */
type MetadataChange = readonly (readonly [string, string | null])[];

/**
 * A map of a request.
 * @param where Its name, for refusals.
 * @throws CatalogError InvalidInput for a value that is neither text nor null.
 */
function metadataOf(map: Readonly<Record<string, JsonValue>>, where: string): MetadataChange {
  return Object.entries(map).map(([key, value]) => {
    if (value !== null && typeof value !== 'string') {
      throw fieldError(`${where}.${key}`, 'a string or null', describe(value));
    }
    return [key, value];
  });
}

/** Metadata with a change made to it; keys that the change does not name stay. */
function mergedMetadata(
  metadata: ReadonlyMap<string, string>,
  change: MetadataChange,
): Map<string, string> {
  const merged = new Map(metadata);
  for (const [key, value] of change) {
    if (value === null) merged.delete(key);
    else merged.set(key, value);
  }
  return merged;
}

/** A change of one field's metadata. */
interface FieldUpdate {
  readonly path: string;
  readonly metadata: MetadataChange;
  /** Whether unnamed keys are removed. */
  readonly replace: boolean;
}

/** UpdateFieldMetadata: answers the new metadata of each field by the path in the request. */
function updateFieldMetadata(parts: SchemaParts): Handler {
  return async (call) => {
    const updates = updatesField(call.body);
    const change = ({ base }: ChangeBase) => updated(base, updates);
    return commitSchemaChange(parts, call, change, (made) => answer(call, updates, made));
  };
}

function answer(call: Call, updates: readonly FieldUpdate[], made: Committed): Answer {
  const { schema } = made.manifest;
  const fields = updates.map(({ path }) => {
    const { metadata } = fieldAt(fieldPlace(path, schema));
    return [path, Object.fromEntries(metadata)] as const;
  });
  const more = { fields: Object.fromEntries(fields) };
  return versionAnswer(call, 'update_field_metadata', made, more);
}

function updatesField(body: Fields): readonly FieldUpdate[] {
  const value = body['updates'];
  const entries = Array.isArray(value) ? value.filter(isJsonObject) : [];
  if (entries.length === 0) {
    throw new CatalogError('InvalidInput', 'updates must have at least one entry');
  }
  return entries.map((entry) => {
    const metadata = entry['metadata'];
    return {
      path: textField(entry, 'path') ?? '',
      metadata: metadataOf(isJsonObject(metadata) ? metadata : {}, 'metadata'),
      replace: flagField(entry, 'replace', false),
    };
  });
}

function updated(base: Contents, updates: readonly FieldUpdate[]): Contents {
  const fields = updates.reduce<readonly Field[]>((changed, { path, metadata, replace }) => {
    const { positions } = fieldPlace(path, base.schema);
    return changedAt(changed, positions, (field) =>
      field.clone({ metadata: mergedMetadata(replace ? new Map() : field.metadata, metadata) }),
    );
  }, base.schema.fields);
  return withColumns(
    base,
    pairs(tableColumns(base), fields).map(([{ id }, field]) => ({ id, field })),
  );
}
