import { mkdir, readFile, readdir, realpath, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { LocalStorage } from '../../src/storage/local-storage.ts';
import { storageConformance } from '../conformance/storage.ts';
import { testFolders } from '../support/folder.ts';

const newFolder = testFolders();
const storage = new LocalStorage();

storageConformance(async () => ({ storage, folder: await realpath(await newFolder()) }));

/** A folder with a file in it, one behind a link, and links to both. */
async function linked(): Promise<{ readonly folder: string; readonly theirs: string }> {
  const [folder, theirs] = [await realpath(await newFolder()), await realpath(await newFolder())];
  await writeFile(join(theirs, 'file'), 'theirs');
  await symlink(theirs, join(folder, 'way'));
  await symlink(join(theirs, 'file'), join(folder, 'link'));
  return { folder, theirs };
}

describe('a symbolic link', () => {
  const calls: readonly (readonly [string, (folder: string, key: string) => unknown])[] = [
    ['open', (_, key) => storage.open(key)],
    ['read', (_, key) => storage.read(key)],
    ['copy', (folder, key) => storage.copy(key, `${folder}/copy`, false)],
    ['share', (folder, key) => storage.copy(key, `${folder}/copy`, true)],
  ];

  it.each(calls)('is not followed to %s', async (_, call) => {
    const { folder } = await linked();
    for (const key of ['link', 'way/file']) {
      await expect(async () => call(folder, join(folder, key))).rejects.toThrow(
        `${join(folder, key)} is a symbolic link or lies behind one`,
      );
    }
    expect((await readdir(folder)).toSorted()).toEqual(['link', 'way']);
  });

  it('is not followed to write, list or remove', async () => {
    const { folder, theirs } = await linked();
    const [inner, way] = [`${folder}/way/new`, `${folder}/way`];
    const refusal = 'is a symbolic link or lies behind one';
    await expect(storage.write(inner, Buffer.from('x'))).rejects.toThrow(refusal);
    await expect(storage.remove(`${way}/file`)).rejects.toThrow(refusal);
    await expect(storage.removeTree(`${way}/file`, { retained: [] })).rejects.toThrow(refusal);
    await expect(storage.entries(way)[Symbol.asyncIterator]().next()).rejects.toThrow(refusal);
    await storage.folders.removeIfEmpty(`${way}/inner`);
    expect(await readdir(theirs)).toEqual(['file']);
  });

  it('is removed itself, and described itself', async () => {
    const { folder, theirs } = await linked();
    expect(storage.stat(`${folder}/link`)).toMatchObject({ isLink: true, isFile: false });
    expect(await storage.ownership(folder, 'way/file')).toBe('linked');
    expect(await storage.resolve(`${folder}/way/file`)).toBe(`${theirs}/file`);
    storage.discard(`${folder}/link`);
    await storage.removeTree(`${folder}/way`, { retained: [] });
    expect(await readdir(folder)).toEqual([]);
    expect(await readFile(`${theirs}/file`, 'utf8')).toBe('theirs');
  });

  it('is followed as far as the caller says', async () => {
    const { folder } = await linked();
    expect((await storage.read(`${folder}/way/file`, 'folders')).toString()).toBe('theirs');
    await expect(storage.read(`${folder}/link`, 'folders')).rejects.toThrow('is a symbolic link');
    expect((await storage.read(`${folder}/link`, 'all')).toString()).toBe('theirs');
    const made = storage.create(`${folder}/way/made`, { links: 'all' });
    await made.write([Buffer.from('ours')]);
    await made.end();
    await made.sync();
    expect((await storage.read(`${folder}/way/made`, 'all')).toString()).toBe('ours');
    expect(() => storage.create(`${folder}/way/other`)).toThrow('is a symbolic link');
  });
});

describe('folders of a disk', () => {
  it('are made durably with a mode, prepared once, moved, and removed when empty', async () => {
    const folder = await realpath(await newFolder());
    const { folders } = storage;
    await folders.make(`${folder}/a/b`, 0o750);
    expect((await stat(`${folder}/a`)).mode & 0o777).toBe(0o750);
    await folders.prepare(`${folder}/a/c`);
    expect(folders.prepare(`${folder}/a/c`)).toBeUndefined();
    await folders.removeIfEmpty(`${folder}/a/c`);
    await folders.prepare(`${folder}/a/c`);
    folders.makeNow(`${folder}/a/d`);
    await folders.removeIfEmpty(`${folder}/a`);
    await folders.move(`${folder}/a`, `${folder}/moved`);
    expect((await readdir(`${folder}/moved`)).toSorted()).toEqual(['b', 'c', 'd']);
  });

  it('say that they are none where a file is in the way', async () => {
    const folder = await realpath(await newFolder());
    await writeFile(`${folder}/file`, '');
    await expect(storage.names(`${folder}/file`)).rejects.toMatchObject({ code: 'ENOTDIR' });
    expect(storage.stat(`${folder}/file/inner`)).toBeUndefined();
    expect(await storage.names(`${folder}/missing`)).toBeUndefined();
    await mkdir(`${folder}/empty`);
    expect(await storage.names(`${folder}/empty`)).toEqual([]);
  });
});
