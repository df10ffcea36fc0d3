import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFile, mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { afterEach, expect, it } from 'vitest';
import { run } from '../cli/captured.ts';
import { testFolders } from '../support/folder.ts';

/* A folder that `arrowgate init` made, used as its answer says. */

const MAIN = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url));
const newFolder = testFolders();
const ends: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  for (const end of ends.splice(0)) await end();
});

async function printed(
  cwd: string,
  words: readonly string[],
  variables: Readonly<Record<string, string>> = {},
) {
  const child = spawn(process.execPath, words, {
    cwd,
    env: { ...process.env, ...variables },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let out = '';
  child.stdout.on('data', (piece: Buffer) => (out += piece.toString()));
  const [code] = await once(child, 'close');
  return { code: Number(code), out };
}

async function served(cwd: string): Promise<string> {
  const child = spawn(process.execPath, [MAIN, 'serve', '--port', '0'], {
    cwd,
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  ends.push(async () => {
    if (child.exitCode !== null) return;
    child.kill('SIGTERM');
    await once(child, 'exit');
  });
  for await (const line of createInterface({ input: child.stdout })) {
    return String(JSON.parse(line).url);
  }
  throw new Error('the service did not start');
}

it('makes a folder that serves at once, and whose example shows a denial', async () => {
  const parent = await newFolder();
  const { code, out } = await printed(parent, [MAIN, 'init', 'demo']);
  expect([code, out.match(/^ {2}\S/gm)?.length]).toEqual([0, 3]);
  expect(out).toContain(
    'open http://127.0.0.1:2333/console/ and sign in with the key in demo/data/private/initial-admin-key\n',
  );
  const folder = join(parent, 'demo');
  const checked = await printed(folder, [MAIN, 'policy', 'check']);
  expect(checked.out).toContain('the policy can be used; 9 cases come out as expected');
  const url = await served(folder);
  const key = (await printed(folder, [MAIN, 'keys', 'create', '--subject', 'alice'])).out.trim();
  const variables = { ARROWGATE_URL: url, ARROWGATE_KEY: key };
  // The second run finds the tables there.
  for (let round = 0; round < 2; round++) {
    const example = await printed(folder, ['example.mjs'], variables);
    expect(example.out.split('\n')).toEqual([
      '/sales/orders: loaded',
      '/people/salaries: loaded',
      'your key, /sales/orders: 4 rows',
      expect.stringMatching(/^your key, \/people\/salaries: 403 /),
      '',
    ]);
  }
  const search = [MAIN, 'audit', 'search', '--decision', 'deny', '--no-header'];
  const found = await printed(folder, search);
  expect(found.out.split('\n')).toHaveLength(3);
  expect(found.out).toContain('user:alice');
});

it('is served from the folder above it, where nothing else can be meant', async () => {
  const parent = await newFolder();
  expect((await printed(parent, [MAIN, 'init', 'demo'])).code).toBe(0);
  const url = await served(parent);
  expect((await fetch(`${url}/healthz`)).status).toBe(200);
  expect(await readdir(parent)).toEqual(['demo']);
  expect(await readdir(join(parent, 'demo', 'data', 'private'))).toContain('initial-admin-key');
});

it.each([
  ['a second one', (parent: string) => run('init', join(parent, 'other'))],
  [
    'a configuration that was changed',
    (parent: string) => appendFile(join(parent, 'demo', 'arrowgate.yaml'), '\n'),
  ],
  ['a folder of policies', (parent: string) => mkdir(join(parent, 'policies'))],
  ['data', (parent: string) => mkdir(join(parent, 'data'))],
])('is not served from above it beside %s', async (_, change) => {
  const parent = await newFolder();
  await printed(parent, [MAIN, 'init', 'demo']);
  await change(parent);
  const words = [MAIN, 'serve', '--port', '0', '--log-level', 'error'];
  expect((await printed(parent, words)).code).toBe(2);
  expect(await readdir(join(parent, 'demo'))).not.toContain('data');
});

it.each([
  ['a folder with a file', 'is not empty: name a folder that does not exist yet', ''],
  ['a file', 'is a file: name a folder', 'a.txt'],
])('refuses %s, and leaves it as it is', async (_, sentence, name) => {
  const folder = await newFolder();
  await writeFile(join(folder, 'a.txt'), 'mine');
  const { code, lines, notes } = await run('init', join(folder, name));
  expect([code, lines]).toEqual([2, []]);
  expect(notes).toEqual([`arrowgate: ${join(folder, name).replace(/\/$/, '')} ${sentence}`]);
  expect([await readdir(folder), await readFile(join(folder, 'a.txt'), 'utf8')]).toEqual([
    ['a.txt'],
    'mine',
  ]);
});

it('fills an empty folder, and says what it made as JSON', async () => {
  const folder = await newFolder();
  const { code, lines } = await run('init', folder, '--json');
  const made = JSON.parse(lines[0]!) as { readonly files: readonly string[] };
  expect([code, made.files]).toEqual([
    0,
    [
      'arrowgate.yaml',
      'example.mjs',
      'orders.arrows',
      'policies/cases.yaml',
      'policies/limits.yaml',
      'policies/model.conf',
      'policies/policy.csv',
      'salaries.arrows',
    ],
  ]);
});
