import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  AdjustedCursor,
  AllCursor,
  BestCursor,
  FilteredCursor,
} from '../../../src/engine/query/search/compound-cursors.ts';
import { END, type Cursor } from '../../../src/engine/query/search/cursor.ts';
import type { Postings } from '../../../src/engine/index/text/postings.ts';
import { SumCursor } from '../../../src/engine/query/search/sum-cursor.ts';
import { TermCursor } from '../../../src/engine/query/search/term-cursor.ts';

const ROWS = 200;

/** What a cursor finds: rows with their scores. */
type Scores = ReadonlyMap<number, number>;

interface Found {
  readonly cursor: () => Cursor;
  readonly scores: Scores;
}

function termOf(counts: ReadonlyMap<number, number>, lengths: Uint32Array, factor: number): Found {
  const rows = Uint32Array.from([...counts.keys()].sort((one, other) => one - other));
  const postings: Postings = {
    rows,
    counts: Uint8Array.from(rows, (row) => counts.get(row)!),
    positions: null,
    mostCount: Math.max(0, ...counts.values()),
    leastLength: rows.reduce((least, row) => Math.min(least, lengths[row]!), Infinity),
  };
  const scores = new Map<number, number>();
  for (const row of rows) {
    const count = counts.get(row)!;
    scores.set(row, (factor * 2.2 * count) / (count + 1.2 * (0.25 + (0.75 * lengths[row]!) / 10)));
  }
  return { cursor: () => new TermCursor(postings, lengths, { factor, averageLength: 10 }), scores };
}

function joined(parts: readonly Scores[], join: (scores: readonly number[]) => number): Scores {
  const rows = new Set(parts.flatMap((scores) => [...scores.keys()]));
  return new Map(
    [...rows].map((row) => [row, join(parts.flatMap((scores) => scores.get(row) ?? []))]),
  );
}

const sum = (scores: readonly number[]) => scores.reduce((all, score) => all + score, 0);
const cursors = (parts: readonly Found[]) => parts.map(({ cursor }) => cursor());

const lengths = fc
  .nat(1000)
  .map((seed) => Uint32Array.from({ length: ROWS }, (_, row) => 1 + ((seed + row * row) % 30)));
const term = fc.tuple(
  fc.array(fc.tuple(fc.nat(ROWS - 1), fc.integer({ min: 1, max: 9 })), {
    minLength: 1,
    maxLength: 60,
  }),
  fc.constantFrom(0.1, 1, 4),
);

/** Some words of a collection of texts, and queries that are made of them. */
const queries = fc
  .tuple(lengths, fc.array(term, { minLength: 4, maxLength: 6 }))
  .map(([all, terms]) => {
    const [a, b, ...others] = terms.map(([counts, factor]) => termOf(new Map(counts), all, factor));
    const scores = others.map((each) => each.scores);
    const either: Found = {
      cursor: () => new SumCursor(cursors(others)),
      scores: joined(scores, sum),
    };
    const best: Found = {
      cursor: () => new BestCursor([a!.cursor(), either.cursor()]),
      scores: joined([a!.scores, either.scores], (values) => Math.max(...values)),
    };
    const both: Found = {
      cursor: () => new AllCursor([b!.cursor(), best.cursor()]),
      scores: new Map(
        [...b!.scores]
          .filter(([row]) => best.scores.has(row))
          .map(([row, score]) => [row, score + best.scores.get(row)!]),
      ),
    };
    const less: Found = {
      cursor: () => new AdjustedCursor(either.cursor(), a!.cursor(), -0.5),
      scores: new Map(
        [...either.scores].map(([row, score]) => [row, score - 0.5 * (a!.scores.get(row) ?? 0)]),
      ),
    };
    const without: Found = {
      cursor: () => {
        const not = b!.cursor();
        return new FilteredCursor(either.cursor(), (row) => not.seek(row) !== row);
      },
      scores: new Map([...either.scores].filter(([row]) => !b!.scores.has(row))),
    };
    return { a: a!, either, best, both, less, without };
  });

const names = ['a', 'either', 'best', 'both', 'less', 'without'] as const;

function walked(cursor: Cursor): Scores {
  const found = new Map<number, number>();
  for (let { row } = cursor; row !== END; row = cursor.next()) found.set(row, cursor.score());
  return found;
}

const inOrder = (scores: Scores) => [...scores].sort(([one], [other]) => one - other);

function expectSame(found: Scores, wanted: Scores): void {
  expect(inOrder(found).map(([row]) => row)).toEqual(inOrder(wanted).map(([row]) => row));
  for (const [row, score] of found) expect(score).toBeCloseTo(wanted.get(row)!, 9);
}

describe('a cursor', () => {
  it('finds what its query means, and no score above its bound', () => {
    fc.assert(
      fc.property(queries, fc.constantFrom(...names), (all, name) => {
        const { cursor, scores } = all[name];
        expectSame(walked(cursor()), scores);
        const { bound, count } = cursor();
        for (const score of scores.values()) expect(score).toBeLessThanOrEqual(bound + 1e-9);
        expect(scores.size).toBeLessThanOrEqual(count);
      }),
    );
  });

  it('goes to the first row from one on', () => {
    fc.assert(
      fc.property(queries, fc.constantFrom(...names), fc.array(fc.nat(ROWS)), (all, name, rows) => {
        const { cursor, scores } = all[name];
        const walking = cursor();
        let least = 0;
        for (const row of rows) {
          least = Math.max(least, row);
          const next = [...scores.keys()].filter((each) => each >= least);
          expect(walking.seek(row)).toBe(next.length === 0 ? END : Math.min(...next));
          least = walking.row;
        }
      }),
    );
  });

  it('leaves out no row that scores higher than is demanded', () => {
    fc.assert(
      fc.property(
        queries,
        fc.constantFrom(...names),
        fc.integer({ min: 1, max: 9 }),
        (all, name, k) => {
          const { cursor, scores } = all[name];
          const walking = cursor();
          let kept: (readonly [number, number])[] = [];
          for (let { row } = walking; row !== END; row = walking.next()) {
            const score = walking.score();
            if (kept.length === k && score <= kept[k - 1]![1]) continue;
            kept = [...kept, [row, score] as const]
              .sort(([, one], [, other]) => other - one)
              .slice(0, k);
            if (kept.length === k) walking.demand(kept[k - 1]![1]);
          }
          const wanted = [...scores.values()].sort((one, other) => other - one).slice(0, k);
          expect(kept).toHaveLength(wanted.length);
          for (const [at, [, score]] of kept.entries()) expect(score).toBeCloseTo(wanted[at]!, 9);
        },
      ),
    );
  });
});
