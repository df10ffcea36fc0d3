import { disk } from '../../../support/disk.ts';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Field, Int64, Schema } from 'apache-arrow';
import { expect, it } from 'vitest';
import { empty } from '../../../../src/engine/format/change.ts';
import { ManifestStore, wasMade } from '../../../../src/engine/versions/lines/manifest-store.ts';
import { MemoryBudget } from '../../../../src/engine/format/memory/memory-budget.ts';

it('counts what a wide schema takes in memory', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'manifests-'));
  await mkdir(join(folder, 'versions'));
  const store = new ManifestStore(disk, new MemoryBudget(200_000));
  const write = async (version: bigint, columns: number) => {
    const fields = Array.from({ length: columns }, (_, at) => new Field(`c${at}`, new Int64()));
    const schema = new Schema(fields);
    const { record } = await store.stage(folder, {
      version,
      timestampMillis: 0,
      ...empty(schema),
    });
    await store.load(folder, record);
    await rm(join(folder, record.manifest));
    return record;
  };
  const [narrow, wide] = [await write(1n, 3), await write(2n, 3000)];
  await expect(store.load(folder, wide)).rejects.toThrow('ENOENT');
  expect((await store.load(folder, await write(3n, 3))).schema.fields).toHaveLength(3);
  expect(narrow.manifestBytes).toBeLessThan(wide.manifestBytes);
  await rm(folder, { recursive: true, force: true });
});

it('is not misled by a folder that is another table’s by now', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'manifests-'));
  const ours = new ManifestStore(disk, new MemoryBudget(200_000));
  const theirs = new ManifestStore(disk, new MemoryBudget(200_000));
  const written = async (name: string) => {
    await mkdir(join(folder, 'versions'), { recursive: true });
    const schema = new Schema([new Field(name, new Int64())]);
    const manifest = { version: 1n, timestampMillis: 0, ...empty(schema) };
    return (await theirs.stage(folder, manifest)).record;
  };
  const before = await written('before');
  expect((await ours.load(folder, before)).schema.fields[0]?.name).toBe('before');
  // Another process removes that table, and makes one in the same place.
  await rm(join(folder, 'versions'), { recursive: true });
  const after = await written('after');
  expect(after.manifest).toBe(before.manifest);
  expect(await wasMade(disk, folder, 1n, 'main')).toBe(false);
  expect((await ours.load(folder, after)).schema.fields[0]?.name).toBe('after');
  expect(await wasMade(disk, folder, 1n, 'main')).toBe(true);
  await rm(folder, { recursive: true, force: true });
});
