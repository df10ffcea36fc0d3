import { CatalogError } from '../../../protocol/errors.ts';
import { canonicalPath, type ObjectPath } from '../../../protocol/identifier.ts';
import type { Store } from '../../../store/store.ts';
import type { Catalog } from '../../catalog/catalog.ts';
import { tookNoEffect } from '../../catalog/records/commit-loop.ts';
import type { TableRecord } from '../../format/records.ts';
import type { WrittenFile } from '../../format/fragment-writer.ts';
import type { IncomingLimits } from '../../format/incoming.ts';
import type { TableRoots } from '../../versions/lines/locations.ts';
import type { Tables } from '../../versions/tables.ts';
import type { Committed, VersionCommit } from '../../versions/lines/version-commits.ts';

/** What the handlers that write tables work with. */
export interface TableParts extends IncomingLimits {
  readonly catalog: Catalog;
  readonly tables: Tables;
  readonly store: Store;
  readonly locations: TableRoots;
}

/**
 * Refuses a table whose rows this engine does not hold.
 * @param instead What to do with one that Lance clients write.
 * @throws CatalogError InvalidTableState for a declared table, Unsupported for one that Lance clients write.
 */
export function requireEngineTable(
  path: ObjectPath,
  table: TableRecord,
  instead = 'open it at its location',
): void {
  if (table.kind === 'engine') return;
  if (table.kind === 'declared') {
    throw new CatalogError(
      'InvalidTableState',
      `table ${canonicalPath(path)} is declared and has no data`,
    );
  }
  throw new CatalogError(
    'Unsupported',
    `table ${canonicalPath(path)} is written by Lance clients: ${instead}`,
  );
}

/**
 * Refuses a table that nobody has written to yet.
 * @throws CatalogError InvalidTableState.
 */
export function requireWrittenTable(path: ObjectPath, table: TableRecord): void {
  if (table.kind === 'declared') requireEngineTable(path, table);
}

/** Commits files that were written for a table; when the commit is refused the files go too. */
export async function commitFiles(
  { catalog, tables }: TableParts,
  path: ObjectPath,
  files: readonly WrittenFile[],
  commit: Omit<VersionCommit, 'current'>,
): Promise<Committed> {
  try {
    return await tables.commit({ ...commit, current: () => catalog.requireTable(path) });
  } catch (error) {
    if (tookNoEffect(error)) await tables.discard(commit.table.content, files);
    throw error;
  }
}
