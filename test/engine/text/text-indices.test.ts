import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Field, Int32, LargeUtf8, List, Utf8, vectorFromArray, type DataType } from 'apache-arrow';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { CatalogError } from '../../../src/protocol/errors.ts';
import { streamOf, type Columns } from '../../support/engine-table.ts';
import { match, phrase, SearchedTable } from './searched-table.ts';
import { waitUntil } from '../../support/eventually.ts';

let searched: SearchedTable;

beforeEach(async () => {
  searched = await SearchedTable.open(true);
});

afterEach(async () => {
  await searched.table.close();
  expect(searched.faults).toEqual([]);
});

const texts = [
  'a red dog in the sea',
  'the dog and the cat',
  'night and sea',
  null,
  'cats sleep, dogs run',
  'red night, red train',
  '',
  'dog dog dog',
];

function rows(
  first: number,
  values: readonly unknown[] = texts,
  type: DataType = new Utf8(),
): Columns {
  return {
    id: vectorFromArray(
      values.map((_, at) => first + at),
      new Int32(),
    ),
    text: vectorFromArray(values, type),
  };
}

const refused = (work: Promise<unknown>) =>
  work.then(
    () => 'not refused',
    (error: unknown) =>
      error instanceof CatalogError ? `${error.row.code} ${error.message}` : String(error),
  );

async function indexFiles(): Promise<readonly string[]> {
  const folder = join(searched.table.engine.data, 'tables');
  const names = await readdir(folder, { recursive: true });
  return names.filter((name) => /indices.*\.arrow$/.test(name)).map((name) => join(folder, name));
}

async function untilIndexed(): Promise<void> {
  await waitUntil(async () => (await searched.unindexed('text_idx')) === 0);
}

describe('scores', () => {
  const words = ['dog', 'red sea', 'cat dog night'];

  it('depend neither on how rows lie in files nor on how many an index covers', async () => {
    await searched.table.create(rows(0));
    await searched.index('text');
    const whole = await Promise.all(words.map((word) => searched.search({ query: word })));
    await searched.table.send('insert?mode=overwrite', {
      body: streamOf(rows(0, texts.slice(0, 3))),
    });
    await searched.table.send('insert', { body: streamOf(rows(3, texts.slice(3, 4))) });
    await searched.table.send('insert', { body: streamOf(rows(4, texts.slice(4))) });
    const scanned = await Promise.all(words.map((word) => searched.search({ query: word })));
    expect(scanned).toEqual(whole);
    await untilIndexed();
    expect(await Promise.all(words.map((word) => searched.search({ query: word })))).toEqual(whole);
  });

  it('put rows in order, of equals the first of the table', async () => {
    await searched.table.create(rows(0, ['tie', 'tie tie', 'tie', 'other', 'tie']));
    await searched.index('text');
    const hits = await searched.search({ query: 'tie' });
    expect(hits.map(([id]) => id)).toEqual([1, 0, 2, 4]);
    const few = await searched.search({ query: 'tie' }, { k: 2, offset: 1 });
    expect(few.map(([id]) => id)).toEqual([0, 2]);
  });

  it('are a column of 32-bit floats behind the others', async () => {
    await searched.table.create(rows(0));
    await searched.index('text');
    const [row] = await searched.table.rows({
      full_text_query: { query: 'cat' },
      with_row_id: true,
    });
    expect(Object.keys(row!)).toEqual(['id', 'text', '_score', '_rowid']);
    const ordered = await searched.table.rows({
      full_text_query: { query: 'dog' },
      order_by: [{ column_name: 'id', ascending: false }],
      columns: { twice: '_score * 2', id: 'id' },
    });
    expect(ordered.map((each) => each['id'])).toEqual([7, 4, 1, 0]);
    expect(Number(ordered[0]!['twice'])).toBeCloseTo(2 * Number(ordered[0]!['_score']), 5);
  });
});

describe('a search that finds very many rows', () => {
  it('answers all of them, of every fragment in their order', async () => {
    const count = 105_000;
    const text = (id: number) => (id % 7 === 3 ? 'b a' : 'a');
    const values = (first: number, length: number) =>
      rows(
        first,
        Array.from({ length }, (_, at) => text(first + at)),
      );
    await searched.table.create(values(0, count));
    await searched.table.send('insert', { body: streamOf(values(count, 1000)) });
    await searched.index('text', { remove_stop_words: false });
    await searched.table.post('delete', { predicate: 'id = 5' });
    const found = await searched.search({ query: 'a b' }, { k: 2 * count });
    const ids = Array.from({ length: count + 1000 }, (_, id) => id).filter((id) => id !== 5);
    const best = ids.filter((id) => text(id) === 'b a');
    expect(found.map(([id]) => id)).toEqual([...best, ...ids.filter((id) => text(id) === 'a')]);
  });
});

describe('a text index', () => {
  it('follows deletes, updates, versions, branches and restores', async () => {
    await searched.table.create(rows(0), rows(10));
    await searched.index('text', { with_position: true });
    await searched.table.post('delete', { predicate: 'id in (0, 17)' });
    expect(await searched.ids(match('dog'))).toEqual([1, 4, 7, 10, 11, 14]);
    await searched.table.post('update', { predicate: 'id = 11', updates: [['text', "'a bird'"]] });
    expect(await searched.ids(match('dog'))).toEqual([1, 4, 7, 10, 14]);
    expect(await searched.ids(match('bird'))).toEqual([11]);
    expect(await searched.ids(match('bird'), { fast_search: true })).toEqual([]);
    expect(await searched.ids(phrase('red dog'), { version: 3 })).toEqual([0, 10]);
    expect(await refused(searched.ids(match('dog'), { version: 2 }))).toBe(
      '6 the column "text" has no text index: a full-text search needs one of type FTS',
    );
    await untilIndexed();
    expect(await searched.ids(match('bird'), { fast_search: true })).toEqual([11]);
    await searched.table.post('branches/create', { name: 'b', from_version: 3 });
    expect(await searched.ids(match('dog'), { branch: 'b' })).toContain(17);
    await searched.table.post('restore', { version: 3 });
    expect(await searched.ids(match('dog'))).toEqual([0, 1, 4, 7, 10, 11, 14, 17]);
  });

  it('goes with its column and follows its name', async () => {
    await searched.table.create(rows(0));
    await searched.index('text');
    await searched.table.post('alter_columns', {
      alterations: [{ path: 'text', rename: 'words' }],
    });
    expect(await searched.ids(match('cat', 'words'))).toEqual([1, 4]);
    expect(await searched.ids({ query: 'cat' })).toEqual([1, 4]);
    await searched.table.post('drop_columns', { columns: ['words'] });
    expect(await refused(searched.ids({ query: 'cat' }))).toBe(
      '6 the table has no text index: a full-text search needs one of type FTS',
    );
  });

  it.each<[string, DataType, readonly unknown[], readonly number[]]>([
    ['large texts', new LargeUtf8(), texts, [0, 1, 4, 7]],
    [
      'lists of texts',
      new List(new Field('item', new Utf8(), true)),
      [['a dog', 'red'], ['cat', null], null, [], ['red dogs']],
      [0, 4],
    ],
  ])('is made of %s', async (_, type, values, ids) => {
    await searched.table.create(rows(0, values, type));
    expect(await refused(searched.ids({ query: 'dog' }))).toContain('no text index');
    await searched.index('text', { with_position: true });
    expect(await searched.ids({ query: 'dog' })).toEqual(ids);
    expect(await searched.ids(phrase('red dog'))).toEqual([ids[type instanceof List ? 1 : 0]]);
  });

  it('finds rows that pass a filter, before or behind the search', async () => {
    await searched.table.create(rows(0), rows(10));
    await searched.index('text');
    await searched.table.post('delete', { predicate: 'id = 1' });
    expect(await searched.ids(match('dog'), { filter: 'id > 4' })).toEqual([7, 10, 11, 14, 17]);
    expect(await searched.ids(match('dog'), { filter: 'id = 11', k: 1 })).toEqual([11]);
    expect(await searched.ids(match('dog'), { filter: 'id = 11', k: 1, prefilter: false })).toEqual(
      [],
    );
    const scored = { filter: '_score > 0.5', prefilter: false };
    const best = (await searched.search(match('dog'))).filter(([, score]) => score > 0.5);
    expect(await searched.search(match('dog'), scored)).toEqual(best);
    expect(await searched.ids(match('dog'), { filter: 'id > 100' })).toEqual([]);
    expect(await searched.ids(match('dog'), { filter: 'id >= 0' })).toEqual([
      0, 4, 7, 10, 11, 14, 17,
    ]);
  });

  it('is not asked for more words than a question has', async () => {
    await searched.table.create(rows(0));
    await searched.index('text', { with_position: true });
    const words = (count: number) => Array.from({ length: count }, (_, at) => `w${at}`).join(' ');
    expect(await searched.ids(match(`${words(1023)} dog`))).toEqual([0, 1, 4, 7]);
    const tooMany = 'a full-text search may look for at most';
    expect(await refused(searched.ids(match(words(1025))))).toBe(
      `13 ${tooMany} 1024 different words at once`,
    );
    expect(await refused(searched.ids(match(words(1025), 'text', { fuzziness: 1 })))).toBe(
      `13 ${tooMany} 1024 different words at once`,
    );
    const near = (count: number) => match(words(count), 'text', { fuzziness: 8 });
    expect(await searched.ids(near(64))).not.toEqual([]);
    expect(await refused(searched.ids(near(65)))).toBe(
      '13 the words of a full-text search may be at most 512 edits away together, not 520',
    );
    const should = Array(17).fill(match(words(1000)).query);
    const many = { boolean: { must: [], should, must_not: [] } };
    expect(await refused(searched.ids({ query: many }))).toBe(`13 ${tooMany} 16384 words at once`);
    expect(await refused(searched.ids(phrase('dog '.repeat(1025))))).toBe(
      `13 ${tooMany} 1024 words at once`,
    );
    const lengths = { min_ngram_length: 1, max_ngram_length: 255, max_token_length: 900 };
    await searched.index('text', { name: 'grams', base_tokenizer: 'ngram', ...lengths });
    expect(await refused(searched.ids(match('a'.repeat(400))))).toBe(
      `13 ${tooMany} 16384 words at once`,
    );
  });

  it('is told of in plans', async () => {
    await searched.table.create(rows(0));
    await searched.index('text');
    await searched.table.send('insert', { body: streamOf(rows(10)) });
    const query = { full_text_query: match('dog'), k: 3, vector: [], filter: 'id > 2' };
    const plan = await searched.table.post('explain_plan', { query, verbose: true });
    expect(plan).toContain('Full text: any of "dog" in text, keeps 3');
    expect(plan).toMatch(
      /text_idx: FTS on text, covers \d+ of 16 rows, \d+ are read for the search/,
    );
    expect(await searched.table.post('analyze_plan', query)).toMatch(
      /Full text: .* \[16 rows in, 3 rows out/,
    );
  });

  it('that is damaged is not used, and verification says so', async () => {
    await searched.table.create(rows(0));
    await searched.index('text');
    const whole = await SearchedTable.open(true);
    await whole.table.create(rows(0));
    await whole.index('text');
    const [file] = await indexFiles();
    const bytes = await readFile(file!);
    const at = bytes.lastIndexOf(Buffer.from(Uint32Array.of(0, 1, 4, 7).buffer));
    bytes[at]! ^= 1;
    await writeFile(file!, bytes);
    const query = match('dog sea');
    expect(await searched.search(query)).toEqual(await whole.search(query));
    await whole.table.close();
    const { findings } = await searched.table.engine.upkeep!.verifier.verify();
    expect(findings.map(({ fault }) => fault)).toEqual([
      expect.stringMatching(/^cannot be read: portion 0 .* does not match the seal of the file$/),
    ]);
  });
});
