import { expect, it } from 'vitest';
import { RunningTask } from '../../../src/lance/worker/running-task.ts';

/** The pieces of a result as they are sent, all of them requested. */
async function sentOf(pieces: readonly Uint8Array[]): Promise<readonly Uint8Array[]> {
  const sent: Uint8Array[] = [];
  const task = new RunningTask(0, null, ({ kind }, bytes) => {
    if (kind === 'piece' && bytes !== undefined) sent.push(bytes);
  });
  for (let piece = 0; piece < 20; piece++) task.more();
  await task.run(
    (async function* () {
      yield* pieces;
    })(),
  );
  return sent;
}

function piece(length: number, value: number): Uint8Array {
  return Buffer.alloc(length, value);
}

it('sends small pieces of a result together', async () => {
  const sent = await sentOf([piece(10, 1), piece(20, 2), piece(30, 3)]);
  expect(sent.map((each) => each.length)).toEqual([60]);
});

it('keeps the order of small and large pieces', async () => {
  const pieces = [piece(10, 1), piece(2 ** 20, 2), piece(20, 3), piece(2 ** 16, 4), piece(30, 5)];
  const sent = await sentOf(pieces);
  expect(sent.map((each) => each.length)).toEqual([10, 2 ** 20, 20, 2 ** 16, 30]);
  expect(Buffer.concat(sent).equals(Buffer.concat(pieces))).toBe(true);
});

it('sends small pieces before they are many', async () => {
  const sent = await sentOf(Array.from({ length: 5 }, (_, at) => piece(2 ** 15, at)));
  expect(sent.map((each) => each.length)).toEqual([2 ** 16, 2 ** 16, 2 ** 15]);
});
