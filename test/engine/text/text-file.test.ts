import { disk } from '../../support/disk.ts';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { crc32 } from '@node-rs/crc32';
import * as fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ColumnCache } from '../../../src/engine/format/memory/column-cache.ts';
import { MemoryBudget } from '../../../src/engine/format/memory/memory-budget.ts';
import { OpenFiles } from '../../../src/engine/format/memory/open-files.ts';
import { TextFileWriter } from '../../../src/engine/index/text/text-file-writer.ts';
import type { StoredFile } from '../../../src/arrow/sealed/file-seal.ts';
import { storedIn } from '../../../src/engine/format/snapshot.ts';
import { defaultTextOptions } from '../../../src/engine/tokens/text-options.ts';
import {
  POSTINGS_OF_BLOCK,
  decodePostings,
  isIntact,
} from '../../../src/engine/index/text/postings.ts';
import { TextReader } from '../../../src/engine/index/text/text-reader.ts';
import { TokenTable } from '../../../src/engine/index/text/token-table.ts';
import { Tokenizer } from '../../../src/engine/tokens/tokenizer.ts';
import { encodedPostings } from './encoded-postings.ts';

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
  const [dogs, more] = await reader.postings(file, 'dog');
  expect([[...dogs!.rows], [...dogs!.counts], [...dogs!.positions!]]).toEqual([
    [0, 1],
    [1, 2],
    [1, 0, 2],
  ]);
  expect([dogs!.mostCount, dogs!.leastLength, dogs!.blocks]).toEqual([2, 2, null]);
  expect([...more!.rows]).toEqual(many.map((_, at) => at + 4));
  expect(more!.blocks!.mostCounts.length).toBe(Math.ceil(9000 / POSTINGS_OF_BLOCK));
  const cats = await reader.postings(file, 'cat');
  expect(cats.map(({ rows, positions }) => [[...rows], [...positions!]])).toEqual([
    [[1], [1002]],
    [[9004], [0]],
  ]);
  const [long] = await reader.postings(file, 'long');
  expect([...long!.counts.subarray(0, 3)]).toEqual([1, 2, 3]);
  // The rows of the first block have 1 to 128 of them, and two other words.
  const { mostCounts, mostLengths, otherLengths } = long!.blocks!;
  expect([mostCounts[0], mostLengths[0], otherLengths[0]]).toEqual([128, 130, 3]);
  for (const at of [0, 1, 4095, 4096, 8999]) {
    const found = await reader.postings(file, `word${at}`);
    expect(found.map(({ rows }) => rows)).toEqual([Uint32Array.of(at + 4)]);
  }
  for (const token of ['', 'a', 'word', 'word9000', 'zebra', '\u{10ffff}']) {
    expect(await reader.postings(file, token)).toEqual([]);
  }
  await reader.check(file);
});

it('gives back tokens of any letters, and postings of more bytes than a page', async () => {
  const dogs = Array.from({ length: 80_000 }, (_, at) => [
    at % 2 === 0 ? '犬 dog' : '\u{20000} dog ox',
  ]);
  const file = await written(dogs, [['ox 犬']]);
  const rowsOf = async (token: string) =>
    (await reader.postings(file, token)).map(({ rows }) => rows.length);
  expect(await rowsOf('dog')).toEqual([80_000]);
  expect(await rowsOf('犬')).toEqual([40_000, 1]);
  expect(await rowsOf('ox')).toEqual([40_000, 1]);
  expect(await rowsOf('\u{20000}')).toEqual([40_000]);
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
  const [found] = await reader.postings(file, long[4321]![0]!);
  expect(found?.rows).toEqual(Uint32Array.of(4321));
});

/** Some rows of a token with their counts, and the lengths of all rows. */
const somePostings = fc
  .record({
    counts: fc.array(fc.oneof(fc.nat(2), fc.nat(300)), { minLength: 1, maxLength: 700 }),
    first: fc.nat(2 ** 20),
    more: fc.constantFrom(1, 200, 70_000),
  })
  .filter(({ counts }) => counts.some((count) => count > 0));

describe('the bytes of postings', () => {
  it('are decoded to what they were made of', () => {
    fc.assert(
      fc.property(somePostings, fc.boolean(), ({ counts, first, more }, withPositions) => {
        const lengths = Uint32Array.from(counts, (count, at) => count + ((at * 7) % more));
        const all = counts.flatMap((count, at) => Array<number>(count).fill(first + at));
        const places = withPositions ? all.map((_, at) => (at * 31) % more) : null;
        const found = decodePostings(encodedPostings(all, places, lengths, first));
        const kept = [...counts.keys()].filter((at) => counts[at]! > 0);
        expect([...found.rows]).toEqual(kept.map((at) => first + at));
        expect([...found.counts]).toEqual(kept.map((at) => counts[at]));
        expect(found.positions && [...found.positions]).toEqual(places);
        expect(found.mostCount).toBe(Math.max(...counts));
        expect(found.leastLength).toBe(Math.min(...kept.map((at) => lengths[at]!)));
        const blocks = kept.length <= POSTINGS_OF_BLOCK ? [] : blocksOf(kept);
        const { mostCounts = [], mostLengths = [], otherLengths = [] } = found.blocks ?? {};
        const extremes = blocks.map((rows) => extremesOf(rows, counts, lengths));
        expect(
          Array.from(mostCounts, (most, at) => [most, mostLengths[at], otherLengths[at]]),
        ).toEqual(extremes);
      }),
    );
  });

  it('fail their checksum whichever bit of them changes', () => {
    const bytes = encodedPostings([1, 1, 3], [0, 2, 1], Uint32Array.of(0, 3, 1, 2));
    expect(isIntact(bytes)).toBe(true);
    for (let at = 0; at < bytes.length; at++) {
      bytes[at]! ^= 1 << (at % 8);
      expect(isIntact(bytes)).toBe(false);
      bytes[at]! ^= 1 << (at % 8);
    }
  });

  it('of an earlier version have no blocks', () => {
    const rows = Uint32Array.from({ length: 1000 }, (_, at) => 3 * at);
    const counts = rows.map((row) => 1 + (row % 2));
    // Rows, positions, most occurrences, the shortest row; then the widths of counts and positions.
    const header = Buffer.from(Uint32Array.of(1000, 0, 2, 3, 0x00_01).buffer);
    const body = Buffer.concat([header, Buffer.from(rows.buffer), Buffer.from(counts)]);
    const old = Buffer.concat([Buffer.from(Uint32Array.of(crc32(body)).buffer), body]);
    expect(isIntact(old)).toBe(true);
    expect(decodePostings(old)).toEqual({
      rows,
      counts: Uint8Array.from(counts),
      positions: null,
      mostCount: 2,
      leastLength: 3,
      blocks: null,
    });
  });
});

function blocksOf(rows: readonly number[]): readonly (readonly number[])[] {
  const count = Math.ceil(rows.length / POSTINGS_OF_BLOCK);
  return Array.from({ length: count }, (_, at) =>
    rows.slice(at * POSTINGS_OF_BLOCK, (at + 1) * POSTINGS_OF_BLOCK),
  );
}

/** The most occurrences, the shortest row with them, and the shortest one with fewer. */
function extremesOf(rows: readonly number[], counts: readonly number[], lengths: Uint32Array) {
  const most = Math.max(...rows.map((row) => counts[row]!));
  const least = (some: readonly number[]) => Math.min(...some.map((row) => lengths[row]!));
  const length = least(rows.filter((row) => counts[row] === most));
  const others = rows.filter((row) => counts[row] !== most);
  return [most, length, others.length === 0 ? length : least(others)];
}
