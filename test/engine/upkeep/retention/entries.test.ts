import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { severalAtOnce } from '../../../../src/engine/upkeep/retention/entries.ts';

it('is done several at a time, each once', async () => {
  let [busy, most] = [0, 0];
  const done: number[] = [];
  await severalAtOnce([1, 2, 3, 4, 5], 2, async (item) => {
    most = Math.max(most, ++busy);
    await sleep(1);
    busy -= 1;
    done.push(item);
  });
  expect(most).toBe(2);
  expect(done).toHaveLength(5);
  expect(new Set(done)).toEqual(new Set([1, 2, 3, 4, 5]));
});

it('ends with the first fault once all that was begun has ended, and the other faults end no process', async () => {
  const said: string[] = [];
  const unheard: unknown[] = [];
  const hear = (error: unknown) => unheard.push(error);
  process.on('unhandledRejection', hear);
  const work = severalAtOnce([1, 2, 3, 4], 3, async (item) => {
    await sleep(10 * item);
    said.push(`ended ${item}`);
    throw new Error(`fault ${item}`);
  });
  await expect(work).rejects.toThrow('fault 1');
  expect(said).toEqual(['ended 1', 'ended 2', 'ended 3']);
  await sleep(1);
  process.off('unhandledRejection', hear);
  expect(unheard).toEqual([]);
});

it('waits for what was begun when there are no further items to be had', async () => {
  let ended = false;
  async function* items() {
    yield 1;
    throw new Error('the store is away');
  }
  const work = severalAtOnce(items(), 3, async () => {
    await sleep(5);
    ended = true;
  });
  await expect(work).rejects.toThrow('the store is away');
  expect(ended).toBe(true);
});
