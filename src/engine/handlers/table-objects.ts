import type { HandlerTable } from '../handler.ts';
import { createVersion } from './create-version.ts';
import { declareTable, type PlaceParts } from './declare-table.ts';
import { registerTable } from './register-table.ts';

/** The operations on tables that Lance clients write. */
export function tableObjectHandlers(parts: PlaceParts): HandlerTable {
  return {
    DeclareTable: declareTable(parts),
    RegisterTable: registerTable(parts),
    CreateTableVersion: createVersion(parts.catalog),
  };
}
