import { describe, expect, it } from 'vitest';
import { LruCache } from '../../../src/engine/base/lru-cache.ts';

describe('LruCache', () => {
  it('lets go of what was used longest ago when the weight is too much', () => {
    const gone: number[] = [];
    const cache = new LruCache<number>(10, (value) => gone.push(value));
    cache.set('a', 1, 4);
    cache.set('b', 2, 4);
    expect(cache.get('a')).toBe(1);
    cache.set('c', 3, 4);
    expect(gone).toEqual([2]);
    expect(cache.get('b')).toBeUndefined();
    expect([cache.get('a'), cache.get('c')]).toEqual([1, 3]);
  });

  it('does not keep what is heavier than everything it may hold', () => {
    const cache = new LruCache<number>(10);
    cache.set('a', 1, 11);
    expect(cache.get('a')).toBeUndefined();
  });

  it('counts a replaced value once', () => {
    const cache = new LruCache<number>(10);
    cache.set('a', 1, 8);
    cache.set('a', 2, 8);
    cache.set('b', 3, 2);
    expect([cache.get('a'), cache.get('b')]).toEqual([2, 3]);
    cache.clear();
    expect([cache.get('a'), cache.get('b')]).toEqual([undefined, undefined]);
  });
});
