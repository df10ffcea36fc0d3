import type { Catalog } from '../catalog/catalog.ts';
import type { Call } from '../handler.ts';
import type { Fields } from '../query/fields.ts';
import type { BatchSource } from '../table/fragment-reader.ts';
import type { Snapshot } from '../table/snapshot.ts';
import type { HeavyWork } from '../workers/heavy-work.ts';
import type { Tags } from '../table/tags.ts';
import { placeOf } from './read-place.ts';
import type { TableView } from './table-view.ts';
import { requireEngineTable } from './table-parts.ts';

/** What the operations that read rows work with. */
export interface TableReads {
  readonly catalog: Pick<Catalog, 'requireTable'>;
  readonly tables: Pick<TableView, 'snapshot' | 'chain'>;
  readonly tags: Pick<Tags, 'require'>;
  readonly reader: BatchSource;
  /** Work for other threads; all is done here when absent. */
  readonly heavy?: HeavyWork;
}

/**
 * The table of a request at the version or tag asked for, or at its newest. The
 * newest is looked up each time, which is all that a client's freshness headers
 * can ask for.
 * @param fields Where the version and the tag stand: the body, or a query inside it.
 * @throws CatalogError TableNotFound, TableVersionNotFound, TableTagNotFound,
 * TableBranchNotFound, or why the table's rows are not here.
 */
export async function readTable(
  { catalog, tables, tags }: TableReads,
  call: Call,
  fields: Fields = call.body,
): Promise<Snapshot> {
  const { object } = call.request;
  const { content } = await catalog.requireTable(object);
  requireEngineTable(object, content);
  const { branch, version } = await placeOf(tags, content, call, fields);
  return tables.snapshot(content, version, await tables.chain(content, branch));
}
