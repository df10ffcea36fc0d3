import { describe, expect, it } from 'vitest';
import { Flushes } from '../../src/storage/flushes.ts';

describe('flushes', () => {
  it('are settled at once when there are none', async () => {
    await new Flushes().settled();
  });

  it('are settled when the last is, also one that came meanwhile', async () => {
    const flushes = new Flushes();
    const ended: string[] = [];
    const early = held();
    const late = held();
    flushes.add(early.promise);
    const settled = flushes.settled().then(() => ended.push('all'));
    flushes.add(late.promise.then(() => void ended.push('late')));
    early.resolve();
    await early.promise;
    late.resolve();
    await settled;
    expect(ended).toEqual(['late', 'all']);
  });

  it('tell of the first failure, again and again, but only when nothing is under way', async () => {
    const flushes = new Flushes();
    const other = held();
    let done = false;
    flushes.add(Promise.reject(new Error('the disk is full')));
    flushes.add(other.promise.then(() => void (done = true)));
    const settled = flushes.settled();
    setImmediate(() => other.resolve());
    await expect(settled).rejects.toThrow('the disk is full');
    expect(done).toBe(true);
    await expect(flushes.settled()).rejects.toThrow('the disk is full');
  });
});

/** A promise that is resolved by hand. */
function held(): { readonly promise: Promise<void>; readonly resolve: () => void } {
  let resolve = (): void => undefined;
  const promise = new Promise<void>((done) => {
    resolve = done;
  });
  return { promise, resolve };
}
