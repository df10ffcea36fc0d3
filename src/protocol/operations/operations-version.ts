import { row } from './operation.ts';

const table = { object: 'table' } as const;

/** Rows of table versions and of transactions. */
export const versionOperations = {
  ListTableVersions: row('ListTableVersions', {
    ...table,
    access: 'describe',
    mutates: false,
    routes: ['POST /v1/table/{id}/version/list', 'GET /v1/table/{id}/version/list'],
    query: ['branch', 'page_token', 'limit', 'descending'],
    body: 'none',
  }),
  CreateTableVersion: row('CreateTableVersion', {
    ...table,
    access: 'commit',
    mutates: true,
    staged: true,
    routes: ['POST /v1/table/{id}/version/create'],
    query: ['branch'],
  }),
  DescribeTableVersion: row('DescribeTableVersion', {
    ...table,
    access: 'describe',
    mutates: false,
    routes: ['POST /v1/table/{id}/version/describe'],
    query: ['branch'],
  }),
  BatchDeleteTableVersions: row('BatchDeleteTableVersions', {
    ...table,
    access: 'commit',
    mutates: true,
    routes: ['POST /v1/table/{id}/version/delete'],
    query: ['branch'],
  }),
  BatchCreateTableVersions: row('BatchCreateTableVersions', {
    ...table,
    access: 'commit',
    mutates: true,
    routes: ['POST /v1/table/version/batch-create'],
    objectsInBody: 'entries[].id, entries[].branch',
  }),
  BatchCommitTables: row('BatchCommitTables', {
    ...table,
    access: 'commit',
    mutates: true,
    routes: ['POST /v1/table/batch-commit'],
    objectsInBody: 'operations[].*.id',
    // Not a mode proper: each operation of the batch needs its own right instead.
    modeIn: 'body',
    modes: {
      declare_table: { actions: ['DeclareTable'], instead: true },
      create_table_version: { actions: ['CreateTableVersion'], instead: true },
      delete_table_versions: { actions: ['drop'], instead: true },
      deregister_table: { actions: ['DeregisterTable'], instead: true },
    },
  }),
  DescribeTransaction: row('DescribeTransaction', {
    access: 'describe',
    object: 'transaction',
    mutates: false,
    routes: ['POST /v1/transaction/{id}/describe'],
  }),
  AlterTransaction: row('AlterTransaction', {
    access: 'commit',
    object: 'transaction',
    mutates: true,
    routes: ['POST /v1/transaction/{id}/alter'],
    objectsInBody: 'the table of the transaction',
  }),
};
