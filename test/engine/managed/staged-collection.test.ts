import { mkdir, symlink, utimes, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { collectStaged } from '../../../src/engine/managed/staged-collection.ts';
import { ManagedTable } from '../../support/managed-table.ts';

const DAY_MILLIS = 86_400_000;

let table: ManagedTable;

beforeEach(async () => {
  table = await ManagedTable.open();
});

afterEach(() => table.close());

/** Stages a version so long ago. Gives its name inside the table's folder. */
async function staged(version: bigint, ageMillis: number, branch?: string): Promise<string> {
  const path = `/${await table.stage(version, branch === undefined ? {} : { branch })}`;
  await age(path, ageMillis);
  return path.slice(table.location.length + 1);
}

async function age(path: string, millis: number): Promise<void> {
  const time = new Date(Date.now() - millis);
  await utimes(path, time, time);
}

async function collect(known: readonly string[] = []): Promise<readonly string[]> {
  const found = await collectStaged(table.location, Date.now() - DAY_MILLIS, new Set(known));
  return found.toSorted();
}

describe('collectStaged', () => {
  it('removes what was staged long ago and is no version, on all branches', async () => {
    await table.commit(1n);
    const old = [
      await staged(2n, 2 * DAY_MILLIS),
      await staged(2n, 2 * DAY_MILLIS, 'dev'),
      await staged(-2n, 2 * DAY_MILLIS, 'dev/inner'),
    ].toSorted();
    const fresh = await staged(2n, DAY_MILLIS / 2);
    const needed = await staged(2n, 2 * DAY_MILLIS);
    const before = await table.files();
    for (const name of before.filter((one) => one.endsWith('.manifest'))) {
      await age(join(table.location, name), 3 * DAY_MILLIS);
    }
    expect(await collect([needed])).toEqual(old);
    expect(await table.files()).toEqual(before.filter((name) => !old.includes(name)));
    expect(await collect([needed, fresh])).toEqual([]);
  });

  it('leaves other files alone, and what lies behind links', async () => {
    const names = ['data/x', 'tree/dev/data/1.manifest-x', '_versions/notes-x', '1.manifest-x'];
    for (const name of names) {
      const path = join(table.location, name);
      await mkdir(dirname(path), { recursive: true });
      await writeFile(path, '');
      await age(path, 3 * DAY_MILLIS);
    }
    const outside = join(table.engine.data, 'outside', '_versions');
    await mkdir(outside, { recursive: true });
    await writeFile(join(outside, '1.manifest-x'), '');
    await age(join(outside, '1.manifest-x'), 3 * DAY_MILLIS);
    await symlink(dirname(outside), join(table.location, 'tree', 'linked'));
    expect(await collect()).toEqual([]);
  });

  it('has nothing to do where nothing was written', async () => {
    expect(await collect()).toEqual([]);
  });
});
