import { row, stateRefusals } from './operation.ts';

const index = { object: 'table', query: ['branch'] } as const;

/** Rows of indices. */
export const indexOperations = {
  CreateTableIndex: row('CreateTableIndex', {
    ...index,
    access: 'index',
    mutates: true,
    routes: ['POST /v1/table/{id}/create_index'],
  }),
  CreateTableScalarIndex: row('CreateTableScalarIndex', {
    ...index,
    access: 'index',
    mutates: true,
    routes: ['POST /v1/table/{id}/create_scalar_index'],
    request: 'CreateTableIndexRequest',
  }),
  ListTableIndices: row('ListTableIndices', {
    ...index,
    access: 'describe',
    mutates: false,
    routes: ['POST /v1/table/{id}/index/list', 'GET /v1/table/{id}/index/list'],
    refusals: stateRefusals,
  }),
  DescribeTableIndexStats: row('DescribeTableIndexStats', {
    ...index,
    access: 'describe',
    mutates: false,
    routes: [
      'POST /v1/table/{id}/index/{index_name}/stats',
      'GET /v1/table/{id}/index/{index_name}/stats',
    ],
    refusals: stateRefusals,
  }),
  DropTableIndex: row('DropTableIndex', {
    ...index,
    access: 'index',
    mutates: true,
    routes: ['POST /v1/table/{id}/index/{index_name}/drop'],
    body: 'none',
  }),
};

const table = { object: 'table' } as const;

/** Rows of reading and writing a table's rows. */
export const rowOperations = {
  InsertIntoTable: row('InsertIntoTable', {
    ...table,
    access: 'append',
    mutates: true,
    restricted: 'applied',
    staged: true,
    routes: ['POST /v1/table/{id}/insert'],
    query: ['branch', 'mode', 'upload_id', 'upload_part_id'],
    body: 'arrow',
    modeIn: 'query',
    choices: { mode: ['append', 'overwrite'] },
    modes: { overwrite: { actions: ['modify'], instead: true } },
  }),
  MergeInsertIntoTable: row('MergeInsertIntoTable', {
    ...table,
    access: 'modify',
    mutates: true,
    restricted: 'applied',
    staged: true,
    routes: ['POST /v1/table/{id}/merge_insert'],
    query: [
      'branch',
      'on',
      'when_matched_update_all',
      'when_matched_update_all_filt',
      'when_not_matched_insert_all',
      'when_not_matched_by_source_delete',
      'when_not_matched_by_source_delete_filt',
      'timeout',
      'use_index',
      'use_lsm',
    ],
    repeatable: ['on'],
    body: 'arrow',
  }),
  UpdateTable: row('UpdateTable', {
    ...table,
    access: 'modify',
    mutates: true,
    restricted: 'applied',
    staged: true,
    routes: ['POST /v1/table/{id}/update'],
    query: ['branch'],
  }),
  DeleteFromTable: row('DeleteFromTable', {
    ...table,
    access: 'modify',
    mutates: true,
    restricted: 'applied',
    staged: true,
    routes: ['POST /v1/table/{id}/delete'],
    query: ['branch'],
  }),
  QueryTable: row('QueryTable', {
    ...table,
    access: 'read',
    mutates: false,
    restricted: 'applied',
    routes: ['POST /v1/table/{id}/query'],
    query: ['branch'],
    response: 'arrow',
    refusals: stateRefusals,
  }),
  CountTableRows: row('CountTableRows', {
    ...table,
    access: 'read',
    mutates: false,
    restricted: 'applied',
    routes: ['POST /v1/table/{id}/count_rows', 'GET /v1/table/{id}/count_rows'],
    query: ['branch'],
    response: 'integer',
    refusals: stateRefusals,
  }),
  ExplainTableQueryPlan: row('ExplainTableQueryPlan', {
    ...table,
    access: 'read',
    mutates: false,
    restricted: 'applied',
    routes: ['POST /v1/table/{id}/explain_plan'],
    query: ['branch'],
    response: 'text',
    refusals: stateRefusals,
  }),
  AnalyzeTableQueryPlan: row('AnalyzeTableQueryPlan', {
    ...table,
    access: 'read',
    mutates: false,
    restricted: 'applied',
    routes: ['POST /v1/table/{id}/analyze_plan'],
    query: ['branch', 'distributed_metrics'],
    response: 'text',
    refusals: stateRefusals,
  }),
};
