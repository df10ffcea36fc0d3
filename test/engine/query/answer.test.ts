import { Field, Int32, makeVector, Schema, tableFromIPC, type RecordBatch } from 'apache-arrow';
import { describe, expect, it } from 'vitest';
import { batchOf } from '../../../src/arrow/select.ts';
import { rowsAnswer } from '../../../src/engine/query/answer.ts';
import type { AnswerBody } from '../../../src/protocol/backend.ts';
import { bytesOf } from '../../support/query-answer.ts';

const schema = new Schema([new Field('n', new Int32(), false)]);
const ROWS = 10_000;

/** Batches without end, and whether they were closed. */
function endless(): {
  readonly batches: AsyncGenerator<RecordBatch>;
  readonly closed: () => boolean;
} {
  let closed = false;
  async function* produce(): AsyncGenerator<RecordBatch> {
    try {
      for (;;) yield batchOf(schema, [makeVector(new Int32Array(ROWS))], ROWS);
    } finally {
      closed = true;
    }
  }
  return { batches: produce(), closed: () => closed };
}

function iteratorOf(body: AnswerBody): AsyncIterator<Uint8Array> {
  if (body === null || typeof body === 'string') throw new Error('the body is not in pieces');
  return body[Symbol.asyncIterator]();
}

describe('an answer of rows', () => {
  it('is sent while rows are still being found, and closed when the reader stops', async () => {
    const { batches, closed } = endless();
    const { signal } = new AbortController();
    const { body } = await rowsAnswer({ schema, batches, version: 1n, signal });
    const pieces = iteratorOf(body);
    for (let count = 0; count < 20; count++) expect((await pieces.next()).done).toBe(false);
    expect(closed()).toBe(false);
    await pieces.return?.();
    expect(closed()).toBe(true);
  });

  it('never ends well after an abort', async () => {
    const { batches, closed } = endless();
    const controller = new AbortController();
    const rows = { schema, batches, version: 1n, signal: controller.signal };
    const { body } = await rowsAnswer(rows);
    const pieces = iteratorOf(body);
    await pieces.next();
    controller.abort();
    await expect(drain(pieces)).rejects.toThrow('This operation was aborted');
    expect(closed()).toBe(true);
  });

  it('is closed by an abort even if nobody begins to read it', async () => {
    const { batches, closed } = endless();
    const controller = new AbortController();
    await rowsAnswer({ schema, batches, version: 1n, signal: controller.signal });
    controller.abort();
    await new Promise(setImmediate);
    expect(closed()).toBe(true);
  });

  it('has a schema when there are no rows', async () => {
    async function* none(): AsyncGenerator<RecordBatch> {}
    const { signal } = new AbortController();
    const { body } = await rowsAnswer({ schema, batches: none(), version: 1n, signal });
    const table = tableFromIPC(await bytesOf(body));
    expect(table.numRows).toBe(0);
    expect(table.schema.fields.map(({ name }) => name)).toEqual(['n']);
  });
});

async function drain(pieces: AsyncIterator<Uint8Array>): Promise<void> {
  while ((await pieces.next()).done !== true);
}
