import { mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { KeyUse, readKeyUses } from '../../../src/gateway/identity/key-use.ts';
import { folderUses } from '../../../src/gateway/identity/use-board.ts';

let home: string;
let folder: string;

beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'arrowgate-uses-'));
  folder = join(home, 'key-uses');
});

afterEach(async () => {
  await rm(home, { recursive: true });
});

const board = () => folderUses(folder);
const fail = (error: unknown): never => {
  throw error;
};
const at = (text: string): Date => new Date(`2026-03-0${text}:00.000Z`);

describe('the last use of keys', () => {
  it('is the latest that any process has noted', async () => {
    const [one, other] = [await KeyUse.open(board(), fail), await KeyUse.open(board(), fail)];
    one.note('aaaaaaaa', at('1T10:00'));
    one.note('bbbbbbbb', at('1T12:00'));
    other.note('aaaaaaaa', at('1T11:00'));
    await Promise.all([one.close(), other.close()]);
    expect(Object.fromEntries(await readKeyUses(board()))).toEqual({
      aaaaaaaa: '2026-03-01T11:00:00.000Z',
      bbbbbbbb: '2026-03-01T12:00:00.000Z',
    });
    const names = await readdir(folder);
    expect(names).toHaveLength(2);
    expect((await stat(join(folder, names[0]!))).mode & 0o777).toBe(0o600);
    expect((await stat(folder)).mode & 0o777).toBe(0o700);
  });

  it('is written a little after it, without a stop', async () => {
    const use = await KeyUse.open(board(), fail);
    use.note('aaaaaaaa', at('1T10:00'));
    await expect.poll(async () => (await readKeyUses(board())).size).toBe(1);
    await use.close();
  });

  it('is taken over from processes that have ended long ago', async () => {
    for (const hour of ['10', '11']) {
      const use = await KeyUse.open(board(), fail);
      use.note('aaaaaaaa', at(`1T${hour}:00`));
      await use.close();
    }
    const now = await KeyUse.open(board(), fail);
    now.note('bbbbbbbb', new Date());
    await now.close();
    await (await KeyUse.open(board(), fail)).close();
    expect(await readdir(folder)).toHaveLength(1);
    const uses = await readKeyUses(board());
    expect([uses.get('aaaaaaaa'), uses.size]).toEqual(['2026-03-01T11:00:00.000Z', 2]);
  });

  it('is nothing where a file is cut short, and where there is none', async () => {
    expect((await readKeyUses(board())).size).toBe(0);
    const use = await KeyUse.open(board(), fail);
    use.note('aaaaaaaa', at('1T10:00'));
    await use.close();
    await writeFile(join(folder, `${'0'.repeat(36)}.json`), '{"bbbbbbbb": "2026');
    await writeFile(join(folder, `${'1'.repeat(36)}.json`), '{"cccccccc": 5, "dddddddd": "soon"}');
    expect([...(await readKeyUses(board())).keys()].filter((id) => !id.startsWith('c'))).toEqual([
      'aaaaaaaa',
    ]);
  });

  it('that cannot be written is told once, and stops nothing', async () => {
    await writeFile(folder, 'a file');
    const told: unknown[] = [];
    const use = await KeyUse.open(board(), (error) => told.push(error));
    use.note('aaaaaaaa', at('1T10:00'));
    await use.close();
    use.note('aaaaaaaa', at('1T11:00'));
    await use.close();
    expect(told).toMatchObject([{ code: 'EEXIST' }]);
  });
});
