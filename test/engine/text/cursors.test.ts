import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  AdjustedCursor,
  AllCursor,
  BestCursor,
  FilteredCursor,
} from '../../../src/engine/query/search/compound-cursors.ts';
import { END, type Cursor } from '../../../src/engine/query/search/cursor.ts';
import { decodePostings, type Postings } from '../../../src/engine/index/text/postings.ts';
import { SumCursor } from '../../../src/engine/query/search/sum-cursor.ts';
import { TermCursor } from '../../../src/engine/query/search/term-cursor.ts';
import { encodedPostings } from './encoded-postings.ts';

/** More than a block has. */
const ROWS = 1500;

/** What a cursor finds: rows with their scores. */
type Scores = ReadonlyMap<number, number>;

interface Found {
  readonly cursor: () => Cursor;
  readonly scores: Scores;
}

/** @param ends Where a part of the rows ends and another one begins. */
function termOf(
  counts: ReadonlyMap<number, number>,
  lengths: Uint32Array,
  factor: number,
  ends: readonly number[] = [],
): Found {
  const scores = new Map<number, number>();
  for (const row of ascending(counts.keys())) {
    const count = counts.get(row)!;
    scores.set(row, (factor * 2.2 * count) / (count + 1.2 * (0.25 + (0.75 * lengths[row]!) / 10)));
  }
  const parts = [0, ...ascending(ends)].flatMap((first, at, all) => {
    const rows = [...scores.keys()].filter(
      (row) => row >= first && row < (all[at + 1] ?? Infinity),
    );
    return rows.length === 0 ? [] : [postingsOf(Uint32Array.from(rows), counts, lengths)];
  });
  return { cursor: () => new TermCursor(parts, lengths, { factor, averageLength: 10 }), scores };
}

/** Postings of the rows of a part; a file of an earlier version has none with blocks. */
function postingsOf(
  rows: Uint32Array,
  found: ReadonlyMap<number, number>,
  lengths: Uint32Array,
): Postings {
  const all = Array.from(rows, (row) => Array<number>(found.get(row)!).fill(row)).flat();
  const postings = decodePostings(encodedPostings(all, null, lengths));
  return rows[0]! % 5 === 4 ? { ...postings, blocks: null } : postings;
}

const ascending = (numbers: Iterable<number>) => [...numbers].sort((one, other) => one - other);

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

/** Rows with their counts: a few of them, or one of each `step`, of which some stretches stand out. */
const few = fc.array(fc.tuple(fc.nat(ROWS - 1), fc.integer({ min: 1, max: 9 })), {
  minLength: 1,
  maxLength: 60,
});
const many = fc
  .record({ step: fc.integer({ min: 1, max: 5 }), seed: fc.nat(1000) })
  .map(({ step, seed }): [number, number][] =>
    Array.from({ length: Math.floor(ROWS / step) }, (_, at) => {
      const stands = Math.floor(at / 100 + seed) % 4 === 0;
      return [at * step, 1 + ((seed * at) % (stands ? 7 : 2))];
    }),
  );
const term = fc.tuple(
  fc.oneof(few, many),
  fc.constantFrom(0.1, 1, 4),
  fc.array(fc.integer({ min: 1, max: ROWS - 1 }), { maxLength: 2 }),
);

/** Some words of a collection of texts, and queries that are made of them. */
const queries = fc
  .tuple(lengths, fc.array(term, { minLength: 4, maxLength: 6 }))
  .map(([all, terms]) => {
    const [a, b, ...others] = terms.map(([counts, factor, ends]) =>
      termOf(new Map(counts), all, factor, ends),
    );
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
  expect([...found].filter(([row, score]) => !isClose(score, wanted.get(row)!))).toEqual([]);
}

const isClose = (one: number, other: number) => Math.abs(one - other) < 1e-9;

describe('a cursor', () => {
  it('finds what its query means, and no score above its bound', () => {
    fc.assert(
      fc.property(queries, fc.constantFrom(...names), (all, name) => {
        const { cursor, scores } = all[name];
        expectSame(walked(cursor()), scores);
        const { bound, count } = cursor();
        expect(Math.max(...scores.values())).toBeLessThanOrEqual(bound + 1e-9);
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
        fc.constantFrom(1, 2, 9, 100),
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
          const isRight = ([row, score]: readonly [number, number], at: number) =>
            isClose(score, wanted[at]!) && isClose(score, scores.get(row)!);
          expect(kept.filter((each, at) => !isRight(each, at))).toEqual([]);
        },
      ),
    );
  });

  it('bounds the scores of the rows that it has not visited', () => {
    fc.assert(
      fc.property(queries, fc.array(fc.nat(ROWS), { maxLength: 20 }), ({ a }, rows) => {
        const cursor = a.cursor() as TermCursor;
        for (const row of ascending(rows)) {
          const bound = cursor.boundFrom(row);
          expect(cursor.reach).toBeGreaterThan(row);
          const covered = [...a.scores].filter(([each]) => each >= row && each < cursor.reach);
          expect(covered.filter(([, score]) => score > bound)).toEqual([]);
        }
      }),
    );
  });

  it('visits few rows of a long list once a score is demanded that few of them reach', () => {
    const all = Uint32Array.from({ length: 100_000 }, () => 10);
    const counts = new Map(Array.from(all, (_, row) => [row, row % 30_000 === 8 ? 5 : 1]));
    const other = new Map(Array.from({ length: 50_000 }, (_, row) => [2 * row, 1]));
    const [one, both] = [termOf(counts, all, 1), termOf(other, all, 1)];
    const either = new SumCursor([both.cursor(), one.cursor()]);
    const usual = one.scores.get(10)!;
    for (const [cursor, score] of [
      [one.cursor(), usual],
      [either, 2 * usual],
    ] as const) {
      cursor.demand(score * (1 + 1e-9));
      const visited: number[] = [];
      for (let row = cursor.next(); row !== END; row = cursor.next()) visited.push(row);
      expect(visited.length).toBeLessThan(1000);
      expect(visited).toEqual(expect.arrayContaining([30_008, 60_008, 90_008]));
    }
  });
});
