import { Int64, Utf8 } from 'apache-arrow';
import type { OperationName } from '../../src/protocol/operations/operation-name.ts';
import { streamOf } from './table-bodies.ts';

/** What becomes of every operation for a caller whom restrictions bind on a table. */

/** A table that the caller asks for. */
export interface AskedTable {
  /** `arrow$both`, as routes name it. */
  readonly id: string;
  readonly namespace: string;
  readonly name: string;
  /** An index build that an administrator asked for; empty for a table that has none. */
  readonly job: string;
}

export interface Asked {
  readonly line: string;
  readonly body?: object | Uint8Array;
}

/** A refusal because restrictions cannot be applied: 403 code 15. */
interface Refusal {
  /** The right that is refused; the operation itself unless given. */
  readonly action?: string;
  /** What the sentence ends with; empty for nothing. */
  readonly why: string;
}

/** The answer of the copy, an administrator's answer to another request, a refusal, or another answer. */
export type Outcome = 'enforced' | { readonly as: Asked } | Refusal | { readonly told: string };

export interface Question {
  readonly ask: (table: AskedTable) => Asked;
  /** Outcomes by kind of table; a kind that lacks one is not asked. */
  readonly arrow?: Outcome;
  readonly lance?: Outcome;
  readonly audit?: Outcome;
}

const post =
  (path: string, body: object | Uint8Array = {}) =>
  ({ id }: AskedTable): Asked => ({
    line: `POST /v1/table/${id}/${path}`,
    body,
  });

const refusal = (why = '', action?: string): Refusal => ({ why, ...(action && { action }) });

/** The same outcome for tables of every kind. */
const always = (ask: Question['ask'], outcome: Outcome): Question => ({
  ask,
  arrow: outcome,
  lance: outcome,
  audit: outcome,
});

const refused = (path: string, body?: object, why?: string): readonly Question[] => [
  always(post(path, body), refusal(why)),
];

const unsupported = (name: string): Outcome => ({
  told: `406 code 0 /system/audit is a table of the service itself: it answers DescribeTable, QueryTable, CountTableRows, not ${name}`,
});

const enforced = (name: OperationName, ask: Question['ask']): Question => ({
  ask,
  arrow: 'enforced',
  lance: 'enforced',
  audit: unsupported(name),
});

/** Enforced on tables of the engine, and refused on Lance tables. */
const refusedOnLance = (ask: Question['ask'], why: string): Question => ({
  ask,
  arrow: 'enforced',
  lance: refusal(why),
});

/** Refused on both, where `system$audit` supports none of it. */
const refusedOnRows = (ask: Question['ask'], why: string, action?: string): Question => ({
  ask,
  arrow: refusal(why, action),
  lance: refusal(why, action),
});

/** A request that names no table: the caller is answered as an administrator is. */
const elsewhere = (ask: Question['ask']): readonly Question[] => [
  { ask, arrow: 'enforced', lance: 'enforced' },
];

const onNamespace =
  (verb: string, path: string, body?: object) =>
  ({ namespace }: AskedTable) => ({
    line: `${verb} /v1/namespace/${namespace}${path}`,
    ...(body && { body }),
  });

const job = (path: string): readonly Question[] => [
  {
    ask: ({ job: job_id }) => ({ line: `POST /v1/jobs/${path}`, body: { job_id } }),
    arrow: refusal(),
    lance: refusal(),
  },
];

const transaction = (path: string, body: object): readonly Question[] => [
  {
    ask: (table) => ({ line: `POST /v1/transaction/${table.job}/${path}`, body }),
    arrow: refusal(),
    lance: refusal(),
  },
];

/** Rows that a caller may insert: no masked and no hidden column. */
const sent = (ids: readonly bigint[], words: string): Uint8Array =>
  streamOf({
    id: { type: new Int64(), values: ids },
    region: { type: new Utf8(), values: ids.map(() => 'eu') },
    words: { type: new Utf8(), values: ids.map(() => words) },
  });

const order_by = [{ column_name: 'amount', ascending: false }];
const text = {
  vector: [],
  full_text_query: { string_query: { query: 'whale', columns: ['words'] } },
  k: 5,
};
const TEXT = ': scores of a text search of a Lance table count hidden rows; use a filter';
const INDEX = ': an index covers hidden rows';
const entry = ({ namespace, name }: AskedTable) => ({
  id: [namespace, name],
  version: 9,
  manifest_path: 'x',
});
const batch = (operation: string, action: string): Question => ({
  ask: (table) => ({
    line: 'POST /v1/table/batch-commit',
    body: { operations: [{ [operation]: { ...entry(table), ranges: [] } }] },
  }),
  arrow: refusal('', action),
  lance: refusal('', action),
});

/** Records that are there already. */
const early = 'sequence < 60';
const OWN = "subject = 'user:cle'";
/** What a caller asks `system$audit` for, and what an administrator asks for the same records. */
const onlyAudit = (path: string, body: object, as: object): Question => ({
  ask: post(path, body),
  audit: { as: { line: `POST /v1/table/system$audit/${path}`, body: as } },
});

/** Every operation, in the order of the questions: changes of rows are those of the copy as well. */
export const restrictedOperations: Readonly<Record<OperationName, readonly Question[]>> = {
  CreateNamespace: elsewhere(onNamespace('POST', '$new/create', {})),
  ListNamespaces: elsewhere(onNamespace('GET', '/list')),
  DescribeNamespace: elsewhere(onNamespace('POST', '/describe', {})),
  NamespaceExists: elsewhere(onNamespace('POST', '/exists', {})),
  DropNamespace: [
    ...elsewhere(onNamespace('POST', '$new/drop', {})),
    {
      ask: onNamespace('POST', '/drop', { behavior: 'cascade' }),
      arrow: refusal('', 'DropTable'),
      lance: refusal('', 'DropTable'),
    },
  ],
  ListTables: elsewhere(onNamespace('GET', '/table/list')),
  ListAllTables: elsewhere(() => ({ line: 'GET /v1/table' })),
  RegisterTable: refused('register', { location: '/nowhere' }),
  DescribeTable: [
    ...[{}, { load_detailed_metadata: true, check_declared: true }].map((body): Question => ({
      ask: post('describe', body),
      arrow: 'enforced',
      lance: 'enforced',
    })),
    refusedOnRows(
      post('describe', { with_table_uri: true }),
      ': its location would give its files',
    ),
    refusedOnRows(
      post('describe', { vend_credentials: true }),
      ': credentials would give all rows of its files',
      'QueryTable',
    ),
  ],
  TableExists: [enforced('TableExists', post('exists'))],
  DropTable: refused('drop'),
  DeregisterTable: refused('deregister'),
  RestoreTable: refused('restore', { version: 1 }, ': it would change hidden rows'),
  RenameTable: [
    ...refused('rename', { new_table_name: 'other' }),
    {
      ask: ({ namespace, name }) => ({
        line: 'POST /v1/table/free/rename',
        body: { new_table_name: name, new_namespace_id: [namespace] },
      }),
      arrow: refusal('', 'CreateTable'),
      lance: refusal('', 'CreateTable'),
    },
  ],
  UpdateTableSchemaMetadata: refused('schema_metadata/update', { a: 'b' }),
  ListTableVersions: refused('version/list'),
  CreateTableVersion: refused('version/create', { version: 9, manifest_path: 'x' }),
  DescribeTableVersion: refused('version/describe', { version: 1 }),
  BatchDeleteTableVersions: refused('version/delete', { ranges: [] }),
  BatchCreateTableVersions: [
    {
      ask: (table) => ({
        line: 'POST /v1/table/version/batch-create',
        body: { entries: [entry(table)] },
      }),
      arrow: refusal(),
      lance: refusal(),
    },
  ],
  BatchCommitTables: [
    batch('declare_table', 'DeclareTable'),
    batch('create_table_version', 'CreateTableVersion'),
    batch('delete_table_versions', 'drop'),
    batch('deregister_table', 'DeregisterTable'),
  ],
  AlterTableAlterColumns: refused('alter_columns', { alterations: [{ path: 'id', rename: 'x' }] }),
  UpdateFieldMetadata: refused('update_field_metadata'),
  AlterTableDropColumns: refused('drop_columns', { columns: ['words'] }),
  GetTableStats: refused(
    'stats',
    {},
    ': its bytes and fragments are those of hidden rows, too; count the rows instead',
  ),
  QueryTable: [
    ...[
      { vector: [] },
      { vector: [], filter: '100 / amount > 9', order_by, columns: ['id', 'amount'] },
      { vector: [3, 1], k: 4, columns: ['id', '_distance'] },
      {
        vector: [],
        columns: { who: 'upper(words)', id: 'id' },
        with_row_id: true,
        k: 3,
        offset: 1,
      },
      { vector: [], version: 1 },
      { vector: [], tag: 'old' },
      { vector: [], branch: 'dev' },
    ].map((body): Question => ({
      ask: post('query', body),
      arrow: 'enforced',
      lance: 'enforced',
    })),
    refusedOnLance(post('query', text), TEXT),
    onlyAudit(
      'query',
      { vector: [], filter: early, columns: ['sequence', 'operation', 'source_ip'] },
      {
        vector: [],
        filter: `${early} AND ${OWN}`,
        columns: {
          sequence: 'sequence',
          operation: 'operation',
          source_ip: 'CAST(NULL AS varchar)',
        },
      },
    ),
  ],
  CountTableRows: [
    { ask: post('count_rows', { predicate: 'id > 3' }), arrow: 'enforced', lance: 'enforced' },
    onlyAudit('count_rows', { predicate: early }, { predicate: `${early} AND ${OWN}` }),
  ],
  ExplainTableQueryPlan: [
    enforced(
      'ExplainTableQueryPlan',
      post('explain_plan', { query: { vector: [], filter: 'id > 3' }, verbose: true }),
    ),
    refusedOnLance(post('explain_plan', { query: text }), TEXT),
  ],
  AnalyzeTableQueryPlan: [
    enforced('AnalyzeTableQueryPlan', post('analyze_plan', { vector: [], filter: 'id > 3' })),
    refusedOnLance(post('analyze_plan', text), TEXT),
  ],
  InsertIntoTable: [
    enforced('InsertIntoTable', post('insert', sent([20n, 22n], 'sent'))),
    refusedOnRows(
      post('insert?mode=overwrite', sent([1n], 'sent')),
      ': an overwrite would remove hidden rows',
      'modify',
    ),
  ],
  MergeInsertIntoTable: [
    {
      ...enforced(
        'MergeInsertIntoTable',
        post(
          'merge_insert?on=id&when_matched_update_all=true&when_not_matched_insert_all=true',
          sent([2n, 24n], 'merged'),
        ),
      ),
      lance: refusal(
        ': a merge of a Lance table would meet the keys of hidden rows; use an update and an insert',
      ),
    },
  ],
  UpdateTable: [
    enforced(
      'UpdateTable',
      post('update', { updates: [['words', "'deep'"]], predicate: 'id > 7' }),
    ),
    refusedOnLance(
      post('update', { updates: [['words', 'upper(words)']] }),
      ': the value of "words" depends on the row, and an update of a Lance table takes the same value for all rows',
    ),
    refusedOnLance(
      post('update', { updates: [['day', "DATE '2001-02-03'"]], predicate: 'id > 4' }),
      ': the value of "day" is no number, text or boolean, and an update of a Lance table takes no other values',
    ),
    refusedOnRows(
      post('update', { updates: [['words', "'x'"]], properties: { a: 'b' } }),
      ': properties are those of the whole table',
    ),
  ],
  DeleteFromTable: [
    enforced('DeleteFromTable', post('delete', { predicate: '100 / amount > 40' })),
  ],
  CreateTable: [
    always(post('create', sent([1n], 'sent')), refusal()),
    // The mode needs a further right, which is refused as well.
    always(post('create?mode=overwrite', sent([1n], 'sent')), refusal()),
  ],
  AlterTableAddColumns: refused('add_columns', { new_columns: [{ name: 'x', expression: '1' }] }),
  AlterTableBackfillColumns: refused(
    'backfill_column',
    { column: 'words' },
    ': it would compute values of hidden rows',
  ),
  RefreshMaterializedView: refused('refresh'),
  CreateMaterializedView: [
    {
      ask: ({ id }) => ({ line: `POST /v1/materialized_view/${id}/create`, body: {} }),
      arrow: refusal(),
      lance: refusal(),
    },
  ],
  CreateTableIndex: refused('create_index', { column: 'vec', index_type: 'IVF_FLAT' }, INDEX),
  CreateTableScalarIndex: refused(
    'create_scalar_index',
    { column: 'id', index_type: 'BTREE' },
    INDEX,
  ),
  ListTableIndices: refused('index/list'),
  DescribeTableIndexStats: refused('index/id_idx/stats'),
  DropTableIndex: refused('index/id_idx/drop'),
  ListTableTags: refused('tags/list'),
  GetTableTagVersion: refused('tags/version', { tag: 'old' }),
  DeclareTable: refused('declare'),
  CreateTableTag: refused('tags/create', { tag: 'new', version: 1 }),
  DeleteTableTag: refused('tags/delete', { tag: 'old' }),
  UpdateTableTag: refused('tags/update', { tag: 'old', version: 1 }),
  ListTableBranches: refused('branches/list'),
  CreateTableBranch: refused('branches/create', { name: 'new' }),
  DeleteTableBranch: refused('branches/delete', { name: 'dev' }),
  DescribeTransaction: transaction('describe', {}),
  AlterTransaction: transaction('alter', {
    actions: [{ setStatusAction: { status: 'CANCELED' } }],
  }),
  CloneTable: [
    ...refused('clone', { source_location: 'free' }, ': a clone would have the hidden rows'),
    {
      ask: ({ id: source_location }) => ({
        line: 'POST /v1/table/copy/clone',
        body: { source_location },
      }),
      arrow: refusal(': a clone would have the hidden rows', 'QueryTable'),
      lance: refusal(': a clone would have the hidden rows', 'QueryTable'),
    },
  ],
  CreateMultipartWrite: refused('multipart_write/create'),
  CompleteMultipartWrite: refused('multipart_write/complete?upload_id=x'),
  AbortMultipartWrite: refused('multipart_write/abort?upload_id=x'),
  ListJobs: [
    {
      ask: () => ({ line: 'POST /v1/jobs/list', body: {} }),
      arrow: { told: '200 {"jobs":[]}' },
      lance: { told: '200 {"jobs":[]}' },
    },
  ],
  DescribeJob: job('describe'),
  CancelJob: job('cancel'),
  QueryJobEvents: job('query_events'),
  CreateFunction: elsewhere(() => ({ line: 'POST /v1/functions/create', body: {} })),
  GetFunction: elsewhere(() => ({ line: 'POST /v1/functions/get', body: {} })),
  FetchBlobs: refused('fetch_blobs', { column: 'id', row_ids: [0] }),
  ReadBlob: [always(({ id }) => ({ line: `GET /v1/table/${id}/blob/id/1/bytes` }), refusal())],
  FlushLsm: refused('flush_lsm'),
  CompactLsm: refused('compact_lsm'),
  GetLsmStats: refused('get_lsm_stats'),
  SetLsmWriteSpec: refused('set_lsm_write_spec'),
  UnsetLsmWriteSpec: refused('unset_lsm_write_spec'),
  GetLsmWriteSpec: refused('get_lsm_write_spec'),
  PrewarmTableIndex: refused('index/id_idx/prewarm'),
  PrewarmPageCache: refused('page_cache/prewarm'),
  DiffTableBranch: refused('branches/diff', { from_branch: 'dev' }),
  CherryPickTableBranch: refused('branches/cherry_pick', { from_branch: 'dev' }),
};
