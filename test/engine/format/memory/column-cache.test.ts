import { Float64, makeData } from 'apache-arrow';
import { describe, expect, it } from 'vitest';
import { ColumnCache } from '../../../../src/engine/format/memory/column-cache.ts';
import { MemoryBudget } from '../../../../src/engine/format/memory/memory-budget.ts';

const BYTES = 800;
const LARGE = 2 ** 22;
/** Of the rows of a column, where few of them are read. */
const SHARE = 2 ** -16;

function column() {
  return makeData({ type: new Float64(), data: new Float64Array(BYTES / 8) });
}

/** Asks for a column as a reader does; whether it was there. */
function read(cache: ColumnCache, key: string, bytes = BYTES): boolean {
  if (cache.find(key) !== undefined) return true;
  if (cache.wants(key, bytes)) cache.keep(key, column(), bytes);
  return false;
}

/** Reads some rows of a column. @param bytes Size of the whole column. @returns Whether it was cached. */
function readRows(cache: ColumnCache, key: string, bytes: number): boolean {
  if (cache.find(key, SHARE) !== undefined) return true;
  if (cache.wants(key, bytes, SHARE)) cache.keep(key, column(), bytes);
  return false;
}

function readAll(cache: ColumnCache, keys: readonly string[], bytes = BYTES): readonly string[] {
  return keys.filter((key) => read(cache, key, bytes));
}

function keysOf(name: string, count: number): readonly string[] {
  return Array.from({ length: count }, (_, at) => `${name}/${at}`);
}

describe('a cache of columns', () => {
  it('keeps what is asked for a second time', () => {
    const cache = new ColumnCache(new MemoryBudget(10 * BYTES));
    expect([read(cache, 'a'), read(cache, 'a'), read(cache, 'a')]).toEqual([false, false, true]);
  });

  it('spends no more than it was given', () => {
    const budget = new MemoryBudget(10 * BYTES);
    const cache = new ColumnCache(budget);
    for (let time = 0; time < 5; time++) {
      readAll(cache, keysOf(`table ${time}`, 30));
      expect(budget.left).toBeGreaterThanOrEqual(0);
    }
    for (let time = 0; time < 3; time++) readAll(cache, keysOf('table 4', 30));
    expect(budget.left).toBe(0);
  });

  it('keeps its columns while more than fits is read once, or again and again', () => {
    const cache = new ColumnCache(new MemoryBudget(10 * BYTES));
    const hot = keysOf('hot', 10);
    for (let time = 0; time < 4; time++) readAll(cache, hot);
    for (let time = 0; time < 3; time++) readAll(cache, keysOf('large', 50));
    expect(readAll(cache, hot)).toEqual(hot);
  });

  it('answers a part of what does not fit as a whole', () => {
    const cache = new ColumnCache(new MemoryBudget(10 * BYTES));
    const large = keysOf('large', 50);
    for (let time = 0; time < 4; time++) readAll(cache, large);
    expect(readAll(cache, large)).toHaveLength(10);
  });

  it('gives way to what is read more often than its columns now are', () => {
    const cache = new ColumnCache(new MemoryBudget(10 * BYTES));
    const [old, young] = [keysOf('old', 10), keysOf('young', 10)];
    for (let time = 0; time < 5; time++) readAll(cache, old);
    for (let time = 0; time < 7; time++) readAll(cache, young);
    expect(readAll(cache, young)).toEqual(young);
    expect(readAll(cache, old)).toEqual([]);
  });

  it('forgets what was read often long ago', () => {
    const cache = new ColumnCache(new MemoryBudget(10 * BYTES));
    const [old, young] = [keysOf('old', 10), keysOf('young', 10)];
    for (let time = 0; time < 500; time++) readAll(cache, old);
    for (let time = 0; time < 500; time++) readAll(cache, keysOf('others', 40));
    for (let time = 0; time < 300; time++) readAll(cache, young);
    expect(readAll(cache, young)).toEqual(young);
  });

  it('makes room when others need the memory', () => {
    const budget = new MemoryBudget(10 * BYTES);
    const cache = new ColumnCache(budget);
    const keys = keysOf('hot', 10);
    for (let time = 0; time < 3; time++) readAll(cache, keys);
    budget.spend(4 * BYTES);
    expect(budget.left).toBe(0);
    expect(readAll(cache, keys)).toHaveLength(6);
    budget.refund(4 * BYTES);
    for (let time = 0; time < 3; time++) readAll(cache, keys);
    expect(readAll(cache, keys)).toHaveLength(10);
  });

  it('keeps nothing that is larger than all of it, and nothing at all without memory', () => {
    const small = new ColumnCache(new MemoryBudget(BYTES - 1));
    const none = new ColumnCache(new MemoryBudget(0));
    for (const cache of [small, none]) {
      for (let time = 0; time < 5; time++) expect(read(cache, 'a')).toBe(false);
    }
  });

  it('keeps a column once reads of its rows have cost as much as itself', () => {
    const cache = new ColumnCache(new MemoryBudget(2 ** 24));
    const reads = (key: string, bytes: number) => {
      for (let times = 0; ; times++) if (readRows(cache, key, bytes)) return times;
    };
    expect(reads('small', 2 ** 10)).toBe(2);
    expect(reads('large', 2 ** 20)).toBe(8);
  });

  it('counts reads of many rows by their share of the column', () => {
    const cache = new ColumnCache(new MemoryBudget(2 ** 30));
    const wanted = () => cache.find('a', 1 / 2) ?? cache.wants('a', 2 ** 26, 1 / 2);
    const answers = Array.from({ length: 4 }, wanted);
    expect(answers).toEqual([false, false, false, true]);
  });

  it('has large columns that are not read any more give way to small ones', () => {
    const cache = new ColumnCache(new MemoryBudget(10 * LARGE));
    for (let time = 0; time < 50; time++) readAll(cache, keysOf('large', 20), LARGE);
    const [pages, rows] = [keysOf('page', 20), keysOf('rows', 10)];
    for (let time = 0; time < 60; time++) {
      readAll(cache, pages, LARGE / 40);
      for (const key of rows) readRows(cache, key, LARGE / 10);
    }
    expect(readAll(cache, pages, LARGE / 40)).toEqual(pages);
    expect(rows.filter((key) => readRows(cache, key, LARGE / 10))).toEqual(rows);
  });

  it('has columns whose rows are read take the place of what was used as often as counts', () => {
    const cache = new ColumnCache(new MemoryBudget(10 * LARGE));
    for (let time = 0; time < 50; time++) readAll(cache, keysOf('idle', 10), LARGE);
    const reads = () => {
      for (let times = 0; ; times++) if (readRows(cache, 'rows', LARGE)) return times;
    };
    expect(reads()).toBeLessThan((2 * 16 + 2) * (LARGE / 2 ** 18));
  });

  it('keeps small columns that are read now and then beside scans of large ones', () => {
    const cache = new ColumnCache(new MemoryBudget(10 * LARGE));
    const small = keysOf('small', 20);
    for (let time = 0; time < 30; time++) {
      if (time % 3 === 0) readAll(cache, small, LARGE / 100);
      readAll(cache, keysOf('large', 30), LARGE);
    }
    expect(readAll(cache, small, LARGE / 100)).toEqual(small);
    expect(readAll(cache, keysOf('large', 30), LARGE)).toHaveLength(9);
  });

  it('is not swayed by reads of what it cannot hold', () => {
    const cache = new ColumnCache(new MemoryBudget(10 * BYTES));
    const hot = keysOf('hot', 10);
    for (let time = 0; time < 3; time++) readAll(cache, hot);
    for (let time = 0; time < 1000; time++) read(cache, 'huge', 11 * BYTES);
    for (let time = 0; time < 3; time++) readAll(cache, keysOf('other', 10));
    expect(readAll(cache, hot)).toEqual(hot);
  });

  it('keeps columns without bytes, which take no memory', () => {
    const budget = new MemoryBudget(BYTES);
    const cache = new ColumnCache(budget);
    for (let time = 0; time < 3; time++) readAll(cache, ['empty', 'full']);
    expect(read(cache, 'empty', 0)).toBe(true);
  });

  it('does not exchange columns whose rows are read by chance', () => {
    const cache = new ColumnCache(new MemoryBudget(10 * BYTES));
    const keys = keysOf('large', 40);
    const chance = (time: number) => keys[(time * time * 7 + time * 3) % 40]!;
    for (let time = 0; time < 400; time++) readRows(cache, chance(time), BYTES);
    const kept = keys.filter((key) => cache.find(key) !== undefined);
    for (let time = 0; time < 400; time++) readRows(cache, chance(time), BYTES);
    expect(kept).toHaveLength(10);
    expect(keys.filter((key) => cache.find(key) !== undefined)).toEqual(kept);
  });
});
