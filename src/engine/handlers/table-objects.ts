import type { HandlerTable } from '../handler.ts';
import { KnownManifests } from '../managed/known-manifests.ts';
import { batchCommitTables } from './batch-commit-tables.ts';
import { batchCreateVersions } from './batch-create-versions.ts';
import { createVersion } from './create-version.ts';
import type { ManagedParts } from './managed-parts.ts';
import { declareTable } from './declare-table.ts';
import { registerTable } from './register-table.ts';

/** The operations on tables that Lance clients write. */
export function tableObjectHandlers(managed: ManagedParts): HandlerTable {
  const parts = { ...managed, manifests: new KnownManifests() };
  return {
    DeclareTable: declareTable(parts),
    RegisterTable: registerTable(parts),
    CreateTableVersion: createVersion(parts),
    BatchCreateTableVersions: batchCreateVersions(parts),
    BatchCommitTables: batchCommitTables(parts),
  };
}
