import type { Catalog } from '../catalog/catalog.ts';
import type { HandlerTable } from '../handler.ts';
import { namespaceHandlers } from './namespaces.ts';
import { tableListHandlers } from './table-lists.ts';
import type { Tags } from '../table/tags.ts';
import { tableHandlers } from './tables.ts';
import type { TableView } from './table-view.ts';

/**
 * The handlers of namespaces and of table metadata.
 * @param pageLimit The most entries that a listing answers at once.
 */
export function catalogHandlers(
  catalog: Catalog,
  tables: TableView,
  tags: Tags,
  pageLimit: number,
): HandlerTable {
  return {
    ...namespaceHandlers(catalog, tables, pageLimit),
    ...tableListHandlers(catalog, pageLimit),
    ...tableHandlers(catalog, tables, tags, pageLimit),
  };
}
