import { setImmediate } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { Group, type Settled } from '../../src/storage/group.ts';

/** A group that notes its batches; items below zero fail. */
function open(limit = 100): { group: Group<number, number>; batches: (readonly number[])[] } {
  const batches: (readonly number[])[] = [];
  const run = async (items: readonly number[]): Promise<readonly Settled<number>[]> => {
    batches.push(items);
    await setImmediate();
    return items.map((item) =>
      item < 0
        ? { kind: 'failed', error: new Error(`${item}`) }
        : { kind: 'done', outcome: item * 10 },
    );
  };
  return { group: new Group(run, limit), batches };
}

it('does together what was submitted in one turn, and what came meanwhile', async () => {
  const { group, batches } = open();
  const first = [group.submit(1), group.submit(2)];
  await Promise.resolve();
  await Promise.resolve();
  const second = [group.submit(3), group.submit(4)];
  expect(await Promise.all([...first, ...second])).toEqual([10, 20, 30, 40]);
  expect(batches).toEqual([
    [1, 2],
    [3, 4],
  ]);
});

it('settles each item by itself', async () => {
  const { group } = open();
  const settled = await Promise.allSettled([group.submit(1), group.submit(-2), group.submit(3)]);
  expect(settled).toEqual([
    { status: 'fulfilled', value: 10 },
    { status: 'rejected', reason: new Error('-2') },
    { status: 'fulfilled', value: 30 },
  ]);
});

it('keeps to its limit, in order', async () => {
  const { group, batches } = open(2);
  await Promise.all([1, 2, 3, 4, 5].map((item) => group.submit(item)));
  expect(batches).toEqual([[1, 2], [3, 4], [5]]);
});

it('starts again after it was idle', async () => {
  const { group, batches } = open();
  await group.idle();
  await group.submit(1);
  await group.idle();
  const late = group.submit(2);
  await group.idle();
  expect(await late).toBe(20);
  expect(batches).toEqual([[1], [2]]);
});

it('forms a batch when it is ready, without what was withdrawn', async () => {
  const batches: (readonly number[])[] = [];
  let go: () => void = () => undefined;
  const group = new Group<number, number>(
    async (items) => {
      batches.push(items);
      return items.map((item) => ({ kind: 'done', outcome: item }));
    },
    100,
    () => new Promise((resolve) => (go = resolve)),
  );
  const [first, second] = [group.submit(1), group.submit(2)];
  await setImmediate();
  const third = group.submit(3);
  expect([group.withdraw(2), group.withdraw(2), group.waiting]).toEqual([true, false, 2]);
  go();
  expect(await Promise.all([first, third])).toEqual([1, 3]);
  expect(await Promise.race([second, setImmediate('open')])).toBe('open');
  const fourth = group.submit(4);
  await setImmediate();
  expect(group.withdraw(4)).toBe(true);
  go();
  await group.idle();
  expect(batches).toEqual([[1, 3], []]);
  expect(await Promise.race([fourth, setImmediate('open')])).toBe('open');
});

it('rejects what waits when it cannot become ready, and starts again', async () => {
  let isReady = false;
  const group = new Group<number, number>(
    async (items) => items.map((item) => ({ kind: 'done', outcome: item })),
    100,
    async () => {
      if (!isReady) throw new Error('not ready');
    },
  );
  const settled = await Promise.allSettled([group.submit(1), group.submit(2)]);
  expect(settled).toEqual(
    [1, 2].map(() => ({ status: 'rejected', reason: new Error('not ready') })),
  );
  isReady = true;
  expect(await group.submit(3)).toBe(3);
});
