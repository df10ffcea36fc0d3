import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Connection, FtsOptions, FullTextQuery, Table } from '@lancedb/lancedb';
import { Int32, Utf8, vectorFromArray } from 'apache-arrow';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { lancedb } from '../../clients/lancedb.ts';
import { match, phrase, SearchedTable, type Hit } from './searched-table.ts';

/* The same texts are searched here and by LanceDB in this process: the rows are the same, and their scores nearly. */

const { Index, MatchQuery, PhraseQuery, BoostQuery, MultiMatchQuery, BooleanQuery, Occur, Operator } =
  lancedb;

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

const words = [
  ...['dog', 'dogs', 'Cat', 'cats', 'running', 'runner', 'ran', 'house', 'houses', 'Haus', 'the'],
  ...['and', 'of', 'happy', 'happiness', 'naïve', 'Ærø', 'straße', 'it’s', 'e-mail', 'x_1', 'ⅷ', '5½'],
  ...['日本', 'тест', 'generously', 'generation', 'to', 'was', 'flies', 'dying', 'sky', 'Σίσυφος'],
];

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
    id: vectorFromArray(texts.map((_, id) => id), new Int32()),
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
async function same({ ours, theirs }: Sides, query: object, their: string | FullTextQuery) {
  const [one, other] = [await ours.search(query), await lanceHits(theirs, their)];
  const said = JSON.stringify(query);
  expect(byId(one).map(([id]) => id), said).toEqual(byId(other).map(([id]) => id));
  const scores = new Map(other);
  for (const [at, [id, score]] of one.entries()) {
    expect(Math.abs(score - scores.get(id)!), said).toBeLessThan(1e-4);
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
    let found = 0;
    for (const word of words) found += await same(both, { query: word }, word);
    for (const text of texts.slice(0, 12)) found += await same(both, { query: text ?? '' }, text ?? '');
    expect(found).toBeGreaterThan(20);
    await both.ours.table.close();
  });
});
