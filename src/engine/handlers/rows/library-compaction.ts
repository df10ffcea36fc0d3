import { CatalogError } from '../../../protocol/errors.ts';
import { canonicalPath, type ObjectPath } from '../../../protocol/identifier.ts';
import { ownStatement } from '../../base/statement.ts';
import type { Compacted } from '../../change/compaction.ts';
import { liveRowCount, type LanceManifest } from '../../format/lance/lance-manifest.ts';
import type { TableRecord } from '../../format/records.ts';
import type { JudgeStaged } from '../../versions/managed/staged-manifest.ts';
import { commitsOfLibrary, type LibraryChanges } from './library-changes.ts';
import { versionPlace } from './library-reads.ts';

/** How often a compaction is begun because other writers changed its fragments. */
const ATTEMPTS = 3;

/**
 * Has the library merge the small fragments of a line of a Lance table and extend its indices.
 * Undefined if there was nothing to merge.
 * @throws CatalogError ConcurrentModification when other writers were first too often
 */
export async function compactLanceLine(
  parts: LibraryChanges,
  path: ObjectPath,
  table: TableRecord,
  branch: string,
): Promise<Compacted | undefined> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await compactedLine(parts, path, table, branch);
    } catch (error) {
      const isOvertaken =
        error instanceof CatalogError && error.row.name === 'ConcurrentModification';
      if (!isOvertaken || attempt === ATTEMPTS) throw error;
    }
  }
}

async function compactedLine(
  parts: LibraryChanges,
  path: ObjectPath,
  table: TableRecord,
  branch: string,
): Promise<Compacted | undefined> {
  const { counts } = await commitsOfLibrary(parts, {
    table,
    place: await versionPlace(parts, path, table, { branch }),
    branch,
    change: { kind: 'compact' },
    rows: null,
    gates: { judge: keepsRows },
    statement: ownStatement(),
  });
  const { merged = 0, made = 0 } = counts;
  return merged === 0 && made === 0 ? undefined : { merged, made };
}

/** Refuses a version with other columns or another number of rows. */
const keepsRows: JudgeStaged = async ({ path, before: read, manifest }) => {
  const before = await read();
  if (before === undefined || contentsOf(before.manifest) === contentsOf(manifest)) return;
  throw new CatalogError(
    'Internal',
    `the compaction of table ${canonicalPath(path)} would change its rows or columns, and is given up: report this with the versions of arrowgate and of the Lance library`,
  );
};

function contentsOf({ fields, fragments }: LanceManifest): string {
  const rows = fragments.reduce((sum, fragment) => sum + liveRowCount(fragment), 0n);
  return JSON.stringify([
    String(rows),
    fields.map(({ name, id, parent, type, nullable }) => [name, id, parent, type, nullable]),
  ]);
}
