import type { Table } from '@lancedb/lancedb';
import type * as Arrow from 'apache-arrow';
import { arrow, randomNumbers } from '../data/rows.ts';
import { checkRows } from '../data/question.ts';
import type { RawSide } from '../data/raw-side.ts';
import { peer } from '../harness/lancedb-peer.ts';
import { measureRounds, SHORT_WARMUPS, timed, timedEach } from '../harness/rounds.ts';
import type { Row } from '../harness/table.ts';
import { builtIndex } from './built-index.ts';
import type { IndexQuestions, IndexSides } from './question.ts';

const TABLE = 'texts';
const FOUND = 10;
/** So many pairs of words are searched for in a round. */
const SEARCHES = 50;
/** A build takes seconds: their middle counts, as the first of a process is slower. */
const BUILDS = 5;

/** Words, the most frequent first; the word of rank n comes about 1/n as often as the first. */
const WORDS = 50_000;
const LEAST_WORDS = 6;
const MOST_WORDS = 14;
const BATCH_ROWS = 10_000;

/** An index of short texts, searched for the ten best of those that have one of two words. */
export const textIndexQuestions: IndexQuestions = {
  notes: [
    'Texts: 1,000,000 rows of (int64, utf8), each text of 6 to 14 words out of 50,000, of which few',
    'are frequent, as in a language. Both sides build FTS as it is asked for without any setting, and',
    'are asked for the ten best of the texts that have one of two words: a frequent one and any.',
  ],
  measure: measureTexts,
};

async function measureTexts({ raw, embedded, options }: IndexSides): Promise<readonly Row[]> {
  const rows = textRows(options.quick ? 100_000 : 1_000_000);
  await raw.create(TABLE, rows);
  const table = await embedded.createTable(TABLE, rows);
  const built = await measureRounds(
    [
      {
        name: 'arrowgate',
        warmups: 0,
        measure: () => timed(() => builtIndex(raw, TABLE, { column: 'text', index_type: 'FTS' })),
      },
      { name: 'LanceDB embedded', warmups: 0, measure: () => timed(() => buildLance(table)) },
    ],
    Math.min(BUILDS, options.rounds),
  );
  const queries = pairsOfWords();
  const searched = await measureRounds(
    [
      {
        name: 'arrowgate',
        warmups: SHORT_WARMUPS,
        measure: () => timedEach(SEARCHES, (time) => searchTexts(raw, TABLE, queries[time]!)),
      },
      {
        name: 'LanceDB embedded',
        warmups: SHORT_WARMUPS,
        measure: () => timedEach(SEARCHES, (time) => askLance(table, queries[time]!)),
      },
    ],
    options.rounds,
  );
  return [
    { work: 'build a text index', unit: 'ms', samples: built, target: '≤ 1.0' },
    { work: 'best ten of two words', unit: 'ms', samples: searched, target: '≤ 0.8' },
  ];
}

const schema = new arrow.Schema([
  new arrow.Field('id', new arrow.Int64(), true),
  new arrow.Field('text', new arrow.Utf8(), true),
]);

/** Rows of (id int64, text utf8), the same in every run. */
export function textRows(count: number): Arrow.Table {
  const next = randomNumbers(7);
  const batches: Arrow.RecordBatch[] = [];
  for (let start = 0; start < count; start += BATCH_ROWS) {
    batches.push(batchFrom(start, Math.min(BATCH_ROWS, count - start), next));
  }
  return new arrow.Table(batches);
}

function batchFrom(first: number, length: number, next: () => number): Arrow.RecordBatch {
  const data = BigInt64Array.from({ length }, (_, row) => BigInt(first + row));
  const ids = arrow.makeData({ type: new arrow.Int64(), length, nullCount: 0, data });
  const texts = arrow.vectorFromArray(
    Array.from({ length }, () => textFrom(next)),
    new arrow.Utf8(),
  );
  const children = [ids, texts.data[0]!];
  const type = new arrow.Struct(schema.fields);
  return new arrow.RecordBatch(schema, arrow.makeData({ type, length, nullCount: 0, children }));
}

function textFrom(next: () => number): string {
  const count = LEAST_WORDS + Math.floor(next() * (MOST_WORDS - LEAST_WORDS + 1));
  return Array.from({ length: count }, () => word(rankFrom(next))).join(' ');
}

/** Ranks so that each comes about as often as its number says. */
function rankFrom(next: () => number): number {
  return Math.floor(WORDS ** next()) - 1;
}

/** A word that no stemmer changes. */
function word(rank: number): string {
  const consonants = 'bcdfgklmnprtvz';
  const vowels = 'aou';
  let letters = '';
  for (let rest = rank; letters === '' || rest > 0;) {
    letters += consonants[rest % consonants.length]!;
    rest = Math.floor(rest / consonants.length);
    letters += vowels[rest % vowels.length]!;
    rest = Math.floor(rest / vowels.length);
  }
  return `${letters}x`;
}

/** Queries of two words: a frequent one and any. The same in every run. */
export function pairsOfWords(): readonly string[] {
  const next = randomNumbers(11);
  return Array.from({ length: SEARCHES }, () => {
    const frequent = 5 + Math.floor(next() * 200);
    return `${word(frequent)} ${word(Math.floor(next() * 20_000))}`;
  });
}

async function buildLance(table: Table): Promise<void> {
  await table.createIndex('text', { config: peer.lancedb.Index.fts(), replace: true });
}

/** Searches for the best ten texts. */
export async function searchTexts(raw: RawSide, table: string, query: string): Promise<void> {
  const body = { k: FOUND, full_text_query: { string_query: { query } } };
  checkRows(arrow.tableFromIPC(await raw.ask(table, 'query', body)), FOUND);
}

async function askLance(table: Table, query: string): Promise<void> {
  checkRows(await table.query().fullTextSearch(query).limit(FOUND).toArrow(), FOUND);
}
