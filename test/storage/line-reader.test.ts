import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { readLines } from '../../src/storage/line-reader.ts';
import { testFolders } from '../support/folder.ts';

const newFolder = testFolders();

async function linesOf(text: string | Buffer): Promise<readonly [number, string, boolean][]> {
  const path = join(await newFolder(), 'lines');
  await writeFile(path, text);
  const lines: [number, string, boolean][] = [];
  for await (const line of readLines(path))
    lines.push([line.number, line.bytes.toString(), line.ended]);
  return lines;
}

it('gives each line without its newline, numbered, and says whether it ended', async () => {
  expect(await linesOf('')).toEqual([]);
  expect(await linesOf('\n')).toEqual([[1, '', true]]);
  expect(await linesOf('a\n\nb')).toEqual([
    [1, 'a', true],
    [2, '', true],
    [3, 'b', false],
  ]);
});

it('gives lines of any length, wherever the pieces of the file end', async () => {
  const length = fc.constantFrom(0, 1, 2 ** 18 - 1, 2 ** 18, 2 ** 18 + 1, 600_000);
  await fc.assert(
    fc.asyncProperty(fc.array(length, { maxLength: 5 }), async (lengths) => {
      const texts = lengths.map((size, index) => String(index).repeat(size));
      const lines = await linesOf(texts.map((text) => `${text}\n`).join(''));
      expect(lines).toEqual(texts.map((text, index) => [index + 1, text, true]));
    }),
    { numRuns: 20 },
  );
});
