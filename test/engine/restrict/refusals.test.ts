import { readdir, readFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { restrictionReasons } from '../../../src/protocol/restriction-reasons.ts';

/** What differs stands as NAME and N in the documents. */
const differing: Readonly<Record<string, readonly (string | number)[]>> = {
  lanceRows: ['N', 50_000],
};

const reasons = Object.entries(restrictionReasons).map(([name, make]) => {
  const values = differing[name] ?? ['NAME'];
  return [name, String(Reflect.apply(make, undefined, values))] as const;
});

async function documented(): Promise<readonly string[]> {
  const guide = await readFile(
    new URL('../../../docs/guide/restrictions.md', import.meta.url),
    'utf8',
  );
  const section = guide.split('\n## ').find((part) => part.startsWith('Refusals\n'));
  const rows = section?.split('\n').filter((line) => line.startsWith('| ')) ?? [];
  return rows.slice(2).map((line) => line.split('|')[2]!.trim());
}

/** Tests that provoke refusals, with status, code and sentence. */
async function provoked(): Promise<string> {
  const folders = ['./', '../handlers/rows/', '../../service/', '../../gateway/'];
  const texts = await Promise.all(
    folders.map(async (folder) => {
      const url = new URL(folder, import.meta.url);
      const names = (await readdir(url)).filter(
        (name) => name.endsWith('.test.ts') && name !== 'refusals.test.ts',
      );
      return Promise.all(names.map((name) => readFile(new URL(name, url), 'utf8')));
    }),
  );
  return texts.flat(2).join('\n');
}

describe('the reasons of refusals under restrictions', () => {
  it('are those of the documents', async () => {
    const sentences = reasons.map(([, sentence]) => sentence);
    expect([...(await documented())].toSorted()).toEqual(sentences.toSorted());
  });

  it.each(reasons)('are provoked by a test: %s', async (_, sentence) => {
    const parts = sentence.split(/NAME|\bN\b|50000/).map((part) => part.trim());
    const longest = parts.toSorted((left, right) => right.length - left.length)[0]!;
    // A part of it suffices: tests name the column or the rule.
    expect(await provoked()).toContain(longest.slice(0, 40));
  });
});
