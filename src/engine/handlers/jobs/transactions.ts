import { canonicalPath } from '../../../protocol/identifier.ts';
import type { Answer } from '../../../protocol/backend.ts';
import { namedPath } from '../../../protocol/database.ts';
import { jsonAnswer, type AnswerNotes } from '../call/answers.ts';
import type { Call, HandlerTable } from '../call/handler.ts';
import { indexOfJob, type TransactionRecord } from '../../upkeep/jobs/transaction.ts';
import { placeSummary } from '../../once/commit-summary.ts';
import {
  actionsField,
  altered,
  visibleTransaction,
  type PlacedTransaction,
  type TransactionParts,
} from './transaction-actions.ts';

/** The operations on transactions: work on tables that continues after its request. */
export function transactionHandlers(parts: TransactionParts): HandlerTable {
  return {
    DescribeTransaction: (call) => describeTransaction(parts, call),
    AlterTransaction: (call) => alterTransaction(parts, call),
  };
}

async function describeTransaction(parts: TransactionParts, call: Call): Promise<Answer> {
  const found = await visibleTransaction(parts, idOf(call), 'DescribeTransaction', call.permit);
  return transactionAnswer(call, found);
}

/** All actions or none: they are applied in turn to the record, which is written once. */
async function alterTransaction(parts: TransactionParts, call: Call): Promise<Answer> {
  const actions = actionsField(call.body);
  const id = idOf(call);
  const { path } = await visibleTransaction(parts, id, 'AlterTransaction', call.permit);
  const answer = (record: TransactionRecord): Answer =>
    transactionAnswer(
      call,
      { record, path },
      { commit: placeSummary('alter_transaction', record.table.id) },
    );
  const change = (current: TransactionRecord): TransactionRecord => altered(current, actions);
  return answer(await parts.transactions.change(id, change, call.once.seal(answer)));
}

/** An id is one name with any delimiter. */
function idOf({ request }: Call): string {
  return request.object.join(request.delimiter);
}

function transactionAnswer(
  call: Call,
  { record, path }: PlacedTransaction,
  notes: AnswerNotes = {},
): Answer {
  const { status } = record;
  const properties = {
    ...record.properties,
    ...ownProperties(record, canonicalPath(namedPath(call.request, path))),
  };
  return jsonAnswer(call, { status, properties }, { objects: [path], ...notes });
}

/** The service's properties of a transaction's job. */
function ownProperties(record: TransactionRecord, table: string): Record<string, string> {
  const { job, progress, version, failure } = record;
  const index = indexOfJob(job);
  return {
    'job.type': job.type,
    'job.table': table,
    'job.branch': job.branch,
    'job.column': job.column,
    ...(job.where === null ? {} : { 'job.where': job.where }),
    ...(index === null ? {} : { 'job.index': index.name, 'job.index_type': index.type }),
    'job.rows_done': String(progress.done),
    'job.rows_total': String(progress.total),
    ...(version === null ? {} : { 'job.version': version }),
    ...(failure === null ? {} : { 'job.failure': failure.message }),
  };
}
