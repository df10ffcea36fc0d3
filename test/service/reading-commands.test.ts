import { lstat, mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Command } from 'commander';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { commandGroups } from '../../src/cli/command-groups.ts';
import { run } from '../cli/captured.ts';
import { testFolders } from '../support/folder.ts';
import { ADMIN_KEY, Service } from '../support/service.ts';
import { send } from './http.ts';
import { goodRows } from './table-bodies.ts';

/* Every command of the program, and what it may do to a data folder. */

/** Word in the place of a folder that is made. */
const NEW_FOLDER = 'a new folder';

/** Commands that only read a data folder, with the words that they need. */
const reading: Readonly<Record<string, readonly string[]>> = {
  'audit verify': [],
  'audit search': [],
  'audit report': ['--by', 'subject'],
  'audit show': ['none'],
  'audit evidence': [NEW_FOLDER, '--policies', 'policies'],
  'audit unused': ['--policies', 'policies'],
  'keys list': [],
  'policy replay': ['--policies', 'policies'],
  'policy unused': ['--policies', 'policies'],
  'policy log': ['--policies', 'policies'],
  'policy explain': ['--decision-id', 'none'],
  'catalog verify': ['--deep'],
  'catalog dropped': [],
  'catalog gc': ['--dry-run'],
  'catalog rebuild': ['--dry-run'],
  'catalog upgrade': ['--dry-run'],
  'commits check': ['--policies', 'policies'],
};

/** Commands that need no data folder; some read one that is there. */
const without = [
  'check',
  'policy check',
  'policy who',
  'policy diff',
  'config check',
  'config keys',
  'completion',
];

/** Commands that change something. */
const changing = [
  'serve',
  'init',
  'keys create',
  'keys revoke',
  'keys rotate',
  'keys thaw',
  'keys move',
  'audit rotate-key',
  'policy seal',
  'catalog adopt',
  'catalog compact',
  'catalog convert',
  'catalog undrop',
  'catalog backup',
];

const names = Object.keys(reading);
const newFolder = testFolders();

async function commands(): Promise<readonly string[]> {
  const program = new Command();
  const output = {
    line: () => undefined,
    note: () => undefined,
    bytes: async () => true,
    watched: false,
  };
  for (const { load } of commandGroups) (await load())(program, { output, code: 0 });
  return program.commands.flatMap((one) =>
    one.commands.length === 0
      ? [one.name()]
      : one.commands.map((inner) => `${one.name()} ${inner.name()}`),
  );
}

async function runOn(data: string, name: string) {
  const made = join(await newFolder(), 'made');
  const words = reading[name]!.map((word) => (word === NEW_FOLDER ? made : word));
  return run(...name.split(' '), ...words, '--data', data);
}

/** Everything below a folder: kind, size, bytes and time of the last change. */
async function picture(folder: string): Promise<Readonly<Record<string, string>>> {
  const entries = await readdir(folder, { recursive: true }).catch((): string[] => []);
  const lines = await Promise.all(
    ['.', ...entries].map(async (name): Promise<[string, string]> => {
      const path = join(folder, name);
      const stats = await lstat(path, { bigint: true }).catch(() => undefined);
      if (stats === undefined) return [name, 'absent'];
      // LMDB registers readers in its lock file, so that no page that they read is used again.
      const isLock = name.endsWith('lock.mdb');
      return [name, isLock ? 'lock' : `${stats.mode} ${stats.size} ${stats.mtimeNs} ${stats.ino}`];
    }),
  );
  return Object.fromEntries(lines);
}

it('names every command that reads, and no other', async () => {
  expect([...names, ...without, ...changing].toSorted()).toEqual((await commands()).toSorted());
});

describe.each(names)('arrowgate %s', (name) => {
  it('refuses a folder that does not exist, and does not make it', async () => {
    const data = join(await newFolder(), 'typo');
    const { code, lines, notes } = await runOn(data, name);
    expect([code, lines]).toEqual([2, []]);
    expect(notes.join('\n')).toContain(data);
    expect(notes.join('\n')).toMatch(/is not a data folder: it does not exist|no catalog in/);
    await expect(stat(data)).rejects.toThrow('ENOENT');
  });

  it('refuses an empty folder, and leaves it empty', async () => {
    const data = await newFolder();
    const { code, notes } = await runOn(data, name);
    expect([code, notes.length]).toEqual([2, 1]);
    expect(notes[0]).toMatch(/is not a data folder: it has no file FORMAT; |no catalog in/);
    expect(await readdir(data)).toEqual([]);
  });

  it("refuses somebody else's folder, and leaves it as it is", async () => {
    const data = await newFolder();
    await mkdir(join(data, 'catalog'));
    await mkdir(join(data, 'private'));
    await writeFile(join(data, 'FORMAT'), 'of a book\n');
    const before = await picture(data);
    const { code, notes } = await runOn(data, name);
    expect([code, notes.length]).toEqual([2, 1]);
    expect(notes[0]).toContain(`${join(data, 'FORMAT')} holds no format version`);
    expect(await picture(data)).toEqual(before);
  });
});

describe('a data folder whose gateway was killed', () => {
  let service: Service;

  beforeAll(async () => {
    service = await Service.start();
    const create = { body: goodRows, key: ADMIN_KEY };
    await send(service.url, 'POST /v1/table/t/create', create);
    await send(service.url, 'POST /v1/table/u/create', create);
    await send(service.url, 'POST /v1/table/u/drop', { body: {} });
    await service.end('SIGKILL');
  });

  afterAll(() => service.stop());

  it.each(names)('is read by %s, and stays as it is', async (name) => {
    const before = await picture(service.data);
    const { code, notes } = await runOn(service.data, name);
    const asked = name === 'policy explain' ? 2 : name === 'audit show' ? 1 : [0, 1];
    if (Array.isArray(asked)) expect([asked.includes(code), notes]).toEqual([true, []]);
    else expect(code).toBe(asked);
    expect(await picture(service.data)).toEqual(before);
    expect(await readFile(join(service.data, 'FORMAT'), 'utf8')).toBe('2\n');
  });
});

it.each(['revoke', 'rotate', 'thaw'])(
  'keys %s makes no data folder where there is none',
  async (word) => {
    const data = join(await newFolder(), 'typo');
    const { code, notes } = await run('keys', word, 'abcdefgh', '--data', data);
    expect([code, notes.length]).toEqual([2, 1]);
    expect(notes[0]).toContain(`${data} is not a data folder: it does not exist`);
    await expect(stat(data)).rejects.toThrow('ENOENT');
  },
);
