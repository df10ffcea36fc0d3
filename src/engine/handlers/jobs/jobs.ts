import type { Answer } from '../../../protocol/backend.ts';
import { namedPath } from '../../../protocol/database.ts';
import { jsonAnswer } from '../call/answers.ts';
import type { Call, HandlerTable } from '../call/handler.ts';
import {
  indexOfJob,
  type JobSpec,
  type TransactionRecord,
  type TransactionStatus,
} from '../../upkeep/jobs/transaction.ts';
import { textField } from '../../base/fields.ts';
import { placeSummary } from '../../once/commit-summary.ts';
import {
  jobEvents,
  canceled,
  visibleTransaction,
  visibleTransactions,
  type PlacedTransaction,
  type TransactionParts,
} from './transaction-actions.ts';

/** The states of jobs in LanceDB's words. */
const states: Readonly<Record<TransactionStatus, string>> = {
  QUEUED: 'IN_PROGRESS',
  RUNNING: 'IN_PROGRESS',
  SUCCEEDED: 'DONE',
  FAILED: 'FAILED',
  CANCELED: 'CANCELLED',
};

/**
 * LanceDB's jobs: transactions under other names.
 * @param pageLimit The most jobs that a listing answers at once.
 */
export function jobHandlers(parts: TransactionParts, pageLimit: number): HandlerTable {
  return {
    ListJobs: (call) => listJobs(parts, pageLimit, call),
    DescribeJob: (call) => describeJob(parts, call),
    CancelJob: (call) => cancelJob(parts, call),
    QueryJobEvents: (call) => queryJobEvents(parts, call),
  };
}

async function listJobs(parts: TransactionParts, limit: number, call: Call): Promise<Answer> {
  const after = textField(call.body, 'page_token') ?? '';
  const found: PlacedTransaction[] = [];
  for await (const one of visibleTransactions(parts, after, 'ListJobs', call.permit)) {
    found.push(one);
    if (found.length > limit) break;
  }
  const shown = found.slice(0, limit);
  return jsonAnswer(call, {
    jobs: shown.map((one) => listed(call, one)),
    page_token: found.length > limit ? shown.at(-1)?.record.id : undefined,
  });
}

function listed({ request }: Call, { record, path }: PlacedTransaction): object {
  return {
    job_id: record.id,
    table: namedPath(request, path).join(request.delimiter),
    job_type: record.job.type,
    state: states[record.status],
    created_at_millis: record.createdMillis,
  };
}

async function describeJob(parts: TransactionParts, call: Call): Promise<Answer> {
  const { record, path } = await requireJob(parts, call, 'DescribeJob');
  const { id, status, job, createdMillis, failure } = record;
  const table = namedPath(call.request, path).join(call.request.delimiter);
  const { branch, column, where } = job;
  const described = {
    job_state: states[status],
    job_id: id,
    job_type: job.type,
    creation_ms: createdMillis,
    spec: { table, branch, column, ...(where === null ? {} : { where }), ...indexOf(job) },
    result: resultOf(record),
    failure: failure === null ? undefined : { phase: 'run', ...failure, retryable: false },
  };
  return jsonAnswer(call, described, { objects: [path] });
}

function indexOf(job: JobSpec): object {
  const index = indexOfJob(job);
  return index === null ? {} : { index: index.name, index_type: index.type };
}

function resultOf({ progress, version }: TransactionRecord): object {
  return {
    rows_done: progress.done,
    rows_total: progress.total,
    ...(version === null ? {} : { version: BigInt(version) }),
  };
}

async function cancelJob(parts: TransactionParts, call: Call): Promise<Answer> {
  const { record, path } = await requireJob(parts, call, 'CancelJob');
  const notes = { objects: [path], commit: placeSummary('cancel_job', record.table.id) };
  const answer = jsonAnswer(call, {}, notes);
  await parts.transactions.change(
    record.id,
    canceled,
    call.once.seal(() => answer),
  );
  return answer;
}

async function queryJobEvents(parts: TransactionParts, call: Call): Promise<Answer> {
  const id = textField(call.body, 'job_id');
  if (id !== null) return jobEvents([(await requireJob(parts, call, 'QueryJobEvents')).record]);
  const records: TransactionRecord[] = [];
  for await (const one of visibleTransactions(parts, '', 'QueryJobEvents', call.permit)) {
    records.push(one.record);
  }
  return jobEvents(records);
}

/** A job by the id in the body. @throws CatalogError TransactionNotFound, PermissionDenied. */
async function requireJob(
  parts: TransactionParts,
  call: Call,
  operation: 'DescribeJob' | 'CancelJob' | 'QueryJobEvents',
): Promise<PlacedTransaction> {
  const id = textField(call.body, 'job_id') ?? '';
  return visibleTransaction(parts, id, operation, call.permit);
}
