import { readFile, readdir, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { createDurable, linkDurable, writeDurable } from '../../src/storage/durable-file.ts';
import { makeFolder } from '../../src/storage/folder.ts';
import { testFolders } from '../support/folder.ts';

const newFolder = testFolders();

it('writes a file whole, in place of what was there', async () => {
  const path = join(await newFolder(), 'file');
  await writeDurable(path, Buffer.from('a longer text'));
  await writeDurable(path, Buffer.from('short'));
  expect(await readFile(path, 'utf8')).toBe('short');
});

it('gives a file a second name only if the name is free', async () => {
  const folder = await newFolder();
  const [from, other, to] = ['from', 'other', 'to'].map((name) => join(folder, name));
  await writeFile(from!, 'first');
  await writeFile(other!, 'second');
  expect(await linkDurable(from!, to!)).toBe('created');
  expect(await linkDurable(other!, to!)).toBe('exists');
  expect(await readFile(to!, 'utf8')).toBe('first');
  await expect(linkDurable(join(folder, 'missing'), join(folder, 'new'))).rejects.toMatchObject({
    code: 'ENOENT',
  });
});

it('lets one of many create a file, and leaves no drafts', async () => {
  const folder = await newFolder();
  const path = join(folder, 'file');
  const outcomes = await Promise.all(
    Array.from({ length: 20 }, (_, index) => createDurable(path, Buffer.from(`by ${index}`))),
  );
  expect(outcomes.filter((outcome) => outcome === 'created')).toHaveLength(1);
  expect(await readFile(path, 'utf8')).toBe(`by ${outcomes.indexOf('created')}`);
  expect(await readdir(folder)).toEqual(['file']);
});

it('makes a folder with those above it, and minds none that is there', async () => {
  const folder = join(await newFolder(), 'a', 'b', 'c');
  await Promise.all([makeFolder(folder, 0o700), makeFolder(folder, 0o700)]);
  await makeFolder(folder);
  for (const path of [folder, join(folder, '..')]) {
    expect((await stat(path)).mode & 0o777).toBe(0o700);
  }
});

it('does not make a folder where a file is', async () => {
  const path = join(await newFolder(), 'file');
  await writeFile(path, '');
  await expect(makeFolder(join(path, 'inner'))).rejects.toMatchObject({ code: 'ENOTDIR' });
});
