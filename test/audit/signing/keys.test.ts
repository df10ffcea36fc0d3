import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { readOrMakeSigningKey, readSigningKey } from '../../../src/audit/signing/keys.ts';
import { testFolders } from '../../support/folder.ts';

const newFolder = testFolders();

it('Whoever begins at once signs with one key, which is the one in the file', async () => {
  const folder = await newFolder();
  const path = join(folder, 'key.pem');
  const keys = await Promise.all(Array.from({ length: 8 }, () => readOrMakeSigningKey(path)));
  const kept = await readSigningKey(path);
  for (const key of keys) expect(key.sign('a text')).toBe(kept.sign('a text'));
  expect(await readdir(folder)).toEqual(['key.pem']);
});
