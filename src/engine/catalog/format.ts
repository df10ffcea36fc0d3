import { join } from 'node:path';
import { CatalogError } from '../../protocol/errors.ts';
import { makeFolder } from '../../store/folder.ts';
import { createDurable, readIfPresent } from '../disk.ts';

/** The format of data folders that this program writes (contract section 9). */
const DATA_FORMAT = 1;

/**
 * Makes sure that a data folder has a format that this program reads. A folder
 * without one is new: it gets this program's, durably.
 * @throws CatalogError ServiceUnavailable for a newer format, or one that is no number.
 */
export async function openFormat(dataFolder: string): Promise<void> {
  await makeFolder(dataFolder);
  const path = join(dataFolder, 'FORMAT');
  if ((await readIfPresent(path)) === undefined) {
    await createDurable(path, Buffer.from(`${DATA_FORMAT}\n`));
  }
  await requireFormat(dataFolder);
}

/**
 * The same for a folder that is only read: one without a format is no data folder.
 * @returns Whether it has one.
 * @throws CatalogError as `openFormat` does.
 */
export async function requireFormat(dataFolder: string): Promise<boolean> {
  const path = join(dataFolder, 'FORMAT');
  const text = (await readIfPresent(path))?.toString().trim();
  if (text === undefined) return false;
  if (!/^[1-9]\d*$/.test(text)) {
    throw new CatalogError('ServiceUnavailable', `${path} holds no format version`);
  }
  if (Number(text) > DATA_FORMAT) {
    throw new CatalogError(
      'ServiceUnavailable',
      `${path} says format ${text}; this program reads up to format ${DATA_FORMAT}`,
    );
  }
  return true;
}
