import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Connection, FtsOptions, FullTextQuery, Table } from '@lancedb/lancedb';
import { Int32, Utf8, vectorFromArray } from 'apache-arrow';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { lancedb } from '../../clients/lancedb.ts';
import { match, phrase, SearchedTable, type Hit } from './searched-table.ts';

/* The same texts are searched here and by LanceDB in this process: the rows are the same, and their scores nearly. */

const {
  Index,
  MatchQuery,
  PhraseQuery,
  BoostQuery,
  MultiMatchQuery,
  BooleanQuery,
  Occur,
  Operator,
} = lancedb;

let folder: string;
let database: Connection;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'texts-'));
  database = await lancedb.connect(folder);
});

afterAll(async () => {
  database.close();
  await rm(folder, { recursive: true, force: true });
});

/** A source of numbers that are the same in each run. */
function numbers(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

const words =
  `dog dogs Cat cats running runner ran house houses Haus the and of happy happiness naïve Ærø
  straße it’s e-mail x_1 ⅷ 5½ 日本 тест generously generation to was flies dying sky Σίσυφος`.split(
    /\s+/,
  );

/** Texts of a few words; the first words are the most frequent. */
function corpus(seed: number, count: number): readonly (string | null)[] {
  const next = numbers(seed);
  const word = () => words[Math.min(next(words.length), next(words.length))]!;
  return Array.from({ length: count }, () => {
    if (next(20) === 0) return next(2) === 0 ? null : '';
    return Array.from({ length: 1 + next(9) }, word).join([' ', ', ', '\n'][next(3)]);
  });
}

interface Sides {
  readonly ours: SearchedTable;
  readonly theirs: Table;
}

let tables = 0;

/** Both tables with indices of the same options. */
async function sides(
  texts: readonly (string | null)[],
  options: Partial<FtsOptions>,
  titles?: readonly (string | null)[],
): Promise<Sides> {
  const ours = await SearchedTable.open();
  ours.table.engine.startWork(() => undefined);
  const rows = {
    id: vectorFromArray(
      texts.map((_, id) => id),
      new Int32(),
    ),
    text: vectorFromArray(texts, new Utf8()),
    ...(titles && { title: vectorFromArray(titles, new Utf8()) }),
  };
  await ours.table.create(rows);
  const theirs = await database.createTable(
    `t${tables++}`,
    texts.map((text, id) => ({ id, text, ...(titles && { title: titles[id] }) })),
  );
  for (const column of titles === undefined ? ['text'] : ['text', 'title']) {
    await ours.index(column, optionsOf(options));
    await theirs.createIndex(column, { config: Index.fts(options), waitTimeoutSeconds: 60 });
  }
  return { ours, theirs };
}

function optionsOf(options: Partial<FtsOptions>) {
  return {
    with_position: options.withPosition,
    base_tokenizer: options.baseTokenizer,
    language: options.language,
    max_token_length: options.maxTokenLength,
    lower_case: options.lowercase,
    stem: options.stem,
    remove_stop_words: options.removeStopWords,
    ascii_folding: options.asciiFolding,
    min_ngram_length: options.ngramMinLength,
    max_ngram_length: options.ngramMaxLength,
    prefix_only: options.prefixOnly,
  };
}

async function lanceHits(table: Table, query: string | FullTextQuery): Promise<readonly Hit[]> {
  const rows = await table.query().fullTextSearch(query).limit(1000).toArray();
  return rows.map((row): Hit => [Number(row['id']), Number(row['_score'])]);
}

const byId = (hits: readonly Hit[]) => hits.toSorted(([one], [other]) => one - other);

/** The same rows with about the same scores, and ours from the best to the worst. */
async function same(
  { ours, theirs }: Sides,
  query: object,
  their: string | FullTextQuery,
  tolerance = 1e-4,
): Promise<number> {
  const [one, other] = [await ours.search(query), await lanceHits(theirs, their)];
  const said = JSON.stringify(query);
  expect(
    byId(one).map(([id]) => id),
    said,
  ).toEqual(byId(other).map(([id]) => id));
  const scores = new Map(other);
  for (const [at, [id, score]] of one.entries()) {
    expect(Math.abs(score - scores.get(id)!), said).toBeLessThan(tolerance);
    expect(score, said).toBeLessThanOrEqual(one[at - 1]?.[1] ?? Infinity);
  }
  return one.length;
}

const optionSets: readonly (readonly [string, Partial<FtsOptions>])[] = [
  ['nothing said', {}],
  ['neither stems nor stop words', { stem: false, removeStopWords: false }],
  ['case and accents kept', { lowercase: false, asciiFolding: false, stem: false }],
  ['white space', { baseTokenizer: 'whitespace' }],
  ['the whole text', { baseTokenizer: 'raw', stem: false }],
  ['n-grams', { baseTokenizer: 'ngram', stem: false, removeStopWords: false }],
  [
    'n-grams of the beginning',
    { baseTokenizer: 'ngram', stem: false, ngramMinLength: 2, ngramMaxLength: 4, prefixOnly: true },
  ],
  ['short tokens', { maxTokenLength: 5, stem: false }],
  ['German', { language: 'German' }],
  ['Russian', { language: 'Russian' }],
];

describe('searches for a text', () => {
  it.each(optionSets)('with %s', async (_, options) => {
    const texts = corpus(7, 60);
    const both = await sides(texts, options);
    // LanceDB gives all n-grams of a query the rarity of the last one.
    const tolerance = options.baseTokenizer === 'ngram' ? Infinity : 1e-4;
    let found = 0;
    for (const text of [...words, ...texts.slice(0, 12)]) {
      found += await same(both, { query: text ?? '' }, text ?? '', tolerance);
    }
    expect(found).toBeGreaterThan(10);
    await both.ours.table.close();
  });
});

describe('searches of other forms', () => {
  const texts = corpus(11, 80);
  const titles = corpus(12, 80);
  let both: Sides;

  beforeAll(async () => {
    both = await sides(texts, { withPosition: true, removeStopWords: false }, titles);
  });

  afterAll(() => both.ours.table.close());

  it('match with edits, boosts and all words', async () => {
    let found = 0;
    for (const word of ['dox', 'hous', 'happi', 'cad', 'gener', 'straxe', 'runer']) {
      for (const fuzziness of [1, 2]) {
        for (const more of [{}, { max_expansions: 2 }, { prefix_length: 2 }]) {
          const theirs = new MatchQuery(word, 'text', {
            fuzziness,
            ...('max_expansions' in more && { maxExpansions: more.max_expansions }),
            ...('prefix_length' in more && { prefixLength: more.prefix_length }),
          });
          found += await same(both, match(word, 'text', { fuzziness, ...more }), theirs);
        }
      }
    }
    expect(found).toBeGreaterThan(100);
    const boosted = new MatchQuery('dog cat', 'title', { boost: 2.5, operator: Operator.And });
    const ours = match('dog cat', 'title', { boost: 2.5, operator: 'And' });
    expect(await same(both, ours, boosted)).toBeGreaterThan(0);
  });

  it('phrases with and without words between', async () => {
    let found = 0;
    const phrases = [
      'dog dog',
      'dogs cat',
      'the house',
      'cat the dog',
      'dog cat dog',
      'dog',
      'nowhere',
    ];
    for (const text of [...phrases, ...texts.slice(0, 10)]) {
      found += await same(both, phrase(text ?? ''), new PhraseQuery(text ?? '', 'text'));
      for (const slop of [1, 3]) {
        const theirs = await lanceHits(both.theirs, new PhraseQuery(text ?? '', 'text', { slop }));
        const ours = await both.ours.ids(phrase(text ?? '', slop));
        // LanceDB does not look at all ways in which a word that comes again may be taken.
        expect(ours, `${text} ${slop}`).toEqual(expect.arrayContaining(theirs.map(([id]) => id)));
        if (text?.split(' ').length === 2) expect(ours).toHaveLength(theirs.length);
      }
    }
    expect(found).toBeGreaterThan(30);
  });

  it('boost, multi-match and boolean queries, one in the other', async () => {
    const [dog, house, happy] = ['dog', 'house', 'happy'].map(
      (word) => new MatchQuery(word, 'text'),
    );
    const cat = new MatchQuery('cat', 'title');
    const inner = (word: string, column = 'text') => match(word, column).query;
    const pairs: readonly (readonly [object, FullTextQuery])[] = [
      [
        { query: { boost: { positive: inner('dog'), negative: inner('cat', 'title') } } },
        new BoostQuery(dog!, cat),
      ],
      [
        {
          query: {
            boost: { positive: inner('dog'), negative: inner('house'), negative_boost: 0.25 },
          },
        },
        new BoostQuery(dog!, house!, { negativeBoost: 0.25 }),
      ],
      [
        { query: { multi_match: { query: 'dog', columns: ['text', 'title'] } } },
        new MultiMatchQuery('dog', ['text', 'title']),
      ],
      [
        {
          query: {
            multi_match: {
              match_queries: [
                match('cat', 'text', { boost: 3 }).query.match,
                match('cat', 'title').query.match,
              ],
            },
          },
        },
        new MultiMatchQuery('cat', ['text', 'title'], { boosts: [3, 1] }),
      ],
      [
        {
          query: {
            boolean: {
              must: [inner('dog')],
              should: [inner('cat', 'title')],
              must_not: [inner('house')],
            },
          },
        },
        new BooleanQuery([
          [Occur.Must, dog!],
          [Occur.Should, cat],
          [Occur.MustNot, house!],
        ]),
      ],
      [
        {
          query: {
            boolean: {
              must: [],
              should: [inner('happy'), inner('cat', 'title')],
              must_not: [phrase('dog').query],
            },
          },
        },
        new BooleanQuery([
          [Occur.Should, happy!],
          [Occur.Should, cat],
          [Occur.MustNot, new PhraseQuery('dog', 'text')],
        ]),
      ],
    ];
    for (const [query, theirs] of pairs) {
      expect(await same(both, query, theirs), JSON.stringify(query)).toBeGreaterThan(0);
    }
    // Of several queries that must be fulfilled LanceDB counts the score of one.
    const two = {
      boolean: { must: [inner('dog'), inner('cat', 'title')], should: [], must_not: [] },
    };
    const theirs = new BooleanQuery([
      [Occur.Must, dog!],
      [Occur.Must, cat],
    ]);
    expect(await same(both, { query: two }, theirs, Infinity)).toBeGreaterThan(0);
  });
});
