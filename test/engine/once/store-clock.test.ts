import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { StoreClock } from '../../../src/engine/once/store-clock.ts';

const BEHIND_MILLIS = 1_200_000;

/** Reports of a clock of which the machine and the store can be set. */
let reports: (string | undefined)[];
let machine: () => number;
let store: { time?: () => Promise<number> };
let clock: StoreClock;

beforeEach(() => {
  reports = [];
  machine = Date.now;
  store = { time: async () => Date.now() };
  clock = new StoreClock({
    get store() {
      return store;
    },
    machine: () => machine(),
    onSkew: (fault) => reports.push(fault),
  });
});

afterEach(() => clock.close());

describe('the clock of a store', () => {
  it('reports a difference once when it begins and once when it ends', async () => {
    await clock.measure();
    expect(reports).toEqual([]);
    machine = () => Date.now() - BEHIND_MILLIS;
    await clock.measure();
    await clock.measure();
    expect(reports).toEqual([expect.stringMatching(/^the clock of this machine is .* behind the/)]);
    expect(Math.round(clock.skewSeconds / 60)).toBe(-20);
    machine = Date.now;
    await clock.measure();
    await clock.measure();
    expect(reports.slice(1)).toEqual([undefined]);
  });

  it('follows the store and not the machine', async () => {
    store.time = async () => Date.now() + BEHIND_MILLIS;
    const before = Date.now() + BEHIND_MILLIS / 2;
    await clock.measure();
    expect(clock.now()).toBeGreaterThan(before);
    expect(reports).toHaveLength(1);
  });

  it('never runs back, whichever clock does', async () => {
    store.time = async () => Date.now() + BEHIND_MILLIS;
    await clock.measure();
    const before = clock.now();
    store.time = async () => Date.now();
    await clock.measure();
    expect(clock.now()).toBeGreaterThanOrEqual(before);
  });

  it('is that of the machine where the store has none, and does not run back', async () => {
    store = {};
    await clock.measure();
    machine = () => 2000;
    expect(clock.now()).toBe(2000);
    machine = () => 1000;
    expect(clock.now()).toBe(2000);
    expect([reports, clock.skewSeconds]).toEqual([[], 0]);
  });

  it('keeps what it knows while the store does not answer', async () => {
    store.time = async () => Date.now() + BEHIND_MILLIS;
    await clock.measure();
    store.time = () => Promise.reject(new Error('the store is unavailable'));
    const before = clock.now();
    await clock.measure();
    expect(clock.now()).toBeGreaterThanOrEqual(before);
    expect(reports).toHaveLength(1);
  });
});
