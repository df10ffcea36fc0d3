import type { HandlerTable } from '../handler.ts';
import { batchCommitTables } from './batch-commit-tables.ts';
import { batchCreateVersions } from './batch-create-versions.ts';
import { createVersion } from './create-version.ts';
import type { ManagedParts } from './managed-parts.ts';
import { declareTable } from './declare-table.ts';
import { registerTable } from './register-table.ts';

/** The operations on tables that Lance clients write. */
export function tableObjectHandlers(parts: ManagedParts): HandlerTable {
  return {
    DeclareTable: declareTable(parts),
    RegisterTable: registerTable(parts),
    CreateTableVersion: createVersion(parts),
    BatchCreateTableVersions: batchCreateVersions(parts),
    BatchCommitTables: batchCommitTables(parts),
  };
}
