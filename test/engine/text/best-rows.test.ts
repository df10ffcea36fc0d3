import { Int32, Utf8, vectorFromArray } from 'apache-arrow';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { casesOf } from '../../support/cases.ts';
import { streamOf, type Columns } from '../../support/engine-table.ts';
import { SearchedTable, type Hit } from './searched-table.ts';

/* The best rows of an index, which skips rows, are compared with the scores of all rows. */

/** Words with their share of the texts, and how often one is repeated. */
const WORDS = [
  ['always', 1, 2],
  ['often', 0.5, 5],
  ['sometimes', 0.1, 3],
  ['seldom', 0.004, 1],
] as const;
const ROWS = 4000;

let searched: SearchedTable;

beforeEach(async () => {
  searched = await SearchedTable.open(true);
});

afterEach(async () => {
  await searched.table.close();
});

/** A source of numbers between 0 and 1 that are the same in each run. */
function numbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

/** Few lengths and counts, so that many scores are the same. Some stretches have longer texts. */
function corpus(seed: number): readonly string[] {
  const next = numbers(seed);
  return Array.from({ length: ROWS }, (_, row) => {
    const words = WORDS.flatMap(([word, share, most]) =>
      next() < share ? Array<string>(1 + Math.floor(next() ** 6 * most)).fill(word) : [],
    );
    const stretch = Math.floor(row / 300) % 3;
    return [...words, ...Array<string>(4 * stretch + Math.floor(next() * 3)).fill('other')].join(
      ' ',
    );
  });
}

function rows(texts: readonly string[], first: number): Columns {
  return {
    id: vectorFromArray(
      texts.map((_, at) => first + at),
      new Int32(),
    ),
    text: vectorFromArray(texts, new Utf8()),
  };
}

/** The rows that have some of the words, or all of them, the best first and equal ones in their order. */
function scored(texts: readonly string[], query: string, all = false): readonly Hit[] {
  const split = texts.map((text) => text.split(' ').filter((word) => word !== ''));
  const average = split.reduce((sum, { length }) => sum + length, 0) / texts.length;
  const words = query.split(' ').map((word) => {
    const count = split.filter((each) => each.includes(word)).length;
    return { word, rarity: Math.log1p((texts.length - count + 0.5) / (count + 0.5)) };
  });
  const hits = split.flatMap((text, id): Hit[] => {
    const parts = words.map(({ word, rarity }) => {
      const count = text.filter((each) => each === word).length;
      return (rarity * 2.2 * count) / (count + 1.2 * (0.25 + (0.75 * text.length) / average));
    });
    const found = all ? parts.every((score) => score > 0) : parts.some((score) => score > 0);
    return found ? [[id, Math.fround(parts.reduce((a, b) => a + b))]] : [];
  });
  return hits.sort(([, one], [, other]) => other - one);
}

const queries = [
  'always',
  'often',
  'seldom',
  'always often',
  'seldom always',
  'seldom sometimes often always',
  'often sometimes',
];

describe.each(Array.from({ length: casesOf(2, 30) }, (_, seed) => seed))('corpus %i', (seed) => {
  it('is searched as all of its rows are', async () => {
    const texts = corpus(seed + 1);
    await searched.table.create(rows(texts.slice(0, 3000), 0));
    await searched.index('text', { stem: false, remove_stop_words: false });
    // No index covers the other fragments at first.
    for (const [first, end] of [
      [3000, 3900],
      [3900, ROWS],
    ] as const) {
      await searched.table.send('insert', { body: streamOf(rows(texts.slice(first, end), first)) });
    }
    const { version } = (await searched.table.post('describe')) as { version: number };
    const best = scored(texts, 'seldom always').slice(0, 4);
    const gone = new Set(best.map(([id]) => id));
    const isDeleted = (id: number) => gone.has(id) || id % 7 === 3;
    // A compaction would count without the deleted rows.
    const { version: left } = (await searched.table.post('delete', {
      predicate: `id % 7 = 3 OR id IN (${[...gone].join(', ')})`,
    })) as { version: number };
    await searched.table.post('branches/create', { name: 'b', from_version: version });
    for (const query of queries) {
      const all = scored(texts, query);
      for (const k of [1, 10, 1000]) {
        const expectBest = async (isVisible: (id: number) => boolean, more: object) => {
          const found = await searched.search({ query }, { k, ...more });
          const wanted = all.filter(([id]) => isVisible(id)).slice(0, k);
          expect(found, `${query}, ${k}`).toEqual(wanted);
        };
        await expectBest((id) => !isDeleted(id), { version: left });
        await expectBest((id) => !isDeleted(id) && id % 5 === 0, {
          filter: 'id % 5 = 0',
          version: left,
        });
        await expectBest((id) => id > 3000, { filter: 'id > 3000', version });
        await expectBest(() => true, { branch: 'b' });
      }
      const and = { match: { terms: query, column: 'text', operator: 'And' } };
      const both = scored(texts, query, true).filter(([id]) => !isDeleted(id));
      expect(await searched.search({ query: and }, { k: 10, version: left })).toEqual(
        both.slice(0, 10),
      );
    }
  });
});
