import { join } from 'node:path';
import { CatalogError } from '../../protocol/errors.ts';
import { versionChange } from '../../rules/table-change.ts';
import type { TableState } from '../../rules/commit-facts.ts';
import type { VersionRecord } from '../catalog/records.ts';
import { LanceManifestError } from '../lance/lance-message.ts';
import { lanceTransaction } from '../lance/lance-transaction.ts';
import { readManifestFile } from '../lance/manifest-file.ts';
import { locationOf } from '../managed/managed-versions.ts';
import { isAbsent } from '../managed/place.ts';
import type { JudgeStaged } from '../managed/staged-version.ts';
import type { CommitJudge } from './commit-judge.ts';
import { lanceAction, lanceClasses, lanceState, movesOf } from './lance-state.ts';

/** What judges the versions of Lance clients, by the manifests before and after. */
export function lanceJudge(rules: CommitJudge): JudgeStaged {
  return async ({ path, table, branch, base, manifest, file }) => {
    if (!rules.covers(path)) return;
    const location = locationOf(table);
    const { id, change: kind } = await lanceTransaction(location, file, manifest);
    const before = base === undefined ? null : await stateBefore(location, base);
    const after = lanceState(manifest);
    const change = versionChange(before, after, movesOf(kind));
    await rules.judge({
      table: path,
      operation: 'CreateTableVersion',
      action: lanceAction(kind, before === null),
      classes: lanceClasses(before, after, change, kind),
      branch,
      keeper: 'elsewhere',
      location,
      change,
      transaction: id === null ? undefined : `${table.id} ${branch} ${id}`,
    });
  };
}

/**
 * The state of a version that is recorded. Of versions of one commit, those before do not have
 * their final names yet.
 * @throws CatalogError TableSchemaValidationError when its manifest cannot be read
 */
export async function stateBefore(
  location: string,
  { version, manifest, staging }: VersionRecord,
): Promise<TableState> {
  for (const name of [manifest, staging]) {
    try {
      return lanceState((await readManifestFile(join(location, name))).manifest);
    } catch (error) {
      if (!isAbsent(error) && !(error instanceof LanceManifestError)) throw error;
    }
  }
  throw new CatalogError(
    'TableSchemaValidationError',
    `the commit rules of the table cannot be judged: the manifest of its version ${version} cannot be read`,
  );
}
