import { row, stateRefusals } from './operation-row.ts';

/** Rows of tables as a whole. */
export const tableOperations = {
  CreateTable: row('CreateTable', {
    access: 'create',
    object: 'table',
    mutates: true,
    routes: ['POST /v1/table/{id}/create'],
    query: ['mode', 'properties', 'storage_options'],
    headers: [
      'x-service-table-location',
      'x-service-table-properties',
      'x-lance-table-location',
      'x-lance-table-properties',
    ],
    body: 'arrow',
    modeIn: 'query',
    choices: { mode: ['create', 'exist_ok', 'overwrite'] },
    modes: {
      exist_ok: { actions: ['DescribeTable'], instead: false },
      overwrite: { actions: ['DropTable'], instead: false },
    },
  }),
  RegisterTable: row('RegisterTable', {
    access: 'create',
    object: 'table',
    mutates: true,
    routes: ['POST /v1/table/{id}/register'],
    modeIn: 'body',
    choices: { mode: ['create', 'overwrite'] },
    modes: { overwrite: { actions: ['DropTable'], instead: false } },
  }),
  DeclareTable: row('DeclareTable', {
    access: 'create',
    object: 'table',
    mutates: true,
    routes: ['POST /v1/table/{id}/declare'],
    // Vended credentials and a location of the caller's choice, not a mode proper.
    modeIn: 'body',
  }),
  DescribeTable: row('DescribeTable', {
    access: 'describe',
    object: 'table',
    mutates: false,
    routes: ['POST /v1/table/{id}/describe'],
    query: ['branch', 'with_table_uri', 'load_detailed_metadata', 'check_declared'],
    // Vended credentials, not a mode proper.
    modeIn: 'body',
  }),
  TableExists: row('TableExists', {
    access: 'describe',
    object: 'table',
    mutates: false,
    routes: ['POST /v1/table/{id}/exists'],
    response: 'none',
  }),
  DropTable: row('DropTable', {
    access: 'drop',
    object: 'table',
    mutates: true,
    routes: ['POST /v1/table/{id}/drop'],
    body: 'none',
  }),
  DeregisterTable: row('DeregisterTable', {
    access: 'drop',
    object: 'table',
    mutates: true,
    routes: ['POST /v1/table/{id}/deregister'],
  }),
  RestoreTable: row('RestoreTable', {
    access: 'commit',
    object: 'table',
    mutates: true,
    routes: ['POST /v1/table/{id}/restore'],
    query: ['branch'],
  }),
  RenameTable: row('RenameTable', {
    access: 'drop',
    object: 'table',
    mutates: true,
    routes: ['POST /v1/table/{id}/rename', 'POST /v1/table/{id}/rename/to/{target}'],
    objectsInBody: 'new_table_name in new_namespace_id or new_namespace, unless the route has it',
  }),
  GetTableStats: row('GetTableStats', {
    access: 'describe',
    object: 'table',
    mutates: false,
    routes: ['POST /v1/table/{id}/stats', 'GET /v1/table/{id}/stats'],
    query: ['branch'],
    refusals: stateRefusals,
  }),
};
