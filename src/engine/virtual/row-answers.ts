import type { RecordBatch } from 'apache-arrow';
import type { Answer } from '../../protocol/backend.ts';
import { stringifyJson } from '../../protocol/json.ts';
import { statementOf, type Statement } from '../base/statement.ts';
import type { AnswerMemory } from '../format/memory/answer-memory.ts';
import type { Call } from '../handlers/call/handler.ts';
import { execute } from '../query/execute.ts';
import { fileAnswer, rowsAnswer, versionHeaders } from '../query/plan/answer.ts';
import { repeatedAnswer } from '../query/plan/answer-body.ts';
import { planQuery } from '../query/plan/plan.ts';
import { reservedBytes } from '../query/plan/reserved-bytes.ts';
import { countRows, predicateOf } from '../query/rows/count.ts';
import { rowsAfter } from '../query/rows-after.ts';
import { attended } from '../query/scan/attended.ts';
import type { BatchSource } from '../query/scan/fragment-reader.ts';
import type { VirtualRows } from '../query/scan/virtual-rows.ts';
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
    return fileAnswer(version, await repeatedAnswer(run, heavy.claimOf(plan)));
  }
  const signal = call.request.signal();
  type Work = (source: BatchSource, own: VirtualRows) => AsyncGenerator<RecordBatch>;
  const read = (work: Work) => {
    const own = rows.again();
    return closing(own, () => work(attended(own, signal), own));
  };
  return rowsAnswer({
    schema: plan.schema,
    batches: read((source) => execute(plan, source)),
    memory: answerMemory,
    reserve: reservedBytes(plan),
    after: (sent) =>
      read((source, own) => rowsAfter(plan, source, (part) => own.batchRows(part), sent)),
    version,
    signal,
  });
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
    return {
      status: 200,
      contentType: 'application/json',
      headers: versionHeaders(rows.snapshot.version),
      body: stringifyJson(await counted(rows, predicate, statementOf(call), heavy)),
    };
  } finally {
    await rows.close();
  }
}

async function counted(
  rows: VirtualRows,
  predicate: string | null,
  statement: Statement,
  heavy: HeavyWork | undefined,
): Promise<bigint> {
  const { snapshot } = rows;
  if (predicate !== null && heavy !== undefined) {
    const formula = predicateOf(snapshot, predicate, statement);
    if (heavy.isHeavyCount(snapshot, formula)) {
      return heavy.count(predicate, snapshot, statement, rows);
    }
  }
  return countRows(attended(rows, statement.signal()), snapshot, predicate, statement);
}
