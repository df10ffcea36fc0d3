import { mkdir, realpath } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { LocalStorage } from '../../src/storage/local-storage.ts';
import { MemoryStorage } from '../../src/storage/memory-storage.ts';
import { keyOfUri, objectRoot, storeRoot, wireLocation } from '../../src/storage/object-key.ts';
import { RoutedStorage } from '../../src/storage/routed-storage.ts';
import { storageConformance } from '../conformance/storage.ts';
import { testFolders } from '../support/folder.ts';

const newFolder = testFolders();
const LAKE = objectRoot('bucket', 'lake');

function routed(): { readonly storage: RoutedStorage; readonly lake: MemoryStorage } {
  const lake = new MemoryStorage();
  const other = { root: objectRoot('bucket', 'lake-2'), storage: new MemoryStorage() };
  return {
    lake,
    storage: new RoutedStorage(new LocalStorage(), [{ root: LAKE, storage: lake }, other]),
  };
}

describe('folders', () => {
  storageConformance(async () => ({
    storage: routed().storage,
    folder: await realpath(await newFolder()),
  }));
});

describe('objects of a store', () => {
  storageConformance(async () => ({ storage: routed().storage, folder: `${LAKE}/folder` }));
});

describe('A routed storage', () => {
  it('keeps objects where their keys say', async () => {
    const { storage, lake } = routed();
    const folder = await realpath(await newFolder());
    await storage.write(`${LAKE}/x`, Buffer.from('lake'));
    await storage.write(`${LAKE}-2/x`, Buffer.from('other'));
    await storage.write(`${folder}/x`, Buffer.from('disk'));
    expect((await lake.read(`${LAKE}/x`)).toString()).toBe('lake');
    expect(await lake.names(`${LAKE}-2`)).toEqual([]);
    expect((await storage.read(`${LAKE}-2/x`)).toString()).toBe('other');
    expect(await new LocalStorage().names(folder)).toEqual(['x']);
  });

  it('makes folders on the disk alone, which has files', async () => {
    const { storage } = routed();
    const folder = join(await realpath(await newFolder()), 'a', 'b');
    await storage.folders.make(folder);
    await storage.folders.make(`${LAKE}/a`);
    storage.folders.makeNow(`${LAKE}/a`);
    expect(storage.folders.prepare(`${LAKE}/a`)).toBeUndefined();
    await storage.folders.removeIfEmpty(`${LAKE}/a`);
    expect(await storage.names(folder)).toEqual([]);
    expect(storage.files.pathOf(folder)).toBe(folder);
    expect(() => storage.files.pathOf(`${LAKE}/a`)).toThrow(
      's3://bucket/lake/a is not a file of this machine',
    );
  });

  it('refuses what leads from one storage to another, and changes nothing', async () => {
    const { storage } = routed();
    const folder = await realpath(await newFolder());
    const [here, there] = [`${folder}/x`, `${LAKE}/x`];
    await storage.write(here, Buffer.from('x'));
    await mkdir(`${folder}/inner`);
    const crossing = { code: 'EXDEV' };
    for (const call of [
      async () => storage.rename(here, there),
      async () => storage.renameIfAbsent(here, there),
      async () => storage.linkIfAbsent(here, there),
      async () => storage.copy(here, there, false),
      async () => storage.rename(`${LAKE}/x`, `${LAKE}-2/x`),
      async () => storage.folders.move(`${folder}/inner`, there),
    ]) {
      await expect(call()).rejects.toMatchObject(crossing);
    }
    expect(await storage.names(LAKE)).toEqual([]);
    expect((await storage.names(folder))?.toSorted()).toEqual(['inner', 'x']);
  });

  it('refuses an object of a store that is not configured', async () => {
    const { storage } = routed();
    await expect(async () => storage.stat('/s3:/bucket/lakes/x')).rejects.toThrow(
      'no object store of the configuration holds s3://bucket/lakes/x: add it to object_stores',
    );
    await expect(storage.read('/s3:/bucket')).rejects.toThrow('add it to object_stores');
  });
});

describe('A key of an object', () => {
  it('and its URI follow from each other', () => {
    expect(wireLocation(`${LAKE}/a/b.lance`)).toBe('s3://bucket/lake/a/b.lance');
    expect(keyOfUri('s3://bucket/lake/a/b.lance')).toBe(`${LAKE}/a/b.lance`);
    expect(wireLocation('/data/lance/a.lance')).toBe('/data/lance/a.lance');
    for (const uri of ['/data', 'file:///data', 's3:/bucket', 's3:///x', 'S3://bucket/x']) {
      expect(keyOfUri(uri)).toBeUndefined();
    }
    expect([storeRoot(`${LAKE}/a`), storeRoot('/data/a')]).toEqual(['/s3:/bucket/', '/']);
    expect(objectRoot('bucket', '')).toBe('/s3:/bucket');
  });
});
