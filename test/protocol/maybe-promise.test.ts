import { describe, expect, it } from 'vitest';
import { allOf, andThen, inTurn, isAvailable } from '../../src/protocol/maybe-promise.ts';

describe('a value that may be available', () => {
  it('is passed on synchronously if it is', () => {
    expect(andThen(1, (value) => value + 1)).toBe(2);
    expect(allOf([1, 2])).toEqual([1, 2]);
  });

  it('is passed on later if it is not', async () => {
    const late = andThen(Promise.resolve(1), (value) => value + 1);
    expect(isAvailable(late)).toBe(false);
    await expect(late).resolves.toBe(2);
    await expect(allOf([1, Promise.resolve(2)])).resolves.toEqual([1, 2]);
  });

  it('fails with its promise', async () => {
    const failed = Promise.reject(new Error('no value'));
    await expect(andThen(failed, () => 1)).rejects.toThrow('no value');
  });
});

describe('steps in turn', () => {
  /** The items that were visited, where some steps wait and one may be the last. */
  function visits(waits: readonly number[], last = Infinity) {
    const seen: number[] = [];
    const running = inTurn([0, 1, 2, 3], (item) => {
      seen.push(item);
      return waits.includes(item) ? Promise.resolve(item !== last) : item !== last;
    });
    return { seen, running };
  }

  it('are done at once if none waits', () => {
    expect(visits([])).toEqual({ seen: [0, 1, 2, 3], running: undefined });
    expect(visits([], 1)).toEqual({ seen: [0, 1], running: undefined });
  });

  it('wait for each other', async () => {
    const { seen, running } = visits([1, 2]);
    expect(seen).toEqual([0, 1]);
    await running;
    expect(seen).toEqual([0, 1, 2, 3]);
    const ended = visits([1, 2], 2);
    await ended.running;
    expect(ended.seen).toEqual([0, 1, 2]);
  });

  it('end with the first failure', async () => {
    const seen: number[] = [];
    const running = inTurn([0, 1, 2], (item) => {
      seen.push(item);
      return item === 1 ? Promise.reject(new Error('no more')) : Promise.resolve(true);
    });
    await expect(running).rejects.toThrow('no more');
    expect(seen).toEqual([0, 1]);
  });
});
