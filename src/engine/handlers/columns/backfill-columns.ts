import type { Answer } from '../../../protocol/backend.ts';
import { CatalogError } from '../../../protocol/errors.ts';
import { jsonAnswer } from '../call/answers.ts';
import type { Call, Handler } from '../call/handler.ts';
import { planBackfill } from '../../upkeep/jobs/backfill.ts';
import type { JobRunner } from '../../upkeep/jobs/job-runner.ts';
import type { BackfillSpec, TransactionRecord } from '../../upkeep/jobs/transaction.ts';
import type { Transactions } from '../../upkeep/jobs/transactions.ts';
import { branchParameter } from '../call/parameters.ts';
import { countField, textField } from '../../base/fields.ts';
import type { Catalog } from '../../catalog/catalog.ts';
import { statementOf } from '../../base/statement.ts';
import type { Snapshot } from '../../format/snapshot.ts';
import type { Tables } from '../../versions/tables.ts';
import { judgeAside } from '../../rules/place-judge.ts';
import { placeSummary } from '../../once/commit-summary.ts';
import { requireEngineTable } from '../call/table-parts.ts';

export interface BackfillColumnsParts {
  readonly catalog: Catalog;
  readonly tables: Tables;
  readonly transactions: Transactions;
  readonly runner: JobRunner;
}

/** Options of a request that are not supported. */
const unsupported: Readonly<Record<string, string>> = {
  cluster: 'this service fills columns itself and knows no clusters',
  manifest: 'this service runs no code of clients and takes no manifests of it',
  num_frags: 'a backfill fills all rows; where says which of them',
};

/**
 * AlterTableBackfillColumns: a job that fills a computed column, in all rows or
 * in those of which `where` is true. The answer comes when the job is written
 * down; its id is a transaction's, too.
 */
export function backfillColumns(parts: BackfillColumnsParts): Handler {
  return async (call) => {
    const { object } = call.request;
    const wanted = wantedOf(call);
    const table = await parts.catalog.requireTable(object);
    requireEngineTable(object, table.content);
    const chain = await parts.tables.chain(table.content, branchParameter(call));
    const snapshot = await parts.tables.snapshot(table.content, undefined, chain);
    checkVersion(call, snapshot);
    planBackfill(snapshot, wanted, statementOf(call));
    const placed = { path: object, record: table.content };
    await judgeAside(call.rules, placed, 'backfill', { branch: chain.branch });
    const job = {
      type: 'backfill',
      ...wanted,
      branch: chain.branch,
      branchKey: chain.key,
      memory: memoryOf(call),
    } as const;
    const answer = ({ id }: TransactionRecord): Answer =>
      jsonAnswer(call, { job_id: id }, { commit: placeSummary('backfill', table.content.id) });
    const seal = call.once.seal(answer);
    const record = await parts.transactions.begin({ path: object, table, job, seal });
    parts.runner.wake();
    return answer(record);
  };
}

/** Bytes that the job may hold: as many as its request. JSON has no infinity. */
function memoryOf({ request: { budget } }: Call): number | null {
  const { memory } = budget.limits;
  return Number.isFinite(memory) ? memory : null;
}

function wantedOf({ body }: Call): Pick<BackfillSpec, 'column' | 'where'> {
  for (const [name, sentence] of Object.entries(unsupported)) {
    const value = body[name];
    if (value !== undefined && value !== null) {
      throw new CatalogError('Unsupported', `${name} is not supported: ${sentence}`);
    }
  }
  return { column: textField(body, 'column') ?? '', where: textField(body, 'where') };
}

/** Rows are read when the job runs: older values would undo later changes. */
function checkVersion({ body }: Call, { version }: Snapshot): void {
  const requested = countField(body, 'read_version');
  if (requested === null || requested === version) return;
  throw new CatalogError(
    'InvalidInput',
    `read_version is ${requested}, and a backfill reads the newest version, which is ${version}`,
  );
}
