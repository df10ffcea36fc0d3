import type { Answer } from '../../protocol/backend.ts';
import { emptyAnswer } from '../answers.ts';
import type { Catalog } from '../catalog/catalog.ts';
import type { TableRecord } from '../catalog/records.ts';
import type { Call, HandlerTable } from '../handler.ts';
import { countField } from '../query/fields.ts';
import type { Tags } from '../table/tags.ts';
import { describeTable } from './describe-table.ts';
import { dropTable } from './drop-table.ts';
import { listTags } from './list-tags.ts';
import { tableStats } from './table-stats.ts';
import { listTableVersions } from './table-versions.ts';
import type { TableView } from './table-view.ts';

/** The operations on a table that do not touch its rows. */
export function tableHandlers(
  catalog: Catalog,
  tables: TableView,
  tags: Tags,
  pageLimit: number,
): HandlerTable {
  return {
    DescribeTable: (call) => describeTable(catalog, tables, tags, call),
    TableExists: (call) => tableExists(catalog, tables, call),
    DropTable: (call) => dropTable(catalog, tables, call),
    ListTableVersions: (call) => listTableVersions(catalog, tables, pageLimit, call),
    GetTableStats: (call) => tableStats(catalog, tables, tags, call),
    ListTableTags: (call) => listTags({ catalog, tags, pageLimit }, call),
  };
}

/** TableExists. */
export async function tableExists(
  catalog: Catalog,
  tables: TableView,
  call: Call,
): Promise<Answer> {
  const table = (await catalog.requireTable(call.request.object)).content;
  const version = countField(call.body, 'version');
  if (version !== null) await requireVersion(tables, table, version);
  return emptyAnswer(call);
}

async function requireVersion(
  tables: TableView,
  table: TableRecord,
  version: bigint,
): Promise<void> {
  if (table.kind === 'engine') await tables.snapshot(table, version);
  else await tables.version(table, version);
}
