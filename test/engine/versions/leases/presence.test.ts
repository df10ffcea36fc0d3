import { disk } from '../../../support/disk.ts';
import { readdir, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { Horizon } from '../../../../src/engine/versions/leases/horizon.ts';
import { folderBoard } from '../../../../src/engine/versions/leases/presence-board.ts';
import { Presence } from '../../../../src/engine/versions/leases/presence.ts';
import { ownMark } from '../../../../src/store/process-mark.ts';
import { Running } from '../../../../src/engine/versions/leases/running.ts';
import { testFolders } from '../../../support/folder.ts';

const folder = testFolders();

/** Writes what another process would say of itself. */
async function sign(path: string, name: string, fields: object): Promise<void> {
  const said = { ...(await ownMark()), atMillis: Date.now(), oldestMillis: null, ...fields };
  await writeFile(join(path, `${name}.json`), JSON.stringify(said));
}

describe('the processes of a data folder', () => {
  it('see each other, and what is under way in each', async () => {
    const path = await folder();
    const running = new Running();
    const one = await Presence.open(folderBoard(disk, path), new Running());
    expect(await one.others()).toEqual([]);
    const lease = running.begin();
    const two = await Presence.open(folderBoard(disk, path), running);
    expect(await one.others()).toEqual([
      { seenMillis: expect.any(Number), oldestMillis: lease.sinceMillis },
    ]);
    await lease.end();
    await one.refreshed();
    expect(await one.others()).toMatchObject([{ oldestMillis: Infinity }]);
    expect(await one.isAlive(two.name)).toBe(true);
    await two.close();
    expect(await one.isAlive(two.name)).toBe(false);
    expect(await one.others()).toEqual([]);
    await one.close();
    expect(await readdir(path)).toEqual([]);
  });

  it('forget those that are gone', async () => {
    const path = await folder();
    const one = await Presence.open(folderBoard(disk, path), new Running());
    await sign(path, 'killed', { pid: 2 ** 22 + 1, oldestMillis: 1 });
    await sign(path, 'earlier-of-the-same-number', { born: '1', oldestMillis: 1 });
    await sign(path, 'silent-elsewhere', { host: 'elsewhere', atMillis: 1, oldestMillis: 1 });
    expect(await one.others()).toEqual([]);
    expect(await readdir(path)).toEqual([one.name]);
    await one.close();
  });

  it('keep everything for a while when one cannot be understood, as after a loss of power', async () => {
    const path = await folder();
    const one = await Presence.open(folderBoard(disk, path), new Running());
    for (const text of ['', '{"pid":', 'null']) {
      await writeFile(join(path, 'torn.json'), text);
      expect(await one.others()).toEqual([
        { seenMillis: expect.any(Number), oldestMillis: -10_000 },
      ]);
      expect(await one.isGone('torn.json')).toBe(false);
    }
    const long = new Date(Date.now() - 2 * 3_600_000);
    await utimes(join(path, 'torn.json'), long, long);
    expect(await one.others()).toEqual([]);
    expect(await one.isGone('torn.json')).toBe(true);
    expect(await readdir(path)).toEqual([one.name]);
    await one.close();
  });

  it('count those of other machines, whose clocks may differ', async () => {
    const path = await folder();
    const one = await Presence.open(folderBoard(disk, path), new Running());
    const now = Date.now();
    await sign(path, 'elsewhere', { host: 'elsewhere', atMillis: now, oldestMillis: now - 1000 });
    expect(await one.others()).toEqual([{ seenMillis: now - 10_000, oldestMillis: now - 11_000 }]);
    await one.close();
  });
});

describe('what can go', () => {
  it('is what was given up before everything that is under way began', async () => {
    const running = new Running();
    const horizon = new Horizon(running);
    const before = Date.now();
    expect((await horizon.look()).isForgotten(before - 1)).toBe(true);
    const lease = running.begin();
    const look = await horizon.look();
    expect(look.isForgotten(lease.sinceMillis)).toBe(false);
    expect(look.isLeft(lease.sinceMillis)).toBe(false);
    // Its commit may have come after the lease.
    expect(look.isForgotten(lease.sinceMillis - 1000)).toBe(false);
    expect(look.isForgotten(lease.sinceMillis - 120_000)).toBe(true);
    expect(look.isLeft(lease.sinceMillis - 1000)).toBe(true);
  });

  it('is nothing that came after something under way, also when the clock was set back meanwhile', async () => {
    const running = new Running();
    const horizon = new Horizon(running);
    const lease = running.begin();
    const clock = vi.spyOn(Date, 'now');
    try {
      const began = lease.sinceMillis;
      clock.mockImplementation(() => began - 3_600_000);
      expect((await horizon.look()).isForgotten(began - 3_600_000 + 1)).toBe(false);
      // Long after, by the clock that was set back.
      clock.mockImplementation(() => began - 3_600_000 + 600_000);
      expect((await horizon.look()).isForgotten(began - 3_600_000 + 1)).toBe(false);
      expect((await horizon.look()).isForgotten(began - 3_600_000 - 120_000)).toBe(true);
    } finally {
      clock.mockRestore();
      await lease.end();
    }
  });

  it('is nothing that came after the look', async () => {
    const look = await new Horizon(new Running()).look();
    expect(look.isForgotten(Date.now() + 1)).toBe(false);
    expect(look.isLeft(Date.now() + 1)).toBe(false);
  });
});
