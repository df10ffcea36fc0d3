import type { Answer } from '../../protocol/backend.ts';
import { CatalogError } from '../../protocol/errors.ts';
import { emptyAnswer, jsonAnswer } from '../answers.ts';
import type { Catalog } from '../catalog/catalog.ts';
import { tableExists } from '../catalog/refusals.ts';
import type { Call, HandlerTable } from '../handler.ts';
import { branchParameter } from '../parameters.ts';
import { countField } from '../query/fields.ts';
import { describeTable } from './describe-table.ts';
import type { Tags } from '../table/tags.ts';
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
    TableExists: (call) => exists(catalog, tables, call),
    DropTable: (call) => dropTable(catalog, tables, call),
    DeclareTable: (call) => declare(catalog, call),
    ListTableVersions: (call) => listTableVersions(catalog, tables, pageLimit, call),
    GetTableStats: (call) => tableStats(catalog, tables, call),
    ListTableIndices: (call) => listIndices(catalog, tables, call),
    ListTableTags: (call) => listTags({ catalog, tags, pageLimit }, call),
  };
}

async function exists(catalog: Catalog, tables: TableView, call: Call): Promise<Answer> {
  const table = (await catalog.requireTable(call.request.object)).content;
  const version = countField(call.body, 'version');
  if (version !== null) await tables.snapshot(table, version);
  return emptyAnswer(call);
}

/** A client asks this first when it creates a table; on one that is there it goes on to describe it. */
async function declare(catalog: Catalog, call: Call): Promise<Answer> {
  const existing = await catalog.tablePlace(call.request.object);
  if (existing !== undefined) throw tableExists(call.request.object);
  throw new CatalogError('Unsupported', 'DeclareTable is not built yet');
}

/** No table has an index yet; CreateTableIndex is not built. */
async function listIndices(catalog: Catalog, tables: TableView, call: Call): Promise<Answer> {
  const table = (await catalog.requireTable(call.request.object)).content;
  await tables.chain(table, branchParameter(call));
  return jsonAnswer(call, { indexes: [] });
}
