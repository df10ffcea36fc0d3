import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { checkArchitecture } from '../scripts/architecture-rules.ts';

let root = '';

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'architecture-'));
});

afterAll(async () => rm(root, { recursive: true, force: true }));

describe('the architecture', () => {
  it('has every module that a benchmark loads from the build', () => {
    const named = readdirSync('bench', { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.ts'))
      .flatMap((name) =>
        [
          ...readFileSync(`bench/${name}`, 'utf8').matchAll(/\bbuilt<[^>]+>\(\s*'([^']+)\.js'/g),
        ].map(([, file]) => `src/${file}.ts`),
      );
    expect(named.length).toBeGreaterThan(10);
    expect(named.filter((path) => !existsSync(path))).toEqual([]);
  });

  it('is kept by the project', () => {
    expect(checkArchitecture(new URL('..', import.meta.url).pathname)).toEqual([]);
  });

  const breaches: readonly (readonly [string, Readonly<Record<string, string>>, string])[] = [
    [
      'a leaf that imports a leaf',
      { 'arrow/a.ts': "import { b } from '../sql/b.ts';\n", 'sql/b.ts': '' },
      'src/arrow/a.ts: arrow may not import sql',
    ],
    [
      'an engine that knows the gateway, be it only a type',
      { 'engine/a.ts': "import type { B } from '../gateway/b.ts';\n", 'gateway/b.ts': '' },
      'src/engine/a.ts: engine may not import gateway',
    ],
    [
      'a driver outside its file',
      { 'engine/a.ts': "import { open } from 'lmdb';\n" },
      'src/engine/a.ts: may not import lmdb',
    ],
    [
      'the file system in a leaf',
      { 'arrow/a.ts': "import { open } from 'node:fs/promises';\n" },
      'src/arrow/a.ts: may not import node:fs/promises',
    ],
    [
      'a file system in the engine, which has its storage',
      { 'engine/a.ts': "import { statSync } from 'node:fs';\n" },
      'src/engine/a.ts: may not import node:fs',
    ],
    [
      'the environment outside the configuration',
      { 'cli/a.ts': 'export const home = process.env.HOME;\n' },
      'src/cli/a.ts: process.env is read in src/cli/config*.ts only',
    ],
    [
      'a barrel',
      { 'sql/index.ts': '' },
      'src/sql/index.ts: no barrels; import the file that defines the thing',
    ],
    [
      'a default export',
      { 'sql/a.ts': 'export default 1;\n' },
      'src/sql/a.ts: exports are named, one by one',
    ],
    [
      'a re-export',
      { 'sql/a.ts': "export type { B } from './b.ts';\n", 'sql/b.ts': 'export interface B {}\n' },
      'src/sql/a.ts: no exports in braces; export a thing where it is defined',
    ],
    [
      'two exports of one name',
      {
        'sql/a.ts': 'export const columns = [];\n',
        'arrow/b.ts': 'export async function* columns() {}\n',
      },
      '"columns" is exported twice: src/arrow/b.ts, src/sql/a.ts',
    ],
    [
      'two types of one name',
      {
        'sql/a.ts': 'export interface Column {}\nexport type Row = 1;\n',
        'sql/b.ts': 'export abstract class Column {}\ninterface Row {}\n',
      },
      '"Column" is exported twice: src/sql/a.ts, src/sql/b.ts',
    ],
    [
      'a file that is too long',
      { 'sql/a.ts': '\n'.repeat(601) },
      'src/sql/a.ts: has 601 lines, more than 600',
    ],
    [
      'a folder that nobody drew',
      { 'misc/a.ts': '' },
      'src/misc/a.ts: "misc" is not a folder of the architecture',
    ],
    [
      'a cycle, be it only of types',
      {
        'sql/a.ts': "import type { B } from './b.ts';\n",
        'sql/b.ts': "import { a } from './a.ts';\n",
      },
      'import cycle: src/sql/a.ts, src/sql/b.ts',
    ],
  ];

  it.each(breaches)('refuses %s', async (name, files, finding) => {
    const project = join(root, name);
    for (const [file, text] of Object.entries(files)) {
      const path = join(project, 'src', file);
      await mkdir(dirname(path), { recursive: true });
      await writeFile(path, text);
    }
    expect(checkArchitecture(project)).toEqual([finding]);
  });
});
