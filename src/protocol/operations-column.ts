import { row } from './operation-row.ts';

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
