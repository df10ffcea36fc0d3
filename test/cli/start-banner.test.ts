import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { printBanner } from '../../src/cli/start-banner.ts';
import { parseConfig } from '../../src/cli/config/config.ts';
import { testFolders } from '../support/folder.ts';
import { run } from './captured.ts';

const newFolder = testFolders();

/** What a gateway of a new folder prints. @param width Of the terminal; undefined for none */
async function banner(width: number | undefined, folder: string): Promise<readonly string[]> {
  const lines: string[] = [];
  const config = parseConfig(
    'the configuration',
    `{ data: ${join(folder, 'data')}, policies: ${join(folder, 'policies')} }`,
  );
  await printBanner('http://127.0.0.1:2333', config, {
    line: (text) => void lines.push(text),
    note: () => undefined,
    bytes: async () => true,
    watched: true,
    ...(width === undefined ? {} : { width }),
  });
  return lines;
}

it('tells a terminal the address, the policy with its counts, and where the first key is', async () => {
  const folder = join(await newFolder(), 'demo');
  expect((await run('init', folder)).code).toBe(0);
  const before = await banner(80, folder);
  expect(before.slice(1, 3)).toEqual([
    '  address    http://127.0.0.1:2333',
    '  console    http://127.0.0.1:2333/console/',
  ]);
  expect(before[3]).toMatch(
    /^ {2}policies {3}\/.*\/policies: [1-9]\d* lines, \d+ memberships, \d+ cases$/,
  );
  expect(before[4]).toMatch(/^ {2}data {7}\/.*\/data: 0 keys$/);
  expect(before.length).toBe(5);

  const key = join(folder, 'data', 'private', 'initial-admin-key');
  await mkdir(join(folder, 'data', 'private'), { recursive: true });
  await writeFile(key, 'agk_');
  expect((await banner(80, folder)).at(-1)).toBe(`  first key  ${key}`);
});

it('prints nothing where no terminal is', async () => {
  expect(await banner(undefined, await newFolder())).toEqual([]);
});
