import { mkdir, rename, symlink, utimes, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { tableKey } from '../../../../src/engine/catalog/records/keys.ts';
import { MAIN_CHAIN } from '../../../../src/engine/format/chain.ts';
import { VersionStore } from '../../../../src/engine/versions/lines/version-store.ts';
import { decodeTable } from '../../../../src/engine/catalog/records/records-codec.ts';
import { collect } from '../../../support/dropped.ts';
import { ManagedTable } from '../../../support/managed-table.ts';

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

/** What a collection removes that leaves younger files alone. */
async function collected(options: { readonly dryRun?: boolean } = {}) {
  const before = await table.files();
  const told: string[] = [];
  const { files, bytes, failures } = await collect(table.engine, {
    olderThanMillis: DAY_MILLIS,
    progress: (doing) => told.push(doing),
    ...options,
  });
  expect(failures).toEqual([]);
  expect(told).toEqual([expect.stringMatching(/^looking at the table [0-9a-f-]{36}$/)]);
  const after = await table.files();
  return { files, bytes, gone: before.filter((name) => !after.includes(name)) };
}

describe('a collection', () => {
  it('removes what was staged long ago and is no version, on all branches', async () => {
    await table.commit(1n);
    const old = [
      await staged(2n, 2 * DAY_MILLIS),
      await staged(2n, 2 * DAY_MILLIS, 'dev'),
      await staged(-2n, 2 * DAY_MILLIS, 'dev/inner'),
    ].toSorted();
    await staged(2n, DAY_MILLIS / 2);
    for (const name of (await table.files()).filter((one) => one.endsWith('.manifest'))) {
      await age(join(table.location, name), 3 * DAY_MILLIS);
    }
    const dry = await collected({ dryRun: true });
    expect(dry).toEqual({ files: 3, bytes: expect.any(Number), gone: [] });
    expect(dry.bytes).toBeGreaterThan(300);
    expect(await collected()).toEqual({ ...dry, gone: old });
    expect(await collected()).toEqual({ files: 0, bytes: 0, gone: [] });
    expect(await table.versions()).toEqual([1]);
  });

  it('removes what a process that was killed had begun to stage', async () => {
    await table.commit(1n);
    const name = await staged(2n, 2 * DAY_MILLIS);
    await rename(join(table.location, name), join(table.location, `${name}#1`));
    expect((await collected()).gone).toEqual([`${name}#1`]);
  });

  it('leaves what is staged of a version that a crash kept from its final name', async () => {
    await table.commit(1n);
    await table.commit(2n);
    const { store } = table.engine;
    const { id } = decodeTable((await store.get(tableKey(['t'])))!);
    const { manifest, staging } = (await new VersionStore(store).head(id, MAIN_CHAIN))!.content;
    await rename(join(table.location, manifest), join(table.location, staging));
    await age(join(table.location, staging), 3 * DAY_MILLIS);
    expect(await collected()).toEqual({ files: 0, bytes: 0, gone: [] });
    expect(await table.versions()).toEqual([1, 2]);
    expect(await table.files()).toContain(manifest);
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
    expect(await collected()).toEqual({ files: 0, bytes: 0, gone: [] });
  });

  it('has nothing to do where nothing was written', async () => {
    expect(await collected()).toEqual({ files: 0, bytes: 0, gone: [] });
  });
});

describe('a verification', () => {
  it('tells what is staged and no version, which is no fault', async () => {
    await table.commit(1n, { rows: 0 });
    const file = await staged(2n, 0);
    await new Promise((resolve) => setTimeout(resolve, 150));
    const { orphans, findings } = await table.engine.upkeep!.verifier.verify();
    expect(orphans).toEqual([{ table: '/t', file, bytes: expect.any(Number) }]);
    expect(findings).toEqual([]);
  });
});
