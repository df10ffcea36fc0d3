import { row, stateRefusals } from './operation.ts';

const schema = { access: 'schema', object: 'table', mutates: true, query: ['branch'] } as const;

/** Rows of columns, schema metadata and materialized views. */
export const columnOperations = {
  UpdateTableSchemaMetadata: row('UpdateTableSchemaMetadata', {
    ...schema,
    routes: ['POST /v1/table/{id}/schema_metadata/update'],
    body: 'map',
    response: 'map',
  }),
  UpdateFieldMetadata: row('UpdateFieldMetadata', {
    ...schema,
    routes: ['POST /v1/table/{id}/update_field_metadata'],
  }),
  AlterTableAddColumns: row('AlterTableAddColumns', {
    ...schema,
    routes: ['POST /v1/table/{id}/add_columns'],
    schemaBody: true,
  }),
  AlterTableAlterColumns: row('AlterTableAlterColumns', {
    ...schema,
    routes: ['POST /v1/table/{id}/alter_columns'],
  }),
  AlterTableDropColumns: row('AlterTableDropColumns', {
    ...schema,
    routes: ['POST /v1/table/{id}/drop_columns'],
  }),
  AlterTableBackfillColumns: row('AlterTableBackfillColumns', {
    ...schema,
    access: 'modify',
    routes: ['POST /v1/table/{id}/backfill_column'],
    success: 202,
  }),
  CreateMaterializedView: row('CreateMaterializedView', {
    access: 'create',
    object: 'table',
    mutates: true,
    routes: ['POST /v1/materialized_view/{id}/create'],
    success: 201,
    objectsInBody: 'the tables that source_query reads',
  }),
  RefreshMaterializedView: row('RefreshMaterializedView', {
    access: 'modify',
    object: 'table',
    mutates: true,
    routes: ['POST /v1/materialized_view/{id}/refresh', 'POST /v1/table/{id}/refresh'],
    success: 202,
  }),
};

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
    restricted: 'applied',
    routes: ['POST /v1/table/{id}/describe'],
    query: ['branch', 'with_table_uri', 'load_detailed_metadata', 'check_declared'],
    // Vended credentials, not a mode proper.
    modeIn: 'body',
  }),
  TableExists: row('TableExists', {
    access: 'describe',
    object: 'table',
    mutates: false,
    restricted: 'harmless',
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
