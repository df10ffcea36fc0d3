import type { Catalog } from '../catalog/catalog.ts';
import type { Stored, TableRecord } from '../catalog/records.ts';
import type { Call } from '../handler.ts';
import type { Fields } from '../query/fields.ts';
import type { Chain } from '../table/chain.ts';
import type { BatchSource } from '../table/fragment-reader.ts';
import type { FoundSnapshot, Snapshot } from '../table/snapshot.ts';
import type { HeavyWork } from '../workers/heavy-work.ts';
import type { Tags } from '../table/tags.ts';
import { placeOf } from './read-place.ts';
import type { TableView } from './table-view.ts';
import { requireEngineTable } from './table-parts.ts';

/** What the operations that read rows work with. */
export interface TableReads {
  readonly catalog: Pick<Catalog, 'requireTable'>;
  readonly tables: Pick<TableView, 'found' | 'chain'>;
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
export async function readTable(reads: TableReads, call: Call, fields?: Fields): Promise<Snapshot> {
  return (await findTable(reads, call, fields)).snapshot;
}

/** A table at a version, and by what it was found. */
export interface FoundTable extends FoundSnapshot {
  readonly table: Stored<TableRecord>;
  readonly chain: Chain;
}

/** The same with what the table was found by. */
export async function findTable(
  { catalog, tables, tags }: TableReads,
  call: Call,
  fields: Fields = call.body,
): Promise<FoundTable> {
  const { object } = call.request;
  const table = await catalog.requireTable(object);
  const { content } = table;
  requireEngineTable(object, content);
  const { branch, version } = await placeOf(tags, content, call, fields);
  const chain = await tables.chain(content, branch);
  const { snapshot, record } = await tables.found(content, version, chain);
  return { snapshot, record, table, chain };
}
