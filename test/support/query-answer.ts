import { asVisible } from '../../src/engine/query/scan/visible-snapshot.ts';
import { tableFromIPC, type Table } from 'apache-arrow';
import { expect } from 'vitest';
import { answerSizes, rowsAnswer } from '../../src/engine/query/plan/answer.ts';
import { execute } from '../../src/engine/query/execute.ts';
import { planQuery } from '../../src/engine/query/plan/plan.ts';
import { parseQueryRequest } from '../../src/engine/request/request.ts';
import type { BatchSource } from '../../src/engine/query/scan/batch-source.ts';
import type { Snapshot } from '../../src/engine/format/snapshot.ts';
import type { Answer, AnswerBody } from '../../src/protocol/backend.ts';
import type { JsonValue } from '../../src/protocol/json.ts';

interface Queried {
  readonly snapshot: Snapshot;
  readonly reader: BatchSource;
}

/** Runs the query of a body over a table and reads the answer's bytes, which are as many as were announced. */
export async function answerOf(table: Queried, body: Record<string, JsonValue>): Promise<Table> {
  const answer = await madeAnswer(table, body);
  expect(answer.contentType).toBe('application/vnd.apache.arrow.file');
  const bytes = await bytesOf(answer.body);
  expect([undefined, bytes.length]).toContain(lengthOf(answer.body));
  return tableFromIPC(bytes);
}

/** The answer to the query of a body over a table, not yet read. */
export async function madeAnswer(
  { snapshot, reader }: Queried,
  body: Record<string, JsonValue>,
): Promise<Answer> {
  const plan = planQuery(parseQueryRequest(body), asVisible(snapshot));
  return rowsAnswer({
    schema: plan.schema,
    batches: execute(plan, reader),
    version: snapshot.version,
    signal: new AbortController().signal,
    sizes: await answerSizes(plan, reader),
  });
}

/** The length that a body announces. */
export function lengthOf(body: AnswerBody): number | undefined {
  return body === null || typeof body === 'string' ? undefined : body.length;
}

/** All bytes of a body that is sent in pieces. */
export async function bytesOf(body: AnswerBody): Promise<Uint8Array> {
  if (body === null || typeof body === 'string') throw new Error('the body is not in pieces');
  const pieces: Uint8Array[] = [];
  for await (const piece of body) pieces.push(piece);
  return Buffer.concat(pieces);
}

/** The rows of an answer as objects. */
export function rowsOf(table: Table): Record<string, unknown>[] {
  return table.toArray().map((row): Record<string, unknown> => row.toJSON());
}
