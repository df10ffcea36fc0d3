import {
  answered,
  branched,
  common,
  flag,
  int64,
  listOf,
  maybe,
  model,
  optional,
  paged,
  record,
  text,
  textList,
  textMap,
  mapOf,
  named,
} from './model-kinds.ts';

export const transactionModels = {
  TransactionStatus: text(),
  DescribeTransactionRequest: record({ ...named() }),
  DescribeTransactionResponse: record({
    ...answered(),
    status: model('TransactionStatus'),
    properties: optional(textMap()),
  }),
  AlterTransactionSetStatus: record({ status: optional(model('TransactionStatus')) }),
  AlterTransactionSetProperty: record({
    key: optional(text()),
    value: optional(text()),
    mode: optional(model('SetPropertyMode')),
  }),
  SetPropertyMode: text(),
  AlterTransactionUnsetProperty: record({
    key: optional(text()),
    mode: optional(model('UnsetPropertyMode')),
  }),
  UnsetPropertyMode: text(),
  AlterTransactionAction: record({
    setStatusAction: optional(model('AlterTransactionSetStatus')),
    setPropertyAction: optional(model('AlterTransactionSetProperty')),
    unsetPropertyAction: optional(model('AlterTransactionUnsetProperty')),
  }),
  AlterTransactionRequest: record({ ...named(), actions: listOf(model('AlterTransactionAction')) }),
  AlterTransactionResponse: record({
    ...answered(),
    status: model('TransactionStatus'),
    properties: optional(textMap()),
  }),
};

/** Models of tags and branches. */
export const referenceModels = {
  GetTableTagVersionRequest: record({ ...named(), tag: text() }),
  GetTableTagVersionResponse: record({ ...answered(), version: int64(), branch: optional(text()) }),
  CreateTableTagRequest: record({ ...branched(), tag: text(), version: int64() }),
  CreateTableTagResponse: record({ ...answered(), transaction_id: optional(text()) }),
  DeleteTableTagRequest: record({ ...named(), tag: text() }),
  DeleteTableTagResponse: record({ ...answered(), transaction_id: optional(text()) }),
  UpdateTableTagRequest: record({ ...branched(), tag: text(), version: int64() }),
  UpdateTableTagResponse: record({ ...answered(), transaction_id: optional(text()) }),
  ListTableTagsRequest: record({ ...named(), ...paged() }),
  ListTableTagsResponse: record({
    ...answered(),
    tags: mapOf(model('TagContents')),
    page_token: maybe(text()),
  }),
  TagContents: record({ branch: optional(text()), version: int64(), manifestSize: int64() }),
  BranchContents: record({
    parentBranch: optional(text()),
    parentVersion: int64(),
    createAt: int64(),
    manifestSize: int64(),
    metadata: optional(textMap()),
  }),
  CreateTableBranchRequest: record({
    ...named(),
    name: text(),
    from_branch: optional(text()),
    from_version: optional(int64()),
  }),
  CreateTableBranchResponse: record({ ...answered(), transaction_id: optional(text()) }),
  DeleteTableBranchRequest: record({ ...named(), name: text() }),
  DeleteTableBranchResponse: record({ ...answered(), transaction_id: optional(text()) }),
  ListTableBranchesRequest: record({ ...named(), ...paged() }),
  ListTableBranchesResponse: record({
    ...answered(),
    branches: mapOf(model('BranchContents')),
    page_token: maybe(text()),
  }),
};

/** Models of table versions, one by one and in batches. */
export const versionModels = {
  ListTableVersionsRequest: record({ ...branched(), ...paged(), descending: optional(flag()) }),
  ListTableVersionsResponse: record({
    ...answered(),
    versions: listOf(model('TableVersion')),
    page_token: maybe(text()),
  }),
  CreateTableVersionRequest: record({
    ...branched(),
    version: int64(),
    manifest_path: text(),
    manifest_size: optional(int64()),
    e_tag: optional(text()),
    metadata: optional(textMap()),
    naming_scheme: optional(model('ManifestNamingScheme')),
  }),
  CreateTableVersionResponse: record({
    ...answered(),
    transaction_id: optional(text()),
    version: optional(model('TableVersion')),
  }),
  DescribeTableVersionRequest: record({ ...branched(), version: optional(int64()) }),
  DescribeTableVersionResponse: record({ ...answered(), version: model('TableVersion') }),
  BatchDeleteTableVersionsRequest: record({ ...branched(), ranges: listOf(model('VersionRange')) }),
  VersionRange: record({ start_version: int64(), end_version: int64() }),
  BatchDeleteTableVersionsResponse: record({
    ...answered(),
    deleted_count: optional(int64()),
    transaction_id: optional(text()),
  }),
  BatchCreateTableVersionsRequest: record({
    ...common(),
    entries: listOf(model('CreateTableVersionEntry')),
  }),
  CreateTableVersionEntry: record({
    id: textList(),
    version: int64(),
    branch: optional(text()),
    manifest_path: text(),
    manifest_size: optional(int64()),
    e_tag: optional(text()),
    metadata: optional(textMap()),
    naming_scheme: optional(model('ManifestNamingScheme')),
  }),
  BatchCreateTableVersionsResponse: record({
    ...answered(),
    transaction_id: optional(text()),
    versions: listOf(model('TableVersion')),
  }),
  BatchCommitTablesRequest: record({
    ...common(),
    operations: listOf(model('CommitTableOperation')),
  }),
  CommitTableOperation: record({
    declare_table: optional(model('DeclareTableRequest')),
    create_table_version: optional(model('CreateTableVersionRequest')),
    delete_table_versions: optional(model('BatchDeleteTableVersionsRequest')),
    deregister_table: optional(model('DeregisterTableRequest')),
  }),
  CommitTableResult: record({
    declare_table: optional(model('DeclareTableResponse')),
    create_table_version: optional(model('CreateTableVersionResponse')),
    delete_table_versions: optional(model('BatchDeleteTableVersionsResponse')),
    deregister_table: optional(model('DeregisterTableResponse')),
  }),
  BatchCommitTablesResponse: record({
    ...answered(),
    transaction_id: optional(text()),
    results: listOf(model('CommitTableResult')),
  }),
  TableVersion: record({
    version: int64(),
    manifest_path: text(),
    manifest_size: optional(int64()),
    e_tag: optional(text()),
    timestamp_millis: optional(int64()),
    // RFC 3339, for older LanceDB clients.
    timestamp: optional(text()),
    metadata: optional(textMap()),
  }),
  ManifestNamingScheme: text(),
};
