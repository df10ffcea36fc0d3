import type { Answer } from '../../../protocol/backend.ts';
import { statementOf } from '../../base/statement.ts';
import { checkBranchName } from '../../format/branch-name.ts';
import type { Stored, TableRecord } from '../../format/records.ts';
import { judgeAside } from '../../rules/place-judge.ts';
import { branchExists } from '../../versions/lines/branches.ts';
import { settledBranch } from '../../versions/managed/managed-branches.ts';
import type { PlannedVersion } from '../../versions/managed/version-creation.ts';
import { adoptedTable } from '../call/adopted-table.ts';
import { jsonAnswer } from '../call/answers.ts';
import type { Call } from '../call/handler.ts';
import { permittedBranch } from '../versions/branches.ts';
import { gatesOf, waiting } from '../versions/create-version.ts';
import { commitsOfLibrary, onlyVersion, type LibraryChanges } from './library-changes.ts';
import { versionPlace } from './library-reads.ts';

/**
 * Begins a branch of a Lance table: the library stages its first version, which the catalog commits,
 * and writes the file by which Lance clients know the branch.
 * @throws CatalogError TableBranchAlreadyExists, InvalidInput for a name that no branch may have
 */
export async function createLanceBranch(
  parts: LibraryChanges,
  call: Call,
  found: Stored<TableRecord>,
): Promise<Answer> {
  const { object } = call.request;
  const { name, from, version } = permittedBranch(call);
  checkBranchName(name);
  const { content: table } = await adoptedTable(call, found, from);
  // The library writes to the folder of the branch: what a removal left goes first.
  if ((await settledBranch(parts, table, name)) !== undefined) throw branchExists(name);
  await judgeAside(call.rules, { path: object, record: table }, 'create_branch', { branch: name });
  const place = await versionPlace(parts, object, table, { branch: from, version });
  const answer = ({ summary }: PlannedVersion): Answer =>
    jsonAnswer(call, {}, { commit: { ...summary, kind: 'create_branch' }, branch: name });
  const outcome = await commitsOfLibrary(
    { ...parts, ...waiting(parts, call) },
    {
      table,
      place,
      branch: name,
      change: { kind: 'create_branch', name, version: Number(place.at.version) },
      origin: { parentBranch: from, parentVersion: place.at.version },
      rows: null,
      gates: gatesOf(call),
      seal: call.once.seal((committed) => answer(committed.planned)),
      statement: statementOf(call),
    },
  );
  const { planned } = onlyVersion(outcome);
  await settledBranch(parts, table, name);
  return answer(planned);
}
