import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it, onTestFinished } from 'vitest';
import { createFile, FileStock } from '../../../src/engine/table/file-stock.ts';
import { testFolders } from '../../support/folder.ts';

const newFolder = testFolders();
const me = { name: 'me', isAlive: async (name: string) => name === 'me' || name === 'other' };

/** A stock for the files of a folder, which are made ahead if it takes so long to make one. */
async function opened(longMillis = -1) {
  const folder = await newFolder();
  const [tables, ready] = [join(folder, 'tables'), join(folder, 'ready')];
  await mkdir(tables);
  const stock = await FileStock.open(tables, ready, me, longMillis);
  onTestFinished(() => stock.close());
  return { stock, tables, ready };
}

async function filesIn(folder: string): Promise<readonly string[]> {
  const all = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => []);
  return all.filter((entry) => entry.isFile()).map(({ name }) => name);
}

async function filled(ready: string): Promise<void> {
  while ((await filesIn(ready)).length < 8) await sleep(5);
  // The last is open a moment after its name is there.
  await sleep(20);
}

/** Makes a file with a text in it. */
async function make(path: string): Promise<void> {
  const file = createFile(path);
  await file.write([Buffer.from(path)]);
  await file.sync();
  file.close();
}

it('gives files their names that it made before, and makes others', async () => {
  const { tables, ready } = await opened();
  for (let at = 0; at < 2; at++) await make(join(tables, `a${at}`));
  await sleep(20);
  expect(await filesIn(ready)).toEqual([]);
  for (let at = 2; at < 4; at++) await make(join(tables, `a${at}`));
  await filled(ready);
  for (let at = 0; at < 20; at++) await make(join(tables, `b${at}`));
  const names = await readdir(tables);
  expect(names).toHaveLength(24);
  for (const name of names) {
    expect(await readFile(join(tables, name), 'utf8')).toBe(join(tables, name));
  }
  await filled(ready);
});

it('makes none ahead where it takes no time to make one', async () => {
  const { tables, ready } = await opened(Number.POSITIVE_INFINITY);
  for (let at = 0; at < 20; at++) await make(join(tables, `a${at}`));
  await sleep(20);
  expect(await filesIn(ready)).toEqual([]);
  expect(await readdir(tables)).toHaveLength(20);
});

it('takes none for a path elsewhere', async () => {
  const { tables, ready } = await opened();
  for (let at = 0; at < 4; at++) await make(join(tables, `a${at}`));
  await filled(ready);
  const elsewhere = await newFolder();
  await make(join(elsewhere, 'x'));
  expect(await readFile(join(elsewhere, 'x'), 'utf8')).toBe(join(elsewhere, 'x'));
  expect(await filesIn(ready)).toHaveLength(8);
});

it('says what keeps a file from being made, and goes on', async () => {
  const { tables, ready } = await opened();
  for (let at = 0; at < 4; at++) await make(join(tables, `a${at}`));
  await filled(ready);
  expect(() => createFile(join(tables, 'missing', 'x'))).toThrow('ENOENT');
  await filled(ready);
  await rm(ready, { recursive: true });
  for (let at = 0; at < 20; at++) await make(join(tables, `b${at}`));
  await filled(ready);
  expect(await readdir(tables)).toHaveLength(24);
});

it('removes what it has when it is closed, and then makes files when they are needed', async () => {
  const { stock, tables, ready } = await opened();
  for (let at = 0; at < 4; at++) await make(join(tables, `a${at}`));
  await filled(ready);
  await stock.close();
  expect(await readdir(ready)).toEqual([]);
  await make(join(tables, 'b'));
  expect(await readdir(tables)).toHaveLength(5);
});

it('removes what dead processes had ready, but for files with bytes', async () => {
  const folder = await newFolder();
  const ready = join(folder, 'ready');
  for (const name of ['dead', 'torn', 'other']) {
    for (const place of ['0', '1']) {
      await mkdir(join(ready, name, place), { recursive: true });
      await writeFile(join(ready, name, place, '7'), '');
    }
  }
  await writeFile(join(ready, 'torn', '1', '8'), 'rows of a table');
  const stock = await FileStock.open(join(folder, 'tables'), ready, me);
  expect((await readdir(ready)).toSorted()).toEqual(['other', 'torn']);
  expect(await filesIn(join(ready, 'torn'))).toEqual(['8']);
  expect(await filesIn(join(ready, 'other'))).toEqual(['7', '7']);
  await stock.close();
});
