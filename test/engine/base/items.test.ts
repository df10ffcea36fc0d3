import { describe, expect, it } from 'vitest';
import { itemAt, onlyItem, pairs } from '../../../src/engine/base/items.ts';

describe('an item', () => {
  it('is found by its position, and no other position is accepted', () => {
    expect(itemAt(['a', 'b'], 1)).toBe('b');
    expect(() => itemAt(['a', 'b'], 2)).toThrow('a list of 2 items has none at position 2');
    expect(() => itemAt([], -1)).toThrow(RangeError);
  });

  it('is the only one of a list of one', () => {
    expect(onlyItem(['a'])).toBe('a');
    expect(onlyItem([])).toBeUndefined();
    expect(onlyItem(['a', 'b'])).toBeUndefined();
  });
});

describe('pairs', () => {
  it('are items of two lists at the same position', () => {
    expect(pairs([1, 2], ['a', 'b', 'c'])).toEqual([
      [1, 'a'],
      [2, 'b'],
    ]);
  });

  it('need a second list that is long enough', () => {
    expect(() => pairs([1, 2], ['a'])).toThrow(RangeError);
  });
});
