import { assert, array, integer, oneof, property } from 'fast-check';
import { describe, expect, it } from 'vitest';
import { runToMerge } from '../../../src/engine/change/small-runs.ts';
import type { Fragment } from '../../../src/engine/format/snapshot.ts';

let files = 0;

function fragment(rows: number, bytes = 100 * rows): Fragment {
  return {
    files: [{ path: `data/${files++}.arrow`, bytes, fields: [0] }],
    physicalRows: rows,
    rows,
    firstRowId: 0n,
    storedRowIds: true,
    deletions: null,
  };
}

const many = (count: number, rows: number, bytes?: number) =>
  Array.from({ length: count }, () => fragment(rows, bytes));

const sum = (fragments: readonly Fragment[]) => fragments.reduce((all, { rows }) => all + rows, 0);

/** Appends one fragment after the other and merges as the engine does; answers how many rows were written again. */
function rewritten(appends: readonly number[]): { written: number; most: number } {
  let fragments: readonly Fragment[] = [];
  let [written, most] = [0, 0];
  for (const rows of appends) {
    fragments = [...fragments, fragment(rows)];
    for (let run = runToMerge(fragments); run !== undefined; run = runToMerge(fragments)) {
      written += sum(run);
      const start = fragments.indexOf(run[0]!);
      const made = fragment(sum(run));
      fragments = [...fragments.slice(0, start), made, ...fragments.slice(start + run.length)];
    }
    most = Math.max(most, fragments.length);
  }
  expect(sum(fragments)).toBe(appends.reduce((all, rows) => all + rows, 0));
  return { written, most };
}

describe('small fragments', () => {
  it('are left alone while they are few', () => {
    expect(runToMerge(many(31, 10))).toBeUndefined();
    expect(runToMerge([...many(31, 10), fragment(200_000), ...many(31, 10)])).toBeUndefined();
    expect(runToMerge(many(100, 100_000))).toBeUndefined();
    expect(runToMerge(many(100, 10, 2 ** 26))).toBeUndefined();
  });

  it('are merged where many lie side by side, those of about one size', () => {
    const some = many(32, 10);
    expect(runToMerge(some)).toEqual(some);
    expect(runToMerge([...many(31, 5_000), ...some])).toEqual(some);
    expect(runToMerge([fragment(200_000), ...some, fragment(200_000)])).toEqual(some);
  });

  it('are not merged with one that is much larger than they are together', () => {
    expect(runToMerge([fragment(5_000), ...many(31, 1)])).toBeUndefined();
  });

  it('become no more than one of full size, in rows or bytes', () => {
    expect(sum(runToMerge(many(40, 20_000))!)).toBe(100_000);
    expect(runToMerge(many(40, 10, 2 ** 24))).toHaveLength(4);
  });

  it('of one append after the other cost each row a few writes, and stay few', () => {
    for (const rows of [1, 10, 1000]) {
      const { written, most } = rewritten(Array.from({ length: 5000 }, () => rows));
      expect(written / (5000 * rows)).toBeLessThan(4);
      expect(most).toBeLessThan(160);
    }
  });

  it('of any sizes cost each row a few writes, and stay few', () => {
    const size = oneof(
      integer({ min: 1, max: 5 }),
      integer({ min: 1, max: 500 }),
      integer({ min: 1, max: 20_000 }),
    );
    assert(
      property(array(size, { minLength: 400, maxLength: 800 }), (appends) => {
        const { written, most } = rewritten(appends);
        const large = sum(appends.map((rows) => fragment(rows))) / 100_000;
        expect(written / sum(appends.map((rows) => fragment(rows)))).toBeLessThan(8);
        expect(most).toBeLessThan(260 + large);
      }),
      { numRuns: 30 },
    );
  });
});
