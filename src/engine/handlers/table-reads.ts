import type { Catalog } from '../catalog/catalog.ts';
import type { Call } from '../handler.ts';
import { branchParameter } from '../parameters.ts';
import type { BatchSource } from '../table/fragment-reader.ts';
import type { Snapshot } from '../table/snapshot.ts';
import type { HeavyWork } from '../workers/heavy-work.ts';
import type { TableView } from './table-view.ts';
import { requireEngineTable } from './table-parts.ts';

/** What the operations that read rows work with. */
export interface TableReads {
  readonly catalog: Pick<Catalog, 'requireTable'>;
  readonly tables: Pick<TableView, 'snapshot' | 'chain'>;
  readonly reader: BatchSource;
  /** Work for other threads; all is done here when absent. */
  readonly heavy?: HeavyWork;
}

/**
 * The table of a request at the version asked for, null for the newest. The
 * newest is looked up each time, which is all that a client's freshness headers
 * can ask for.
 * @throws CatalogError TableNotFound, TableVersionNotFound, TableBranchNotFound,
 * or why the table's rows are not here.
 */
export async function readTable(
  { catalog, tables }: TableReads,
  call: Call,
  version: bigint | null,
): Promise<Snapshot> {
  const { object } = call.request;
  const { content } = await catalog.requireTable(object);
  requireEngineTable(object, content);
  const chain = await tables.chain(content, branchParameter(call));
  return tables.snapshot(content, version ?? undefined, chain);
}
