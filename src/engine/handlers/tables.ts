import type { Answer } from '../../protocol/backend.ts';
import { emptyAnswer } from '../answers.ts';
import type { Catalog } from '../catalog/catalog.ts';
import type { Stored, TableRecord } from '../catalog/records.ts';
import type { Call, HandlerTable } from '../handler.ts';
import { countField } from '../query/fields.ts';
import { MAIN_CHAIN } from '../table/chain.ts';
import type { Tags } from '../table/tags.ts';
import { restOn } from './basis.ts';
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
  const table = await catalog.requireTable(call.request.object);
  const version = countField(call.body, 'version');
  if (version === null) restOn(call, table, MAIN_CHAIN);
  else await requireVersion(tables, table, version, call);
  return emptyAnswer(call);
}

async function requireVersion(
  tables: TableView,
  table: Stored<TableRecord>,
  version: bigint,
  call: Call,
): Promise<void> {
  if (table.content.kind !== 'engine') return void (await tables.version(table.content, version));
  const { record } = await tables.found(table.content, version);
  restOn(call, table, MAIN_CHAIN, record);
}
