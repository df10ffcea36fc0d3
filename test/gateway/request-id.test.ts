import { describe, expect, it } from 'vitest';
import { newId } from '../../src/gateway/admit.ts';

describe('an id of a request', () => {
  it('is a random UUID, and never the same again', () => {
    const ids = Array.from({ length: 2000 }, newId);
    const shape = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
    expect(ids.filter((id) => !shape.test(id))).toEqual([]);
    expect(new Set(ids).size).toBe(ids.length);
  });

  it('has every digit in every place that is random', () => {
    const ids = Array.from({ length: 2000 }, newId);
    for (const place of [0, 7, 9, 12, 15, 17, 20, 22, 24, 35]) {
      expect(new Set(ids.map((id) => id[place])).size, String(place)).toBe(16);
    }
  });
});
