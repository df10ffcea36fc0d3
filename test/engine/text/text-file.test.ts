import { disk } from '../../support/disk.ts';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { ColumnCache } from '../../../src/engine/format/memory/column-cache.ts';
import { MemoryBudget } from '../../../src/engine/format/memory/memory-budget.ts';
import { OpenFiles } from '../../../src/engine/format/memory/open-files.ts';
import { TextFileWriter } from '../../../src/engine/index/text/text-file-writer.ts';
import type { StoredFile } from '../../../src/arrow/sealed/file-seal.ts';
import { storedIn } from '../../../src/engine/format/snapshot.ts';
import { defaultTextOptions } from '../../../src/engine/tokens/text-options.ts';
import { TextReader } from '../../../src/engine/index/text/text-reader.ts';
import { TokenTable } from '../../../src/engine/index/text/token-table.ts';
import { Tokenizer } from '../../../src/engine/tokens/tokenizer.ts';

let folder: string;
let files: OpenFiles;
let reader: TextReader;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'texts-'));
  files = new OpenFiles(disk);
  reader = new TextReader(files, new ColumnCache(new MemoryBudget(2 ** 20)));
});

afterEach(async () => {
  await files.close();
  await rm(folder, { recursive: true });
});

/** Writes texts as parts of a file, and answers the file. */
async function written(
  ...parts: readonly (readonly (readonly string[] | null)[])[]
): Promise<StoredFile> {
  const uuid = '11111111-2222-3333-4444-555555555555';
  const writer = await TextFileWriter.create({ storage: disk, folder }, uuid);
  const tokenizer = new Tokenizer({ ...defaultTextOptions, stem: false });
  let first = 0;
  for (const texts of parts) {
    const table = new TokenTable(tokenizer, true, first);
    for (const text of texts) table.add(text);
    for await (const page of writer.part(table)) expect(page).toBe(0);
    first += texts.length;
  }
  const index = { name: 'i', uuid, type: 'FTS', field: 0, createdMillis: 0 } as const;
  return storedIn(folder, await writer.finish(index));
}

const one = [['red dog'], ['dog and dog', 'cat'], null, []];
const many = Array.from({ length: 9000 }, (_, at) => [`word${at} dog ${'long '.repeat(at % 300)}`]);

it('gives back what was written, of one part or of several', async () => {
  const file = await written(one, many, [['cat']]);
  const { texts, tokens, lengths } = await reader.lengths(file);
  expect([texts, lengths.length, [...lengths.subarray(0, 5)]]).toEqual([
    9004,
    9005,
    [2, 3, 0, 0, 2],
  ]);
  expect(tokens).toBe(Array.from(lengths).reduce((sum, length) => sum + length, 0));
  const dogs = (await reader.postings(file, 'dog'))!;
  expect([...dogs.rows.subarray(0, 4)]).toEqual([0, 1, 4, 5]);
  expect([...dogs.counts.subarray(0, 4)]).toEqual([1, 2, 1, 1]);
  expect([...dogs.positions!.subarray(0, 4)]).toEqual([1, 0, 2, 1]);
  expect([dogs.rows.length, dogs.mostCount, dogs.leastLength]).toEqual([9002, 2, 2]);
  const cats = (await reader.postings(file, 'cat'))!;
  expect([[...cats.rows], [...cats.positions!]]).toEqual([
    [1, 9004],
    [1002, 0],
  ]);
  expect([...(await reader.postings(file, 'long'))!.counts.subarray(0, 3)]).toEqual([1, 2, 3]);
  for (const at of [0, 1, 4095, 4096, 8999]) {
    expect((await reader.postings(file, `word${at}`))?.rows).toEqual(Uint32Array.of(at + 4));
  }
  for (const token of ['', 'a', 'word', 'word9000', 'zebra', '\u{10ffff}']) {
    expect(await reader.postings(file, token)).toBeUndefined();
  }
  await reader.check(file);
});

it('visits tokens in order from one on', async () => {
  const file = await written(one, many);
  const visited: string[] = [];
  const turn = async () => undefined;
  const visit = (token: string) => {
    visited.push(token);
    return token.startsWith('word899') ? token : null;
  };
  await reader.visitTokens(file, 'word899', { visit, turn });
  const numbers = Array.from({ length: 10 }, (_, at) => `word899${at}`);
  expect(visited).toEqual(['word899', ...numbers, 'word9']);
});

it('passes over tokens that are not wanted, within a page and over pages, and gives others their turn', async () => {
  const file = await written(one, many);
  const visited: string[] = [];
  let turns = 0;
  const turn = async () => {
    turns++;
  };
  const next = ['cat', 'long', 'long\uffff', 'word5', 'word8999\uffff'];
  const visit = (token: string) => {
    visited.push(token);
    return next[visited.length - 1] ?? null;
  };
  await reader.visitTokens(file, '', { visit, turn });
  // Of each part in turn: the second one continues where the first has ended.
  expect(visited).toEqual(['cat', 'dog', 'red', 'dog', 'word5', 'word9']);
  expect(turns).toBeGreaterThan(1);
});

it('has pages of a bounded size, however long tokens are', async () => {
  const long = Array.from({ length: 5000 }, (_, at) => [`${at}${'x'.repeat(2000)}`]);
  const uuid = '11111111-2222-3333-4444-555555555555';
  const writer = await TextFileWriter.create({ storage: disk, folder }, uuid);
  const options = { ...defaultTextOptions, stem: false, max_token_length: null };
  const table = new TokenTable(new Tokenizer(options), false, 0);
  for (const text of long) table.add(text);
  for await (const page of writer.part(table)) expect(page).toBe(0);
  const index = { name: 'i', uuid, type: 'FTS', field: 0, createdMillis: 0 } as const;
  const file = storedIn(folder, await writer.finish(index));
  const pages = await files.use(file, async (opened) => opened.file.batchRows);
  // The first has the lengths of texts, the last the ends of the others.
  const tokens = pages.slice(1, -1);
  expect(tokens.reduce((sum, count) => sum + count, 0)).toBe(5000);
  expect(Math.max(...tokens)).toBeLessThan(1100);
  expect((await reader.postings(file, long[4321]![0]!))?.rows).toEqual(Uint32Array.of(4321));
});
