import { DamagedFile, type StoredFile } from '../../../arrow/sealed/file-seal.ts';
import type { Storage } from '../../../storage/storage.ts';
import { unlessMissing } from '../../../storage/storage-error.ts';
import { readingFile } from './random-access.ts';

/**
 * The block of a detached seal; undefined for a file that holds its block itself.
 * @throws DamagedFile if the block is missing.
 */
export async function readDetachedBlock(
  storage: Storage,
  { path, block }: StoredFile,
): Promise<Uint8Array | undefined> {
  if (block === undefined) return undefined;
  const { offset, length } = block;
  const found = await unlessMissing(
    readingFile(storage, block.path, async (access) =>
      offset + length > access.size ? undefined : access.read(offset, length),
    ),
  );
  if (found === undefined) throw new DamagedFile(path, 'the seal block');
  return found;
}
