import { describe, expect, it } from 'vitest';
import { Running } from '../../../../src/engine/versions/leases/running.ts';

describe('work that waits for what is under way', () => {
  it('is done at once when nothing is', async () => {
    const done: string[] = [];
    await new Running().afterwards(async () => void done.push('work'));
    expect(done).toEqual(['work']);
  });

  it('waits for what was under way, and not for what began later', async () => {
    const running = new Running();
    const done: string[] = [];
    const [first, second] = [running.begin(), running.begin()];
    await running.afterwards(async () => void done.push('work'));
    const later = running.begin();
    await second.end();
    expect(done).toEqual([]);
    await first.end();
    expect(done).toEqual(['work']);
    await later.end();
    expect(done).toEqual(['work']);
  });

  it('may fail without harm to what it waited for', async () => {
    const running = new Running();
    const lease = running.begin();
    await running.afterwards(() => Promise.reject(new Error('no disk')));
    await expect(lease.end()).resolves.toBeUndefined();
    await running.settled();
  });

  it('is not done twice when a lease is ended twice', async () => {
    const running = new Running();
    const done: string[] = [];
    const lease = running.begin();
    await running.afterwards(async () => void done.push('work'));
    await lease.end();
    await lease.end();
    expect(done).toEqual(['work']);
  });
});

it('knows since when the oldest has been under way', async () => {
  const running = new Running();
  expect(running.oldest()).toBeUndefined();
  const lease = running.begin();
  expect(running.oldest()).toBe(lease.sinceMillis);
  expect(await running.during(async () => running.oldest())).toBe(lease.sinceMillis);
  await lease.end();
  expect(running.oldest()).toBeUndefined();
  await expect(running.during(() => Promise.reject(new Error('cut off')))).rejects.toThrow();
  expect(running.oldest()).toBeUndefined();
});
