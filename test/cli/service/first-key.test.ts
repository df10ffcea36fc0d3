import { mkdir, readdir, readFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { expect, it } from 'vitest';
import { dataFolderOf, type DataFolder } from '../../../src/cli/service/data-folder.ts';
import { makeFirstKey } from '../../../src/cli/service/gateway-keys.ts';
import { parseConfig } from '../../../src/cli/config/config.ts';
import { fileKeyBook, type KeyBook } from '../../../src/gateway/identity/key-book.ts';
import { makeKey } from '../../../src/gateway/identity/keys.ts';
import { folderUses } from '../../../src/gateway/identity/use-board.ts';
import { testFolders } from '../../support/folder.ts';

const newFolder = testFolders();

async function dataFolder(): Promise<DataFolder> {
  const folder = dataFolderOf(parseConfig('arrowgate.yaml', `data: ${await newFolder()}`));
  await mkdir(dirname(folder.initialKey), { recursive: true });
  return folder;
}

function bookOf(folder: DataFolder): KeyBook {
  return fileKeyBook(folder.keys, folderUses(folder.keyUses));
}

/** Names of the files in which a first key is. */
async function firstKeys({ initialKey }: DataFolder): Promise<readonly string[]> {
  const names = await readdir(dirname(initialKey));
  return names.filter((name) => name.startsWith('initial-admin-key'));
}

it('keeps the text of the first key in one file', async () => {
  const folder = await dataFolder();
  const text = await makeFirstKey(folder, bookOf(folder));
  expect(await firstKeys(folder)).toEqual(['initial-admin-key']);
  expect(await readFile(folder.initialKey, 'utf8')).toBe(`${text}\n`);
});

it('keeps no text of a key that another gateway was faster to make', async () => {
  const folder = await dataFolder();
  const book = bookOf(folder);
  const details = { subject: 'user:admin', roles: ['role:admin'], expires: null };
  const late: KeyBook = {
    ...book,
    update: async (change) => {
      // The first attempt saw no keys, and is lost to those of the other gateway.
      await change([]);
      await book.update(() => [makeKey(details, new Date()).stored]);
      await book.update(change);
    },
  };
  expect(await makeFirstKey(folder, late)).toBeUndefined();
  expect(await firstKeys(folder)).toEqual([]);
  expect(await book.read()).toHaveLength(1);
});
