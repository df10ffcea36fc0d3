import { describe, expect, it } from 'vitest';
import { allOf, andThen, isAvailable } from '../../src/protocol/maybe-promise.ts';

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
