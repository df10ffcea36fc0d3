import type { Answer } from '../../protocol/backend.ts';
import { CatalogError } from '../../protocol/errors.ts';
import { canonicalPath } from '../../protocol/identifier.ts';
import { jsonAnswer } from '../answers.ts';
import type { Catalog } from '../catalog/catalog.ts';
import type { Call, HandlerTable } from '../handler.ts';
import type { Tags } from '../table/tags.ts';
import { placeOf } from './read-place.ts';
import { requireEngineTable } from './table-parts.ts';
import type { TableView } from './table-view.ts';

/** The operations on indices. No table has one yet: what names one does not find it. */
export function indexHandlers(catalog: Catalog, tables: TableView, tags: Tags): HandlerTable {
  const none = (call: Call) => noIndex(catalog, call);
  return {
    ListTableIndices: (call) => listIndices(catalog, tables, tags, call),
    DescribeTableIndexStats: none,
    DropTableIndex: none,
    PrewarmTableIndex: none,
  };
}

async function listIndices(
  catalog: Catalog,
  tables: TableView,
  tags: Tags,
  call: Call,
): Promise<Answer> {
  const { object } = call.request;
  const { content } = await catalog.requireTable(object);
  if (content.kind === 'lance') requireEngineTable(object, content);
  const { branch, version } = await placeOf(tags, content, call);
  const chain = await tables.chain(content, branch);
  if (version !== undefined) await tables.snapshot(content, version, chain);
  return jsonAnswer(call, { indexes: [] });
}

async function noIndex(catalog: Catalog, { request }: Call): Promise<Answer> {
  const { object, indexName = '' } = request;
  requireEngineTable(object, (await catalog.requireTable(object)).content);
  throw new CatalogError(
    'TableIndexNotFound',
    `table ${canonicalPath(object)} has no index ${JSON.stringify(indexName)}`,
  );
}
