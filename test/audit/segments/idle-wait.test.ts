import { expect, it } from 'vitest';
import { IdleWait } from '../../../src/audit/segments/background-sealing.ts';

const never = new AbortController().signal;

/** A loop that was so busy at each look. */
function loopOf(...looks: readonly number[]) {
  const left = [...looks];
  return { left, utilization: () => left.shift() ?? 0 };
}

it('work goes on at once while the loop has time to spare', async () => {
  const { left, utilization } = loopOf(0.5, 1);
  await new IdleWait(utilization, 1).untilIdle(never);
  expect(left).toEqual([1]);
});

it('work waits as long as the loop is busy', async () => {
  const { left, utilization } = loopOf(1, 0.9, 0.8, 0.1, 1);
  await new IdleWait(utilization, 1).untilIdle(never);
  expect(left).toEqual([1]);
});

it('work goes on when it has waited long, however busy the loop is', async () => {
  let looks = 0;
  const busy = () => {
    looks += 1;
    return 1;
  };
  await new IdleWait(busy, 1, 20).untilIdle(never);
  expect(looks).toBeGreaterThan(0);
});

it('work waits less with each further file', async () => {
  const busy = () => 1;
  // A day without further files; a moment with twenty.
  await new IdleWait(busy, 1, 86_400_000).untilIdle(never, 20);
  const stop = new AbortController();
  const waiting = new IdleWait(busy, 1, 86_400_000).untilIdle(stop.signal, 2);
  expect(await Promise.race([waiting, Promise.resolve('waits')])).toBe('waits');
  stop.abort();
  await waiting;
});

it('work waits no longer when all is to stop', async () => {
  const stop = new AbortController();
  const waiting = new IdleWait(() => 1, 2 ** 30, 2 ** 31).untilIdle(stop.signal);
  stop.abort();
  await waiting;
  expect(stop.signal.aborted).toBe(true);
});

it('a loop that really works counts as busy, one that waits does not', async () => {
  const calm = new IdleWait(undefined, 5);
  const end = performance.now() + 60;
  let turns = 0;
  let ended = false;
  const work = (): void => {
    const until = performance.now() + 4;
    while (performance.now() < until) turns += 1;
    if (performance.now() < end) setImmediate(work);
    else ended = true;
  };
  await new Promise<void>((resolve) => setImmediate(() => resolve(work())));
  await calm.untilIdle(never);
  expect(ended).toBe(true);
});
