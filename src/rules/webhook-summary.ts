import { canonicalPath } from '../protocol/identifier.ts';
import type { CommitFacts } from './commit-facts.ts';
import { sameColumns } from './table-change.ts';

/** Who commits, as a webhook is told. */
export interface Committing {
  readonly subject: string;
  readonly requestId: string;
  readonly decisionId: string;
}

/**
 * What a webhook is told of a commit, as JSON text: names, counts and columns,
 * never rows, nor values of the context. Counts are texts, since they may have more digits than a
 * number keeps.
 */
export function webhookSummary(
  rule: string,
  { table, target, tag, operation, action, branch, change }: CommitFacts,
  { subject, requestId, decisionId }: Committing,
): string {
  return JSON.stringify({
    rule,
    table: canonicalPath(table),
    ...(target !== undefined && { target: canonicalPath(target) }),
    operation,
    action,
    branch,
    ...(tag !== undefined && { tag }),
    subject,
    request_id: requestId,
    decision_id: decisionId,
    ...(change !== null && {
      change: {
        rows_before: String(change.rowsBefore),
        rows_added: String(change.rowsAdded),
        rows_removed: String(change.rowsRemoved),
        rows_changed: String(change.rowsChanged),
        bytes_added: String(change.bytesAdded),
        schema_changed:
          change.before === null || !sameColumns(change.before.columns, change.after.columns),
        columns: change.after.columns.map(({ name, plain: type, nullable }) => ({
          name,
          type,
          nullable,
        })),
      },
    }),
  });
}
