import { Int32, Int64, makeData, Uint64, vectorFromArray, type Data } from 'apache-arrow';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { KeyBounds } from '../../../src/engine/change/key-ranges.ts';

const int64 = new Int64();
const LEAST = -(2n ** 63n);
const GREATEST = 2n ** 63n - 1n;

describe('the bounds of keys', () => {
  it('leave out every row beyond them and no other', () => {
    const numbers = fc.array(fc.oneof(fc.bigInt(LEAST, GREATEST), fc.bigInt(-9n, 9n), near()), {
      maxLength: 20,
    });
    fc.assert(
      fc.property(numbers, numbers, (keys, rows) => {
        const bounds = new KeyBounds([int64]);
        bounds.add([columnOf(keys.slice(0, 3))]);
        bounds.add([columnOf(keys.slice(3))]);
        const mayHave = bounds.within([columnOf(rows)]);
        const least = keys.reduce((left, right) => (right < left ? right : left), GREATEST);
        const greatest = keys.reduce((left, right) => (right > left ? right : left), LEAST);
        for (const [row, value] of rows.entries()) {
          const within = keys.length > 0 && value >= least && value <= greatest;
          expect(mayHave(row)).toBe(within);
        }
      }),
    );
  });

  it('are not those of what lies under a null', () => {
    const bounds = new KeyBounds([int64]);
    bounds.add([vectorFromArray([null, 5n, null], int64).data[0]!]);
    const mayHave = bounds.within([columnOf([0n, 5n, 6n])]);
    expect([0, 1, 2].map(mayHave)).toEqual([false, true, false]);
  });

  it('tell nothing of keys of other types, or of several columns', () => {
    const narrow = makeData({ type: new Int32(), data: Int32Array.of(1) });
    const unsigned = makeData({ type: new Uint64(), data: BigUint64Array.of(1n) });
    const kinds: readonly (readonly Data[])[] = [[narrow], [unsigned], [columnOf([1n]), narrow]];
    for (const columns of kinds) {
      const bounds = new KeyBounds(columns.map(({ type }) => type));
      expect(bounds.within(columns)(0)).toBe(true);
      bounds.add(columns);
      expect(bounds.within(columns)(0)).toBe(true);
    }
  });
});

/** Numbers around those at which the upper half changes. */
function near(): fc.Arbitrary<bigint> {
  return fc
    .tuple(fc.bigInt(-3n, 3n), fc.bigInt(-3n, 3n))
    .map(([high, low]) => high * 2n ** 32n + low);
}

function columnOf(values: readonly bigint[]): Data {
  return makeData({ type: int64, data: BigInt64Array.from(values) });
}
