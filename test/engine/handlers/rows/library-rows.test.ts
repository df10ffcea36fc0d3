import { expect, it } from 'vitest';
import { libraryRows } from '../../../../src/engine/handlers/rows/library-reads.ts';
import { AnswerMemory } from '../../../../src/engine/format/memory/answer-memory.ts';
import type { RepeatableBody } from '../../../../src/engine/query/plan/answer-body.ts';

const PIECES = 6;
const BYTES = 2 ** 16;

const statement = { owner: 'reader', signal: () => new AbortController().signal };

/** An answer whose pieces are overwritten once they were sent. @param first Value of the first piece of a repetition. */
function answerOf(first: (run: number) => number): Promise<RepeatableBody> {
  let runs = 0;
  const run = async (): Promise<AsyncGenerator<Uint8Array>> => {
    const value = first(runs++);
    return (async function* () {
      for (let piece = 0; piece < PIECES; piece++)
        yield new Uint8Array(BYTES).fill(piece === 0 ? value : piece);
    })();
  };
  const library = { reuse: (piece: Uint8Array) => void piece.fill(99) };
  const answer = libraryRows(library, run, AnswerMemory.forThreads(), statement);
  return answer as Promise<RepeatableBody>;
}

/** The first value of each piece. The answer releases its memory after each number of pieces. */
async function readWithStalls(
  body: RepeatableBody,
  stalls: readonly number[],
): Promise<readonly number[]> {
  const values: number[] = [];
  for await (const piece of body) {
    values.push(piece[0]!);
    body.sent(piece);
    if (stalls.includes(values.length)) body.release();
  }
  return values;
}

it('has its rest read again after a stall, though the memory of what was sent is used again', async () => {
  const body = await answerOf(() => 0);
  expect(await readWithStalls(body, [1, 3, 6])).toEqual([0, 1, 2, 3, 4, 5]);
});

it('is cut if what was sent is not the same any more', async () => {
  const body = await answerOf((run) => run);
  await expect(readWithStalls(body, [2])).rejects.toThrow('have changed');
});
