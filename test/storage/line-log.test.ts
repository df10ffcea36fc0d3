import { execFile, execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { mkdir, readFile, readdir, rename, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, describe, expect, it } from 'vitest';
import { LineLog, type Framing, type LineLogOptions } from '../../src/storage/line-log.ts';
import { countFlushes } from '../support/datasync.ts';
import { testFolders } from '../support/folder.ts';
import { eventually, waitUntil } from '../support/eventually.ts';

const newFolder = testFolders();

/** Puts its number before each line. */
const numbered: Framing = {
  frame: (place, lines) =>
    Buffer.concat(
      lines.map(({ bytes }, index) => Buffer.from(`${place + BigInt(index)}:${bytes.toString()}`)),
    ),
  onDurable: () => undefined,
  dropped: () => undefined,
};

const bare: Framing = {
  ...numbered,
  frame: (_place, lines) => Buffer.from(lines.map(({ bytes }) => bytes.toString()).join('')),
};

function openLog(folder: string, options: Partial<LineLogOptions> = {}): LineLog {
  return new LineLog({
    folder,
    name: (number) => `${number}.log`,
    framing: numbered,
    mode: 0o600,
    rotateBytes: 2 ** 20,
    ...options,
  });
}

function line(text: string): { readonly bytes: Buffer } {
  return { bytes: Buffer.from(`${text}\n`) };
}

async function contents(folder: string): Promise<Record<string, string>> {
  const names = (await readdir(folder)).sort();
  const texts = await Promise.all(names.map((name) => readFile(join(folder, name), 'utf8')));
  return Object.fromEntries(names.map((name, index) => [name, texts[index]!]));
}

describe('a log of lines', () => {
  it('has a durable line in its file when the append resolves', async () => {
    const folder = await newFolder();
    const log = openLog(folder);
    await log.append(line('one'), true);
    expect(await contents(folder)).toEqual({ '1.log': '1:one\n' });
    await log.append(line('two'), true);
    expect(await contents(folder)).toEqual({ '1.log': '1:one\n2:two\n' });
    expect((await stat(join(folder, '1.log'))).mode & 0o777).toBe(0o600);
    await log.close();
  });

  it('writes a line that comes while those that nobody waits for are synced', async () => {
    const folder = await newFolder();
    const late: Promise<void>[] = [];
    const onDurable = (): void => {
      if (late.length === 0) late.push(log.append(line('late'), true));
    };
    const log = openLog(folder, { framing: { ...numbered, onDurable }, syncMillis: 1 });
    await log.append(line('first'), false);
    await waitUntil(() => late.length > 0);
    await Promise.all(late);
    expect(await contents(folder)).toEqual({ '1.log': '1:first\n2:late\n' });
    await log.close();
  });

  it('makes no file before its first line', async () => {
    const folder = await newFolder();
    await openLog(folder).close();
    expect(await readdir(folder)).toEqual([]);
  });

  it('shares one flush among all lines of a turn, and one among those that came meanwhile', async () => {
    const folder = await newFolder();
    const log = openLog(folder);
    await log.append(line('first'), true);
    const flushes = await countFlushes(async () => {
      const early = Array.from({ length: 500 }, (_, index) => log.append(line(`e${index}`), true));
      await Promise.resolve();
      await Promise.resolve();
      const late = Array.from({ length: 500 }, (_, index) => log.append(line(`l${index}`), true));
      await Promise.all([...early, ...late]);
    });
    expect(flushes).toBe(2);
    const text = (await contents(folder))['1.log']!;
    expect(text.split('\n').slice(0, -1)).toEqual([
      '1:first',
      ...Array.from({ length: 500 }, (_, index) => `${index + 2}:e${index}`),
      ...Array.from({ length: 500 }, (_, index) => `${index + 502}:l${index}`),
    ]);
    await log.close();
  });

  it('brings a line that nobody waits for into the file soon, without a flush', async () => {
    const folder = await newFolder();
    const log = openLog(folder);
    const flushes = await countFlushes(async () => {
      await log.append(line('one'), false);
      await log.append(line('two'), false);
      expect(await readdir(folder)).toEqual([]);
      await eventually(async () =>
        expect(await contents(folder)).toEqual({ '1.log': '1:one\n2:two\n' }),
      );
    });
    expect(flushes).toBe(0);
    await log.close();
  });

  it('takes the lines before a durable one along, in order', async () => {
    const folder = await newFolder();
    const log = openLog(folder);
    await log.append(line('one'), false);
    await log.append(line('two'), true);
    expect(await contents(folder)).toEqual({ '1.log': '1:one\n2:two\n' });
    await log.close();
  });

  it('begins a new file when one is full, even within one batch', async () => {
    const folder = await newFolder();
    const log = openLog(folder, { rotateBytes: 12 });
    await Promise.all(['aaaa', 'bbbb', 'cccc', 'dddd'].map((text) => log.append(line(text), true)));
    await log.append(line('eeee'), true);
    expect(await contents(folder)).toEqual({
      '1.log': '1:aaaa\n2:bbbb\n3:cccc\n',
      '2.log': '4:dddd\n5:eeee\n',
    });
    await log.close();
  });

  it('begins a new file when the order of lines would break', async () => {
    const folder = await newFolder();
    const log = openLog(folder, {
      name: (number, first) => `${number}-from-${first}.log`,
      framing: bare,
    });
    const orders = [3n, 5n, 4n, 4n, 9n];
    await Promise.all(orders.map((order) => log.append({ ...line(`${order}`), order }, true)));
    await log.append({ ...line('8'), order: 8n }, true);
    expect(await contents(folder)).toEqual({
      '1-from-3.log': '3\n5\n',
      '2-from-4.log': '4\n',
      '3-from-4.log': '4\n9\n',
      '4-from-8.log': '8\n',
    });
    await log.close();
  });

  it('writes each line once when the time of a sync comes while it is closed', async () => {
    const folder = await newFolder();
    const texts = ['a', 'b', 'c'].map((letter) => letter.repeat(4 * 2 ** 20));
    // The time of the sync has passed when the next piece is written.
    const slow: Framing = {
      ...bare,
      frame: (place, lines) => {
        for (const until = performance.now() + 20; performance.now() < until;);
        return bare.frame(place, lines);
      },
    };
    const log = openLog(folder, { framing: slow, syncMillis: 1, rotateBytes: 2 ** 30 });
    for (const text of texts) void log.append(line(text), false);
    await log.close();
    const { '1.log': text = '' } = await contents(folder);
    const shown = (each: string): string => `${each[0]}, ${each.length} times`;
    expect(text.trimEnd().split('\n').map(shown)).toEqual(texts.map(shown));
  });

  it('writes what is left when it is closed, and takes nothing after', async () => {
    const folder = await newFolder();
    const log = openLog(folder);
    await log.append(line('one'), false);
    await log.close();
    await log.close();
    expect(await contents(folder)).toEqual({ '1.log': '1:one\n' });
    await expect(log.append(line('two'), true)).rejects.toThrow('the log is closed');
  });

  it('takes lines that are larger than its files', async () => {
    const folder = await newFolder();
    const log = openLog(folder, { rotateBytes: 10 });
    const large = 'x'.repeat(5 * 2 ** 20);
    await Promise.all([log.append(line(large), true), log.append(line('small'), true)]);
    expect(await contents(folder)).toEqual({ '1.log': `1:${large}\n`, '2.log': '2:small\n' });
    await log.close();
  });
});

describe('a log whose folder cannot be written', () => {
  it('refuses durable lines and says why, keeps the others, and goes on when it can', async () => {
    const folder = join(await newFolder(), 'log');
    await mkdir(folder);
    const log = openLog(folder, { rotateBytes: 1 });
    await log.append(line('one'), true);
    await rename(folder, `${folder}-away`);
    await log.append(line('kept'), false);
    const missing = `${folder} cannot be written: ENOENT: no such file or directory, open '${folder}/2.log'`;
    await expect(log.append(line('refused'), true)).rejects.toThrow(missing);
    expect(log.fault).toBe(missing);
    await expect(log.append(line('refused too'), true)).rejects.toThrow('cannot be written');
    await log.append(line('kept too'), false);
    await rename(`${folder}-away`, folder);
    await eventually(() => expect(log.fault).toBeUndefined());
    await log.append(line('last'), true);
    expect(Object.values(await contents(folder))).toEqual([
      '1:one\n',
      '2:kept\n',
      '3:kept too\n',
      '4:last\n',
    ]);
    await log.close();
  });

  it('finds out by itself that it can be written again, when no line waits', async () => {
    const folder = join(await newFolder(), 'log');
    const log = openLog(folder);
    await expect(log.append(line('refused'), true)).rejects.toThrow('ENOENT');
    await mkdir(folder);
    await eventually(() => expect(log.fault).toBeUndefined());
    expect(await readdir(folder)).toEqual([]);
    await log.close();
  });

  it('keeps as many lines as there is room for, and counts the lost', async () => {
    const folder = join(await newFolder(), 'log');
    const log = openLog(folder, { framing: bare });
    await expect(log.append(line('refused'), true)).rejects.toThrow('ENOENT');
    for (let index = 0; index < 20; index++) await log.append(line('x'.repeat(2 ** 20)), false);
    expect(log.fault).toContain('no such file or directory');
    expect(log.fault).toMatch(/; 5 lines are lost$/);
    await expect(log.close()).rejects.toThrow(/^15 lines are lost: .*ENOENT/);
  });

  it('counts the lines that its framing would have made', async () => {
    const log = openLog(join(await newFolder(), 'log'), { framing: bare });
    await expect(log.append(line('refused'), true)).rejects.toThrow('ENOENT');
    await log.append({ ...line('x'.repeat(15 * 2 ** 20)), lines: 70 }, false);
    await log.append({ ...line('x'.repeat(2 ** 20)), lines: 30 }, false);
    expect(log.fault).toMatch(/; 30 lines are lost$/);
    await expect(log.close()).rejects.toThrow(/^70 lines are lost: .*ENOENT/);
  });
});

const run = promisify(execFile);

/** Bounds the size of every file of this process, in bytes, in place of a full disk. */
async function limitFiles(bytes: number | 'unlimited'): Promise<void> {
  await run('prlimit', ['--pid', String(process.pid), `--fsize=${bytes}:`]);
}

/** Whether a file can be made one that only grows, which takes a right and a file system that has it. */
const canOnlyGrow: boolean = looksForGrowth();

function looksForGrowth(): boolean {
  const folder = mkdtempSync(join(tmpdir(), 'only-grows-'));
  const file = join(folder, 'file');
  writeFileSync(file, '');
  try {
    execFileSync('chattr', ['+a', file], { stdio: 'ignore' });
    execFileSync('chattr', ['-a', file], { stdio: 'ignore' });
    return true;
  } catch {
    process.stderr.write('FILES THAT ONLY GROW ARE NOT TESTED: chattr +a is refused here\n');
    return false;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

describe('a log whose disk does not take back what a failed write left', () => {
  afterEach(() => limitFiles('unlimited'));

  const lazy = { framing: bare, lazyMillis: 0 };

  it.runIf(canOnlyGrow)('writes nothing before its file is cut', async () => {
    const folder = await newFolder();
    const file = join(folder, '1.log');
    const log = openLog(folder, lazy);
    await log.append(line('one'), true);
    await log.append(line('kept'), false);
    await waitUntil(async () => (await readFile(file, 'utf8')) === 'one\nkept\n');
    await run('chattr', ['+a', file]);
    try {
      await limitFiles('one\nkept\nre'.length);
      await expect(log.append(line('refused'), true)).rejects.toThrow('EFBIG');
      await limitFiles('unlimited');
      await expect(log.append(line('refused too'), true)).rejects.toThrow('EPERM');
      expect(await contents(folder)).toEqual({ '1.log': 'one\nkept\nre' });
    } finally {
      await run('chattr', ['-a', file]);
    }
    await eventually(() => expect(log.fault).toBeUndefined());
    await log.append(line('last'), true);
    expect(await contents(folder)).toEqual({ '1.log': 'one\n', '2.log': 'kept\nlast\n' });
    await log.close();
  });

  it('writes nothing before its first file is gone', async () => {
    const folder = join(await newFolder(), 'log');
    await mkdir(folder);
    const log = openLog(folder, lazy);
    await log.append(line('kept'), false);
    await waitUntil(async () => (await readdir(folder)).length === 1);
    await waitUntil(async () => (await contents(folder))['1.log'] === 'kept\n');
    await rename(folder, `${folder}-away`);
    await limitFiles('kept\nre'.length);
    await expect(log.append(line('refused'), true)).rejects.toThrow('EFBIG');
    await limitFiles('unlimited');
    await rename(`${folder}-away`, folder);
    await eventually(() => expect(log.fault).toBeUndefined());
    await log.append(line('last'), true);
    expect(await contents(folder)).toEqual({ '2.log': 'kept\nlast\n' });
    await log.close();
  });
});
