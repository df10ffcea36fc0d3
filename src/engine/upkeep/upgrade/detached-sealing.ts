import { join } from 'node:path';
import {
  detachedSeal,
  encodeSealBlock,
  SEALED_PORTION,
  type FileSeal,
} from '../../../arrow/sealed/file-seal.ts';
import { PortionSums } from '../../../arrow/sealed/portion-checks.ts';
import { ownSeal } from '../../../arrow/sealed/sealed-file.ts';
import type { NewObject, Storage } from '../../../storage/storage.ts';
import { encodeSealList } from '../../format/detached-seals.ts';
import { DETACHED_SEALS } from '../../format/layout.ts';
import { readingFile } from '../../format/memory/random-access.ts';
import { ownFiles } from '../retention/orphans.ts';
import type { ReadingRate } from '../verification/portion-reading.ts';

/** Number of bytes that are read at once. */
const READ_BYTES = 64 * SEALED_PORTION;

export interface SealingParts {
  readonly storage: Storage;
  readonly rate: ReadingRate;
  readonly progress: (doing: string) => void;
  /** Called with a file that cannot be read: it gets no seal. */
  readonly unreadable: (path: string, error: unknown) => void;
}

/**
 * Lists all files in the folder of a table that hold no seal, with a detached seal for each. The
 * list has its name only when it is whole and durable, so a folder that has one is done.
 * @returns Number of seals that were made.
 */
export async function sealFolder(parts: SealingParts, folder: string): Promise<number> {
  const { storage } = parts;
  const path = join(folder, DETACHED_SEALS);
  if ((await storage.stat(path)) !== undefined) return 0;
  const unsealed = await unsealedFiles(parts, folder);
  if (unsealed.length === 0) return 0;
  const begun = `${path}.new`;
  await storage.remove(begun);
  const file = storage.create(begun);
  try {
    const seals = await writeBlocks(parts, folder, unsealed, file);
    await file.end();
    await file.sync();
    await storage.rename(begun, path);
    await storage.flush(folder);
    return seals;
  } catch (error) {
    await file.abandon();
    throw error;
  }
}

/** Paths in a table's folder, in order. */
async function unsealedFiles(
  { storage, unreadable }: SealingParts,
  folder: string,
): Promise<readonly string[]> {
  const found: string[] = [];
  for await (const { file, entry } of ownFiles(storage, folder)) {
    try {
      const seal = await readingFile(storage, entry.path, (access) => ownSeal(access, entry.path));
      if (seal === undefined) found.push(file);
    } catch (error) {
      unreadable(entry.path, error);
    }
  }
  return found.toSorted();
}

async function writeBlocks(
  { storage, rate, progress, unreadable }: SealingParts,
  folder: string,
  files: readonly string[],
  into: NewObject,
): Promise<number> {
  const seals = new Map<string, FileSeal>();
  let offset = 0;
  for (const [at, file] of files.entries()) {
    const path = join(folder, file);
    progress(`computing the checksums of ${path} (${at + 1} of ${files.length} of its table)`);
    try {
      const block = await blockOf(storage, path, rate);
      await into.write([block]);
      seals.set(file, detachedSeal(block, offset));
      offset += block.length;
    } catch (error) {
      unreadable(path, error);
    }
  }
  await into.write([encodeSealList(seals)]);
  return seals.size;
}

/** The block of a detached seal: its portions cover the whole file, and nothing follows them. */
async function blockOf(storage: Storage, path: string, rate: ReadingRate): Promise<Uint8Array> {
  return readingFile(storage, path, async (access) => {
    const { size } = access;
    const sums = new PortionSums();
    for (let offset = 0; offset < size; offset += READ_BYTES) {
      const bytes = await access.read(offset, Math.min(READ_BYTES, size - offset));
      sums.add(bytes);
      await rate.after(bytes.length);
    }
    return encodeSealBlock({ contentBytes: size, tailSum: 0, sums: sums.finish() }).bytes;
  });
}
