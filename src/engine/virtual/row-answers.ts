import type { RecordBatch } from 'apache-arrow';
import type { Answer } from '../../protocol/backend.ts';
import { stringifyJson } from '../../protocol/json.ts';
import { statementOf, type Formula, type Statement } from '../base/statement.ts';
import type { AnswerMemory } from '../format/memory/answer-memory.ts';
import type { Call } from '../handlers/call/handler.ts';
import { execute } from '../query/execute.ts';
import { fileAnswer, rowsAnswer, versionHeaders } from '../query/plan/answer.ts';
import { readOfPlan, withRead, withReadRows, type ReadPart } from '../query/plan/recorded-read.ts';
import { repeatedAnswer } from '../query/plan/answer-body.ts';
import { planQuery } from '../query/plan/plan.ts';
import { reservedBytes } from '../query/plan/reserved-bytes.ts';
import { countRowsWhere, predicateOf } from '../query/rows/count.ts';
import { rowsAfter } from '../query/rows-after.ts';
import { attended } from '../query/scan/attended.ts';
import type { BatchSource } from '../query/scan/batch-source.ts';
import type { VisibleSnapshot } from '../query/scan/visible-snapshot.ts';
import type { VirtualRows } from '../query/scan/virtual-rows.ts';
import { needOf } from '../request/computed-columns.ts';
import type { QueryRequest } from '../request/request.ts';
import type { HeavyWork } from '../workers/heavy-work.ts';

/** Parts of the operations on virtual rows. */
export interface VirtualReads {
  /** Worker threads; this thread if absent. */
  readonly heavy?: HeavyWork | undefined;
  /** Memory that answers in flight share. */
  readonly answerMemory: AnswerMemory;
}

/** The answer of a query over virtual rows, sent while they are found. */
export async function rowsOfQuery(
  rows: VirtualRows,
  request: QueryRequest,
  call: Call,
  { heavy, answerMemory }: VirtualReads,
): Promise<Answer> {
  const { version } = rows.snapshot;
  const plan = planQuery(request, rows.snapshot, statementOf(call));
  if (heavy?.isHeavyQuery(plan) === true) {
    const run = () => opened(rows.again(), (own) => heavy.query(request, plan, own));
    const answer = fileAnswer(version, await repeatedAnswer(run, heavy.claimOf(plan)));
    return withReadRows(answer, readOfPlan(plan));
  }
  const signal = call.request.signal();
  type Work = (source: BatchSource, own: VirtualRows) => AsyncGenerator<RecordBatch>;
  const read = (work: Work) => {
    const own = rows.again();
    return closing(own, () => work(attended(own, signal), own));
  };
  const answer = await rowsAnswer({
    schema: plan.schema,
    batches: read((source) => execute(plan, source)),
    memory: answerMemory,
    reserve: reservedBytes(plan),
    after: (sent) =>
      read((source, own) => rowsAfter(plan, source, (part) => own.batchRows(part), sent)),
    version,
    signal,
  });
  return withReadRows(answer, readOfPlan(plan));
}

/** An answer that has begun, and closes the rows at its end. */
async function opened(
  rows: VirtualRows,
  begin: (rows: VirtualRows) => Promise<AsyncGenerator<Uint8Array>>,
): Promise<AsyncGenerator<Uint8Array>> {
  try {
    const bytes = await begin(rows);
    return closing(rows, () => bytes);
  } catch (error) {
    await rows.close();
    throw error;
  }
}

async function* closing<Item>(
  rows: VirtualRows,
  read: () => AsyncGenerator<Item>,
): AsyncGenerator<Item> {
  try {
    yield* read();
  } finally {
    await rows.close();
  }
}

/** The number of virtual rows that pass a predicate, or of all. Closes them. */
export async function countOfRows(
  rows: VirtualRows,
  predicate: string | null,
  call: Call,
  heavy: HeavyWork | undefined,
): Promise<Answer> {
  try {
    const { snapshot } = rows;
    const formula = predicate === null ? null : predicateOf(snapshot, predicate, statementOf(call));
    const count = await counted(rows, formula, statementOf(call), heavy);
    return countAnswer(count, readOfCount(snapshot, formula));
  } finally {
    await rows.close();
  }
}

/** What a count reads. */
export function readOfCount(
  { schema, version }: VisibleSnapshot,
  formula: Formula | null,
): ReadPart {
  const columns = needOf(schema, formula?.columns ?? []).stored;
  return { columns, version, filter: formula?.text ?? null };
}

export function countAnswer(count: bigint, read: ReadPart): Answer {
  const answer = {
    status: 200,
    contentType: 'application/json',
    headers: versionHeaders(read.version),
    body: stringifyJson(count),
  };
  return withRead(answer, read);
}

async function counted(
  rows: VirtualRows,
  formula: Formula | null,
  statement: Statement,
  heavy: HeavyWork | undefined,
): Promise<bigint> {
  const { snapshot } = rows;
  if (formula === null) return snapshot.rows;
  if (heavy?.isHeavyCount(snapshot, formula) === true) {
    return heavy.count(formula.text, snapshot, statement, rows);
  }
  return countRowsWhere(attended(rows, statement.signal()), snapshot, formula);
}
