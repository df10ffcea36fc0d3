import { describe, expect, it } from 'vitest';
import { BoundedCache } from '../../../src/policy/lines/bounded-cache.ts';

function kept(cache: BoundedCache<number, string>, upTo: number): readonly number[] {
  const numbers = Array.from({ length: upTo }, (_, index) => index);
  return numbers.filter((number) => cache.find(number) !== undefined);
}

describe('a bounded cache', () => {
  it('makes a value once, as long as it is kept', () => {
    const cache = new BoundedCache<string, object>(10);
    const made = cache.get('a', () => ({}));
    expect(cache.get('a', () => ({}))).toBe(made);
    expect(cache.find('a')).toBe(made);
    expect(cache.find('b')).toBeUndefined();
  });

  it('never holds more than its limit, and the last half of it for certain', () => {
    const cache = new BoundedCache<number, string>(10);
    for (let number = 0; number < 100; number++) cache.keep(number, String(number));
    const found = kept(cache, 100);
    expect(found.length).toBeLessThanOrEqual(10);
    expect(found).toEqual(expect.arrayContaining([95, 96, 97, 98, 99]));
  });

  it('keeps what is asked for again and again', () => {
    const cache = new BoundedCache<number, string>(10);
    cache.keep(-1, 'kept');
    for (let number = 0; number < 100; number++) {
      cache.keep(number, String(number));
      expect(cache.find(-1)).toBe('kept');
    }
  });

  it('takes a new value for a key that it has', () => {
    const cache = new BoundedCache<string, number>(2);
    cache.keep('a', 1);
    cache.keep('b', 2);
    cache.keep('a', 3);
    expect(cache.find('a')).toBe(3);
  });
});
