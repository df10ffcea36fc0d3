import {
  answered,
  branched,
  flag,
  int64,
  integer,
  maybe,
  model,
  named,
  optional,
  paged,
  record,
  text,
  textList,
  textMap,
  listOf,
  pageLimit,
} from './model-kinds.ts';
import { Type } from 'typebox';

/** Models of errors, identity, context and pages. */
export const commonModels = {
  ErrorResponse: record({
    ...answered(),
    error: optional(text()),
    code: integer(),
    detail: optional(text()),
    instance: optional(text()),
  }),
  Identity: record({ api_key: optional(text()), auth_token: optional(text()) }),
  Context: textMap(),
  PageToken: Type.Union([text(), Type.Null()]),
  PageLimit: Type.Union([pageLimit(), Type.Null()]),
  Binary: text(),
};

export const namespaceModels = {
  CreateNamespaceRequest: record({
    ...named(),
    mode: optional(text()),
    properties: optional(textMap()),
  }),
  CreateNamespaceResponse: record({
    ...answered(),
    transaction_id: optional(text()),
    properties: optional(textMap()),
  }),
  ListNamespacesRequest: record({ ...named(), ...paged() }),
  ListNamespacesResponse: record({
    ...answered(),
    namespaces: textList(),
    page_token: maybe(text()),
  }),
  DescribeNamespaceRequest: record({ ...named() }),
  DescribeNamespaceResponse: record({ ...answered(), properties: optional(textMap()) }),
  DropNamespaceRequest: record({ ...named(), mode: optional(text()), behavior: optional(text()) }),
  DropNamespaceResponse: record({
    ...answered(),
    properties: optional(textMap()),
    transaction_id: optional(textList()),
  }),
  NamespaceExistsRequest: record({ ...named() }),
  NamespaceExistsResponse: record({ ...answered() }),
};

/** Models of Arrow schemas and partitions as JSON. */
export const arrowModels = {
  JsonArrowSchema: record({
    fields: listOf(model('JsonArrowField')),
    metadata: optional(textMap()),
  }),
  JsonArrowField: record({
    metadata: optional(textMap()),
    name: text(),
    nullable: flag(),
    type: model('JsonArrowDataType'),
  }),
  JsonArrowDataType: record({
    fields: optional(listOf(model('JsonArrowField'))),
    length: optional(int64()),
    type: text(),
  }),
  PartitionTransform: record({
    type: text(),
    num_buckets: optional(integer()),
    width: optional(integer()),
  }),
  PartitionField: record({
    field_id: text(),
    source_ids: listOf(integer()),
    transform: optional(model('PartitionTransform')),
    expression: optional(text()),
    result_type: model('JsonArrowDataType'),
  }),
  PartitionSpec: record({ id: integer(), fields: listOf(model('PartitionField')) }),
};

/** Models of tables as a whole. */
export const tableModels = {
  RegisterTableRequest: record({
    ...named(),
    location: text(),
    mode: optional(text()),
    properties: optional(textMap()),
  }),
  RegisterTableResponse: record({
    ...answered(),
    transaction_id: optional(text()),
    location: optional(text()),
    properties: optional(textMap()),
  }),
  ListTablesRequest: record({ ...named(), ...paged(), include_declared: optional(flag()) }),
  ListTablesResponse: record({ ...answered(), tables: textList(), page_token: maybe(text()) }),
  DescribeTableRequest: record({
    ...branched(),
    version: optional(int64()),
    tag: optional(text()),
    with_table_uri: optional(flag()),
    load_detailed_metadata: optional(flag()),
    check_declared: optional(flag()),
    vend_credentials: optional(flag()),
  }),
  DescribeTableResponse: record({
    ...answered(),
    table: optional(text()),
    namespace: optional(textList()),
    version: optional(int64()),
    location: optional(text()),
    table_uri: optional(text()),
    schema: optional(model('JsonArrowSchema')),
    storage_options: optional(textMap()),
    stats: optional(model('TableBasicStats')),
    metadata: optional(textMap()),
    properties: optional(textMap()),
    managed_versioning: optional(flag()),
    is_only_declared: maybe(flag()),
  }),
  TableBasicStats: record({ num_deleted_rows: integer(), num_fragments: integer() }),
  CreateTableRequest: record({
    ...named(),
    mode: optional(text()),
    properties: optional(textMap()),
    storage_options: optional(textMap()),
  }),
  CreateTableResponse: record({
    ...answered(),
    transaction_id: optional(text()),
    location: optional(text()),
    version: optional(int64()),
    storage_options: optional(textMap()),
    properties: optional(textMap()),
  }),
  DeclareTableRequest: record({
    ...named(),
    location: optional(text()),
    vend_credentials: optional(flag()),
    properties: optional(textMap()),
  }),
  DeclareTableResponse: record({
    ...answered(),
    transaction_id: optional(text()),
    location: optional(text()),
    storage_options: optional(textMap()),
    properties: optional(textMap()),
    managed_versioning: optional(flag()),
  }),
  TableExistsRequest: record({ ...named(), version: optional(int64()) }),
  TableExistsResponse: record({ ...answered() }),
  DropTableRequest: record({ ...named() }),
  DropTableResponse: record({
    ...answered(),
    transaction_id: optional(text()),
    id: optional(textList()),
    location: optional(text()),
    properties: optional(textMap()),
  }),
  DeregisterTableRequest: record({ ...named() }),
  DeregisterTableResponse: record({
    ...answered(),
    transaction_id: optional(text()),
    id: optional(textList()),
    location: optional(text()),
    properties: optional(textMap()),
  }),
  RestoreTableRequest: record({ ...branched(), version: int64() }),
  RestoreTableResponse: record({ ...answered(), transaction_id: optional(text()) }),
  RenameTableRequest: record({
    ...named(),
    new_table_name: text(),
    new_namespace_id: optional(textList()),
    // LanceDB's name for the same.
    new_namespace: optional(textList()),
  }),
  RenameTableResponse: record({ ...answered(), transaction_id: optional(text()) }),
  GetTableStatsRequest: record({ ...branched() }),
  GetTableStatsResponse: record({
    ...answered(),
    total_bytes: int64(),
    num_rows: int64(),
    num_indices: int64(),
    fragment_stats: model('FragmentStats'),
  }),
  FragmentStats: record({
    num_fragments: int64(),
    num_small_fragments: int64(),
    lengths: model('FragmentSummary'),
  }),
  FragmentSummary: record({
    min: int64(),
    max: int64(),
    mean: int64(),
    p25: int64(),
    p50: int64(),
    p75: int64(),
    p99: int64(),
  }),
};
