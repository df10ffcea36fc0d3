import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { NearWords } from '../../../src/engine/tokens/edit-distance.ts';

/** The edits between two words, by the whole table. */
function edits(one: string, other: string): number {
  const [letters, others] = [Array.from(one), Array.from(other)];
  let before = letters.map((_, at) => at + 1);
  for (const [place, letter] of others.entries()) {
    const now: number[] = [];
    for (const [at, own] of letters.entries()) {
      const replaced = (at === 0 ? place : before[at - 1]!) + (own === letter ? 0 : 1);
      now.push(Math.min(replaced, before[at]! + 1, (at === 0 ? place + 1 : now[at - 1]!) + 1));
    }
    before = now;
  }
  return before.at(-1) ?? others.length;
}

const word = fc.string({
  unit: fc.constantFrom('a', 'b', 'é', '\u{1f600}', '\uffff'),
  maxLength: 9,
});

describe('words near another', () => {
  it('are those within a number of edits, in any order', () => {
    fc.assert(
      fc.property(word, fc.nat(8), fc.array(word, { maxLength: 30 }), (own, most, others) => {
        const near = new NearWords(own, most);
        const found = others.map((other) => near.look(other).isNear);
        expect(found).toEqual(others.map((other) => edits(own, other) <= most));
      }),
    );
  });

  it('are never passed over', () => {
    fc.assert(
      fc.property(word, fc.nat(3), fc.array(word, { maxLength: 60 }), (own, most, others) => {
        const near = new NearWords(own, most);
        const sorted = others.toSorted((one, other) => (one < other ? -1 : 1));
        const found: string[] = [];
        let from = '';
        for (const other of sorted) {
          if (other < from) continue;
          const { isNear, next } = near.look(other);
          if (isNear) found.push(other);
          from = next;
        }
        expect(found).toEqual(sorted.filter((other) => edits(own, other) <= most));
      }),
    );
  });

  it('are looked at no further than they may be near', () => {
    const near = new NearWords('dog', 1);
    expect(near.look('a')).toEqual({ isNear: false, next: 'a' });
    expect(near.look('cattle')).toEqual({ isNear: false, next: 'ca\uffff' });
    expect(near.look('doge')).toEqual({ isNear: true, next: 'doge' });
    const long = 'x'.repeat(100_000);
    expect(new NearWords(long, 8).look(`${long}yyyyyyyy`).isNear).toBe(true);
    expect(new NearWords(long, 8).look(`${long}yyyyyyyyy`).isNear).toBe(false);
  });
});
