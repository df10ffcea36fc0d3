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

/** Parts of the handlers that write tables. */
export interface TableParts extends IncomingLimits {
  readonly catalog: Catalog;
  readonly tables: Tables;
  readonly store: Store;
  readonly locations: TableRoots;
}

/**
 * Refuses a table whose rows this engine does not store.
 * @param instead Advice for a table of Lance clients.
 * @throws CatalogError InvalidTableState for a declared table, Unsupported for one that Lance
 * clients write.
 */
export function requireEngineTable(path: ObjectPath, table: TableRecord, instead?: string): void {
  if (table.kind === 'engine') return;
  if (table.kind === 'declared') {
    throw new CatalogError(
      'InvalidTableState',
      `table ${canonicalPath(path)} is declared and has no data`,
    );
  }
  throw writtenByLance(path, instead);
}

/** The refusal of a table whose rows this engine does not store. */
export function writtenByLance(
  path: ObjectPath,
  instead = 'open it at its location',
): CatalogError {
  return new CatalogError(
    'Unsupported',
    `table ${canonicalPath(path)} is written by Lance clients: ${instead}`,
  );
}

/** Refuses a table without a version. @throws CatalogError InvalidTableState. */
export function requireWrittenTable(path: ObjectPath, table: TableRecord): void {
  if (table.kind === 'declared') requireEngineTable(path, table);
}

/** Commits files that were written for a table; removes them if the commit is refused. */
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
