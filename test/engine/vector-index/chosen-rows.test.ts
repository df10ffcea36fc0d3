import { Int64, Table, tableToIPC, Utf8, vectorFromArray, type RecordBatch } from 'apache-arrow';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { EngineTable } from '../../support/engine-table.ts';
import { buildIndex } from '../../support/indices.ts';
import { vectorsOf } from '../../support/vector-column.ts';

/* Rows of batches that are stored apart, with vectors whose neighbours lie in all of them. */
const BATCHES = 4;
const ROWS = 8192;
const SIZE = 32;
const WORDS = ['one', 'two', 'three', 'four', 'five', 'six', 'seven'];

let table: EngineTable;

beforeEach(async () => {
  table = await EngineTable.open({ arrowBody: 2 ** 26, cacheBytes: 2 ** 26 });
  table.engine.startWork((error) => {
    throw error;
  });
  const batches = Array.from({ length: BATCHES }, (_, at) => batchFrom(at * ROWS));
  await table.send('create', { body: tableToIPC(new Table(batches), 'stream') });
  await table.post('update', { predicate: 'id % 3 = 0', updates: [['text', "text || ' more'"]] });
  await table.post('delete', { predicate: 'id % 11 = 5' });
});

afterEach(() => table.close());

function batchFrom(first: number): RecordBatch {
  const ids = Array.from({ length: ROWS }, (_, at) => first + at);
  const columns = {
    id: vectorFromArray(ids.map(BigInt), new Int64()),
    text: vectorFromArray(ids.map(textOf), new Utf8()),
    v: vectorsOf(SIZE, ids.map(vectorOf)),
  };
  return new Table(columns).batches[0]!;
}

/** Only few texts are of two rare words; they lie in all batches. */
function textOf(id: number): string {
  return id % 4001 === 7 ? `rare ${id % 2 === 0 ? 'seldom' : ''}` : `${WORDS[id % 7]} null`;
}

function vectorOf(id: number): number[] {
  return Array.from({ length: SIZE }, (_, at) => Math.sin((1 + (id % 5003)) * (at + 1)));
}

const near = { vector: vectorOf(17), k: 12, distance_type: 'l2', with_row_id: true };

/** The rows of a query, with vectors as lists. */
async function rowsOf(body: object): Promise<Record<string, unknown>[]> {
  const rows = await table.rows(body);
  return rows.map(({ v, ...others }) => ({ ...others, v: v && [...(v as Iterable<number>)] }));
}

it.each([
  ['', {}],
  [' behind an offset', { offset: 5 }],
  [' of some columns', { columns: ['text', '_rowoffset', 'id'] }],
  [' with a filter behind it', { filter: "text like '%e%' and id > 3", prefilter: false }],
  [' in an order', { order_by: [{ column_name: 'id', ascending: false }] }],
] as const)(
  'a search by vectors%s answers rows of several batches as without an index',
  async (_, more) => {
    const body = { column: 'v', index_type: 'IVF_PQ' };
    const { status } = await buildIndex(table.engine.backend, 't', body);
    expect(status).toBe('SUCCEEDED');
    const exact = await rowsOf({ ...near, ...more, bypass_vector_index: true });
    expect(exact.length).toBeGreaterThan(3);
    // The rows are read alone at first, and their columns are cached at the end.
    for (let time = 0; time < 40; time++) expect(await rowsOf({ ...near, ...more })).toEqual(exact);
  },
);

it('a search for words answers rows of several batches as a filter does', async () => {
  const body = { column: 'text', index_type: 'FTS' };
  const { status } = await buildIndex(table.engine.backend, 't', body);
  expect(status).toBe('SUCCEEDED');
  const exact = await rowsOf({ filter: "text like 'rare%'", with_row_id: true, k: 20 });
  expect(exact.length).toBeGreaterThan(7);
  const query = { full_text_query: { string_query: { query: 'rare seldom' } }, k: 20 };
  for (let time = 0; time < 20; time++) {
    const found = await rowsOf({ ...query, with_row_id: true });
    const rows = found.map(({ _score, ...others }) => others);
    expect(rows.toSorted(byId)).toEqual(exact.toSorted(byId));
  }
});

function byId(one: Readonly<Record<string, unknown>>, other: Readonly<Record<string, unknown>>) {
  return Number(one['id']) - Number(other['id']);
}
