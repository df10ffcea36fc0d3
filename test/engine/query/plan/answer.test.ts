import {
  Dictionary,
  Field,
  Int32,
  Int8,
  makeVector,
  Schema,
  tableFromIPC,
  Utf8,
  vectorFromArray,
  type RecordBatch,
} from 'apache-arrow';
import { describe, expect, it } from 'vitest';
import { batchOf } from '../../../../src/arrow/select.ts';
import { AnswerMemory } from '../../../../src/engine/format/memory/answer-memory.ts';
import {
  ANSWER_PIECE_BYTES,
  AnswerPieces,
} from '../../../../src/engine/format/memory/answer-pieces.ts';
import { RepeatableBody } from '../../../../src/engine/query/plan/answer-body.ts';
import { rowsAnswer } from '../../../../src/engine/query/plan/answer.ts';
import type { AnswerBody } from '../../../../src/protocol/backend.ts';
import { bytesOf } from '../../../support/query-answer.ts';

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

/** Pieces of which none refers to the memory of a batch: another one does already. */
function copiesOnly(): AnswerPieces {
  const pieces = new AnswerPieces(1);
  pieces.view(new ArrayBuffer(1));
  return pieces;
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

  describe('of rows that were found at once', () => {
    const { signal } = new AbortController();
    const some = (...values: number[]) =>
      batchOf(schema, [makeVector(Int32Array.from(values))], values.length);
    const many = some(...Array.from({ length: ROWS }, (_, at) => at));

    /** The answer, and whether the other rows were looked for. */
    async function answered(found: readonly RecordBatch[] | null, later = false) {
      const others = endless();
      let begun = false;
      const batches = (async function* () {
        begun = true;
        yield (await others.batches.next()).value as RecordBatch;
      })();
      const few = () => (later ? Promise.resolve(found) : found);
      const { body } = await rowsAnswer({ schema, batches, few, version: 1n, signal });
      const isWhole = body !== null && typeof body !== 'string' && body.whole !== undefined;
      return { rows: tableFromIPC(await bytesOf(body)).numRows, isWhole, begun };
    }

    it.each([false, true])(
      'is sent in one piece if they are few (found later: %s)',
      async (later) => {
        const whole = { isWhole: true, begun: false };
        expect(await answered([], later)).toEqual({ rows: 0, ...whole });
        expect(await answered([some(7, 8)], later)).toEqual({ rows: 2, ...whole });
        expect(await answered([some(7, 8), some(9)], later)).toEqual({ rows: 3, ...whole });
      },
    );

    it('is streamed if they are many, and looks for the rows if they were not found', async () => {
      const streamed = { isWhole: false, begun: false };
      expect(await answered([many])).toEqual({ rows: ROWS, ...streamed });
      expect(await answered([some(1), many, some(2)])).toEqual({ rows: ROWS + 2, ...streamed });
      expect(await answered(null)).toEqual({ rows: ROWS, isWhole: false, begun: true });
      expect(await answered(null, true)).toEqual({ rows: ROWS, isWhole: false, begun: true });
    });

    it('is refused, and returns its memory, if finding them fails', async () => {
      const memory = new AnswerMemory(Infinity);
      const reserve = { reserved: 1000, isKept: false };
      const failures = [
        () => Promise.reject(new Error('no rows')),
        () => {
          throw new Error('no rows');
        },
      ];
      for (const few of failures) {
        const rows = { schema, batches: endless().batches, few, version: 1n, signal };
        await expect(rowsAnswer({ ...rows, memory, reserve })).rejects.toThrow('no rows');
        expect(memory.held).toBe(0);
      }
    });
  });

  describe('that is interrupted', () => {
    const numbers = (start: number) =>
      batchOf(schema, [makeVector(Int32Array.from({ length: ROWS }, (_, at) => start + at))], ROWS);
    const all = [0, 1, 2, 3].map((at) => numbers(at * ROWS));
    const { signal } = new AbortController();
    async function* batchesFrom(batches: readonly RecordBatch[]): AsyncGenerator<RecordBatch> {
      yield* batches;
    }

    /** Bytes of an answer that releases its memory behind each piece that is chosen. */
    async function interrupted(
      isChosen: (piece: number) => boolean,
      after: readonly RecordBatch[] = all,
      pieces = copiesOnly(),
    ): Promise<Buffer> {
      const { body } = await rowsAnswer({
        schema,
        batches: batchesFrom(all),
        version: 1n,
        signal,
        memory: new AnswerMemory(Infinity, { pieces }),
        after: ({ batches }) => batchesFrom(after.slice(batches)),
      });
      if (!(body instanceof RepeatableBody)) throw new Error('the answer is not repeatable');
      const read: Uint8Array[] = [];
      for await (const piece of { [Symbol.asyncIterator]: () => iteratorOf(body) }) {
        read.push(piece.slice());
        if (isChosen(read.length)) body.release();
      }
      return Buffer.concat(read);
    }

    it.each([1, 2, 3, 5])('behind each piece of %d has the same bytes', async (step) => {
      const whole = await interrupted(() => false);
      expect(tableFromIPC(whole).numRows).toBe(4 * ROWS);
      expect((await interrupted((piece) => piece % step === 0)).equals(whole)).toBe(true);
    });

    it.each([1, 2, 3, 5])('behind each piece of %d in place has the same bytes', async (step) => {
      const whole = await interrupted(() => false);
      const pieces = new AnswerPieces();
      const viewed = await interrupted((piece) => piece % step === 0, all, pieces);
      expect(viewed.equals(whole)).toBe(true);
    });

    it('is cut if the rows that were sent are others now', async () => {
      const others = all.map((_, at) => numbers(7 * at + 1));
      await expect(interrupted((piece) => piece === 3, others)).rejects.toThrow(
        'a batch differs from what was sent of it',
      );
    });
  });

  describe('that shares memory', () => {
    const reserve = { reserved: 1000, isKept: false };
    const shared = async (memory: AnswerMemory, isCached: boolean, signal: AbortSignal) => {
      const rows = { schema, batches: endless().batches, version: 1n, signal };
      const { body } = await rowsAnswer({ ...rows, memory, reserve, isCached: () => isCached });
      return iteratorOf(body);
    };
    const piecesOf = async (pieces: AsyncIterator<Uint8Array>) => {
      await pieces.next();
      await pieces.next();
      return pieces.next();
    };

    it('holds the bytes of a batch that is not cached, and none of one that is', async () => {
      const { signal } = new AbortController();
      for (const isCached of [false, true]) {
        const memory = new AnswerMemory(10 ** 6);
        const pieces = await shared(memory, isCached, signal);
        await piecesOf(pieces);
        expect(memory.held > 4 * ROWS).toBe(!isCached);
        await pieces.return?.();
        expect(memory.held).toBe(0);
      }
    });

    it('hands out cached columns in place, until others refer to as much as may be', async () => {
      const { signal } = new AbortController();
      const memory = new AnswerMemory(10 ** 6, { pieces: new AnswerPieces(1) });
      const [one, other] = [await shared(memory, true, signal), await shared(memory, true, signal)];
      expect((await piecesOf(one)).value).toHaveLength(4 * ROWS);
      expect((await piecesOf(other)).value?.byteLength).toBeLessThan(4 * ROWS);
    });

    it('hands out a batch in place, and returns its memory once its connection has taken it', async () => {
      const { signal } = new AbortController();
      const given: ArrayBufferLike[] = [];
      const batch = batchOf(schema, [makeVector(new Int32Array(ROWS))], ROWS);
      async function* twice(): AsyncGenerator<RecordBatch> {
        yield* [batch, batch];
      }
      const giveBack = (part: ArrayBufferLike) => given.push(part);
      const memory = new AnswerMemory(10 ** 6);
      const rows = { schema, batches: twice(), version: 1n, signal, memory, giveBack };
      const { body } = await rowsAnswer(rows);
      if (!(body instanceof RepeatableBody)) throw new Error('the answer is not repeatable');
      const own = batch.data.children[0]!.values.buffer;
      const views: Uint8Array[] = [];
      for await (const piece of { [Symbol.asyncIterator]: () => iteratorOf(body) })
        if (piece.buffer === own) views.push(piece);
      const times = () => given.filter((part) => part === own).length;
      expect([views.map(({ byteLength }) => byteLength), times()]).toEqual([
        [4 * ROWS, 4 * ROWS],
        0,
      ]);
      body.sent(views[1]!);
      expect(times()).toBe(1);
      body.sent(views[0]!);
      expect(times()).toBe(2);
    });

    it('returns no memory that a cut connection may still read', async () => {
      const memory = new AnswerMemory(10 ** 6);
      const client = new AbortController();
      const given: number[] = [];
      const giveBack = (part: ArrayBufferLike) => given.push(part.byteLength);
      const { batches } = endless();
      const rows = { schema, batches, version: 1n, signal: client.signal, memory, giveBack };
      await piecesOf(iteratorOf((await rowsAnswer(rows)).body));
      const before = given.length;
      client.abort();
      await new Promise(setImmediate);
      expect(given.slice(before)).not.toContain(4 * ROWS);
      expect(memory.pieces.view(new ArrayBuffer(2 ** 26))).toBe(true);
    });

    it('copies what a stalled reader must not hold', async () => {
      const { signal } = new AbortController();
      const rows = 2 ** 22 + 1;
      async function* large(): AsyncGenerator<RecordBatch> {
        yield batchOf(schema, [makeVector(new Int32Array(rows))], rows);
      }
      const memory = new AnswerMemory(10 ** 6);
      const answer = await rowsAnswer({ schema, batches: large(), version: 1n, signal, memory });
      const { value } = await piecesOf(iteratorOf(answer.body));
      expect(value?.byteLength).toBe(ANSWER_PIECE_BYTES);
    });

    it('refers to no cached column once its client is gone', async () => {
      const memory = new AnswerMemory(10 ** 6, { pieces: new AnswerPieces(1) });
      const client = new AbortController();
      await piecesOf(await shared(memory, true, client.signal));
      client.abort();
      expect(memory.pieces.view(new ArrayBuffer(1))).toBe(true);
    });

    it('holds no batch while it waits, and goes on with the one that follows', async () => {
      const memory = new AnswerMemory(100_000);
      const { batches, closed } = endless();
      const continued: object[] = [];
      const after = (sent: object) => {
        continued.push(sent);
        return endless().batches;
      };
      const { signal } = new AbortController();
      const wide = { reserved: 50_000, isKept: false };
      const rows = { schema, batches, version: 1n, signal, memory, reserve: wide, after };
      const pieces = iteratorOf((await rowsAnswer(rows)).body);
      for (let bytes = 0; bytes < 4 * ROWS;) bytes += (await pieces.next()).value.byteLength;
      await memory.take(55_000);
      const next = pieces.next();
      await new Promise(setImmediate);
      expect([closed(), memory.held, continued]).toEqual([true, 55_000, []]);
      memory.adjust(-55_000);
      expect((await next).done).toBe(false);
      expect(continued).toEqual([{ batches: 1, rows: ROWS }]);
      await pieces.return?.();
    });

    it('ends though others wait at their end too', async () => {
      /** Memory that gives up where an answer asks again and again. */
      class CountedMemory extends AnswerMemory {
        asked = 0;
        override take(...args: Parameters<AnswerMemory['take']>) {
          this.asked += 1;
          if (this.asked > 1000) throw new Error('memory was asked for without an end');
          return super.take(...args);
        }
      }
      const memory = new CountedMemory(50_000);
      const { signal } = new AbortController();
      const batch = batchOf(schema, [makeVector(new Int32Array(ROWS))], ROWS);
      async function* produce(count: number): AsyncGenerator<RecordBatch> {
        for (let at = 0; at < count; at++) yield batch;
      }
      const read = async () => {
        const { body } = await rowsAnswer({
          schema,
          batches: produce(3),
          version: 1n,
          signal,
          memory,
          reserve: { reserved: 50_000, isKept: false },
          after: ({ batches }) => produce(3 - batches),
        });
        return tableFromIPC(await bytesOf(body)).numRows;
      };
      expect(await Promise.all([read(), read(), read()])).toEqual([3, 3, 3].map((at) => at * ROWS));
      expect(memory.held).toBe(0);
    });

    it('reads nothing for a client that left while the answer waited', async () => {
      const memory = new AnswerMemory(1000);
      await memory.take(1000);
      const client = new AbortController();
      const answer = shared(memory, false, client.signal);
      client.abort();
      await expect(answer).rejects.toThrow('This operation was aborted');
      memory.adjust(-1000);
      expect(memory.held).toBe(0);
    });
  });

  it('refuses rows whose dictionaries are too many values for their index type', async () => {
    const type = new Dictionary(new Utf8(), new Int8());
    const coded = new Schema([new Field('d', type, true)]);
    async function* produce(): AsyncGenerator<RecordBatch> {
      for (const start of [0, 100]) {
        const words = Array.from({ length: 100 }, (_, index) => `word ${start + index}`);
        yield batchOf(coded, [vectorFromArray(words, type)], words.length);
      }
    }
    const { signal } = new AbortController();
    const rows = { schema: coded, batches: produce(), version: 1n, signal };
    await expect(rowsAnswer(rows)).rejects.toMatchObject({
      row: { code: 13, status: 400 },
      message:
        'A joint dictionary would have 200 values, its index type Int8 can hold 128: ' +
        'ask for fewer rows, or cast the column to a wider type',
    });
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

describe('an answer of few rows', () => {
  const batch = (rows: number) => batchOf(schema, [makeVector(new Int32Array(rows))], rows);
  const { signal } = new AbortController();
  const wholeOf = (body: AnswerBody) =>
    body === null || typeof body === 'string' ? undefined : body.whole;
  async function* of(...found: readonly (RecordBatch | Error)[]): AsyncGenerator<RecordBatch> {
    for (const each of found) {
      if (each instanceof Error) throw each;
      yield each;
    }
  }

  it('is there whole, and says the same in pieces', async () => {
    const asked: string[] = [];
    const given: ArrayBufferLike[] = [];
    const { body } = await rowsAnswer({
      schema,
      batches: of(batch(3), batch(4)),
      version: 1n,
      signal: () => {
        asked.push('signal');
        return signal;
      },
      giveBack: (memory) => given.push(memory),
    });
    const whole = wholeOf(body);
    expect(Buffer.from(await bytesOf(body))).toEqual(Buffer.from(whole!));
    expect(tableFromIPC(whole).numRows).toBe(7);
    expect(given).not.toContain(whole!.buffer);
    expect([asked, given.length > 0]).toEqual([[], true]);
  });

  it('has no rows, and is whole', async () => {
    const { body } = await rowsAnswer({ schema, batches: of(), version: 1n, signal });
    expect(tableFromIPC(wholeOf(body)).numRows).toBe(0);
  });

  it.each([
    ['of many rows', [batch(ROWS)]],
    ['of few rows and many', [batch(3), batch(ROWS)]],
    ['of many rows and few', [batch(ROWS), batch(3)]],
  ])('streams %s', async (_, batches) => {
    const { body } = await rowsAnswer({ schema, batches: of(...batches), version: 1n, signal });
    expect(wholeOf(body)).toBeUndefined();
    const rows = batches.reduce((sum, { numRows }) => sum + numRows, 0);
    expect(tableFromIPC(await bytesOf(body)).numRows).toBe(rows);
  });

  it('is refused for a fault behind its rows', async () => {
    const batches = of(batch(3), new Error('a fault'));
    const answer = rowsAnswer({ schema, batches, version: 1n, signal });
    await expect(answer).rejects.toThrow('a fault');
  });
});

async function drain(pieces: AsyncIterator<Uint8Array>): Promise<void> {
  while ((await pieces.next()).done !== true);
}
