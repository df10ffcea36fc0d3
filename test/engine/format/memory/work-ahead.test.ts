import { setImmediate as turn } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { workAhead } from '../../../../src/engine/format/memory/read-memory.ts';

/** Work that notes its begin and its end. */
function noting() {
  const begun: number[] = [];
  const ended: number[] = [];
  const work = async (item: number) => {
    begun.push(item);
    for (let turns = 0; turns < 5 - item; turns++) await turn();
    ended.push(item);
    return item * 10;
  };
  return { begun, ended, work };
}

describe('work ahead', () => {
  it.each([0, 1, 3, 9])('of %i items answers in the order of the items', async (ahead) => {
    const { work } = noting();
    const results: number[] = [];
    for await (const result of workAhead([0, 1, 2, 3, 4], ahead, work)) results.push(result);
    expect(results).toEqual([0, 10, 20, 30, 40]);
  });

  it('begins a bounded number of items ahead of the one that is waited for', async () => {
    const { begun, work } = noting();
    const results = workAhead([0, 1, 2, 3, 4], 2, work);
    expect(begun).toEqual([]);
    await results.next();
    expect(begun).toEqual([0, 1, 2]);
    await results.next();
    expect(begun).toEqual([0, 1, 2, 3]);
    await results.return(undefined);
  });

  it('tells a fault when its result is due', async () => {
    const results = workAhead([0, 1, 2], 2, async (item) => {
      if (item === 1) throw new Error('no');
      return item;
    });
    await expect(results.next()).resolves.toEqual({ value: 0, done: false });
    await turn();
    await expect(results.next()).rejects.toThrow('no');
    await expect(results.next()).resolves.toEqual({ value: undefined, done: true });
  });

  it('has nothing under way once the reader has left', async () => {
    const { begun, ended, work } = noting();
    for await (const result of workAhead([0, 1, 2, 3], 2, work)) if (result === 0) break;
    expect(new Set(ended)).toEqual(new Set(begun));
  });
});
