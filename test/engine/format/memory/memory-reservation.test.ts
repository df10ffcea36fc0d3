import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Int8, makeData } from 'apache-arrow';
import { ColumnCache } from '../../../../src/engine/format/memory/column-cache.ts';
import {
  MemoryBudget,
  MemoryReservation,
} from '../../../../src/engine/format/memory/memory-budget.ts';

describe('MemoryReservation', () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  it('counts what work holds against the budget until a while after it has ended', () => {
    const budget = new MemoryBudget(100);
    const reservation = new MemoryReservation(budget, 50);
    const [one, other] = [reservation.hold(30), reservation.hold(20)];
    expect(budget.left).toBe(50);
    one();
    expect(budget.left).toBe(50);
    vi.advanceTimersByTime(50);
    expect(budget.left).toBe(80);
    other();
    vi.advanceTimersByTime(50);
    expect(budget.left).toBe(100);
  });

  it('takes no more for work that comes while memory of the work before is kept', () => {
    const budget = new MemoryBudget(100);
    const reservation = new MemoryReservation(budget, 50);
    reservation.hold(30)();
    const end = reservation.hold(40);
    expect(budget.left).toBe(60);
    vi.advanceTimersByTime(50);
    expect(budget.left).toBe(60);
    end();
    vi.advanceTimersByTime(50);
    expect(budget.left).toBe(100);
  });

  it('has columns that are kept give way', () => {
    const budget = new MemoryBudget(100);
    const cache = new ColumnCache(budget);
    const data = makeData({ type: new Int8(), data: new Int8Array(40) });
    cache.keep('cold', data, 40);
    cache.keep('warm', data, 40);
    new MemoryReservation(budget).hold(60);
    expect(cache.find('cold')).toBeUndefined();
    expect(cache.find('warm')).toBe(data);
    expect(budget.left).toBe(0);
  });
});
