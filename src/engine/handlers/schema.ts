import type { HandlerTable } from '../handler.ts';
import { addColumns } from './add-columns.ts';
import { alterColumns } from './alter-columns.ts';
import { dropColumns } from './drop-columns.ts';
import { updateFieldMetadata } from './field-metadata.ts';
import type { SchemaParts } from './schema-change.ts';
import { updateSchemaMetadata } from './schema-metadata.ts';

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
