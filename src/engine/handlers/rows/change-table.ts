import type { Answer } from '../../../protocol/backend.ts';
import {
  commitDerived,
  type Derive,
  type DerivedCommit,
  type DerivedOutcome,
} from '../../change/derived-commit.ts';
import type { Call } from '../call/handler.ts';
import { branchParameter } from '../call/parameters.ts';
import type { FragmentReader } from '../../query/scan/fragment-reader.ts';
import type { MaskSecret } from '../../query/restrict/mask-secret.ts';
import { requireEngineTable, type TableParts } from '../call/table-parts.ts';
import { changeJudge, type RowsOf } from '../../rules/version-judge.ts';
import type { CommitAction } from '../../../rules/commit-facts.ts';

/** Parts of the handlers that change existing rows. */
export interface TableChanges extends TableParts {
  readonly reader: FragmentReader;
  /** The key of the hashes of masks. */
  readonly maskSecret: MaskSecret;
}

/** Facts of a change for commit rules. */
interface JudgedChange<Result> {
  readonly action: CommitAction;
  readonly rows: RowsOf<Result>;
}

/**
 * Changes the rows of a request's table.
 * @param answer What is answered, from what is committed.
 * @param writes What the commit writes beside the version.
 * @throws CatalogError TableNotFound, TableBranchNotFound, why the table's rows are
 * not here, ConcurrentModification, or what the change refuses.
 */
export async function changeTable<Result>(
  { catalog, tables }: TableChanges,
  call: Call,
  derive: Derive<Result>,
  answer: (outcome: DerivedOutcome<Result>) => Answer,
  { action, rows }: JudgedChange<Result>,
  writes?: DerivedCommit<Result>['writes'],
): Promise<Answer> {
  const { object } = call.request;
  const table = await catalog.requireTable(object);
  requireEngineTable(object, table.content);
  const chain = await tables.chain(table.content, branchParameter(call));
  const current = () => catalog.requireTable(object);
  const seal = call.once.seal(answer);
  const place = { path: object, table: table.content, branch: chain.branch, action };
  const judge = changeJudge(call.rules, tables, place, rows);
  return answer(
    await commitDerived({
      tables,
      table,
      chain,
      current,
      derive,
      writes,
      seal,
      judge,
      recorded: call.recorded,
    }),
  );
}
