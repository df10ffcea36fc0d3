import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, it } from 'vitest';
import { RunningTask } from '../../../src/lance/worker/running-task.ts';

/** The pieces of a result as they are sent, all of them requested. */
async function sentOf(pieces: readonly Uint8Array[]): Promise<readonly Uint8Array[]> {
  const sent: Uint8Array[] = [];
  const task = new RunningTask(0, null, ({ kind }, ...parts) => {
    if (kind === 'piece') sent.push(Buffer.concat(parts));
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
  const pieces = [piece(10, 1), piece(2 ** 20, 2), piece(20, 3), piece(2 ** 18, 4), piece(30, 5)];
  const sent = await sentOf(pieces);
  expect(sent.map((each) => each.length)).toEqual([2 ** 19, 2 ** 19, 30 + 2 ** 18, 30]);
  expect(Buffer.concat(sent).equals(Buffer.concat(pieces))).toBe(true);
});

it('sends small pieces before they are many', async () => {
  const sent = await sentOf(Array.from({ length: 5 }, (_, at) => piece(2 ** 17, at)));
  expect(sent.map((each) => each.length)).toEqual([2 ** 18, 2 ** 18, 2 ** 17]);
});

it('does not keep results of the library until the end of the task', async () => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  const task = new RunningTask(0, null, () => undefined);
  const results: WeakRef<Uint8Array>[] = [];
  for (let read = 0; read < 20; read++) {
    const result = new WeakRef(await task.until(Promise.resolve(new Uint8Array(2 ** 16))));
    results.push(result);
  }
  await new Promise<void>((resolve) => setImmediate(resolve));
  collect();
  const kept = results.filter((each) => each.deref() !== undefined);
  // The last one is the current work.
  expect(kept.length).toBeLessThanOrEqual(1);
});

it('ends a wait for the library when the task is cancelled', async () => {
  const task = new RunningTask(0, null, () => undefined);
  const waits = [
    task.until(new Promise(() => undefined)),
    task.until(new Promise(() => undefined)),
  ];
  const rows = new RunningTask(1, null, () => undefined, 10);
  const all = rows.rows();
  task.cancel();
  rows.cancel();
  for (const wait of [...waits, task.until(Promise.resolve()), all]) {
    await expect(wait).rejects.toThrow();
  }
});
