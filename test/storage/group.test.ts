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
