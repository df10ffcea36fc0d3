import { join } from 'node:path';
import { crc32 } from '@node-rs/crc32';
import { LRUCache } from 'lru-cache';
import { DamagedFile, placeOfSeal, type FileSeal } from '../../arrow/sealed/file-seal.ts';
import type { Storage } from '../../storage/storage.ts';
import { unlessMissing } from '../../storage/storage-error.ts';
import { DETACHED_SEALS } from './layout.ts';
import { readingFile } from './memory/random-access.ts';
import type { Fragment } from './snapshot.ts';

/**
 * The file of detached seals of a table: blocks of checksums of the files from before seals, then
 * their list as JSON, its CRC-32, its length in bytes and a magic. It is made once, by an upgrade.
 * No other file of the table may lack a seal.
 */
export const SEALS_MAGIC = Buffer.from('AGSEALS1', 'latin1');
const END_BYTES = 8 + SEALS_MAGIC.length;

/** Detached seals by the paths of their files in the table's folder. */
type DetachedSeals = ReadonlyMap<string, FileSeal>;

const NONE: DetachedSeals = new Map();
/** Most bytes of lists that are remembered for a storage. */
const REMEMBERED_BYTES = 2 ** 25;

interface ReadList {
  readonly seals: DetachedSeals;
  readonly bytes: number;
}

/** Lists that were read, by the stamps of their files. */
const remembered = new WeakMap<Storage, LRUCache<string, ReadList>>();

/** Encodes the end of a file of detached seals. */
export function encodeSealList(seals: Iterable<readonly [path: string, FileSeal]>): Buffer {
  const list = Buffer.from(JSON.stringify([...seals]));
  const end = Buffer.alloc(END_BYTES);
  end.writeUInt32LE(crc32(list), 0);
  end.writeUInt32LE(list.length, 4);
  SEALS_MAGIC.copy(end, 8);
  return Buffer.concat([list, end]);
}

/**
 * The detached seals of a table: none for a table without files from before seals.
 * @throws DamagedFile
 */
export async function readDetachedSeals(storage: Storage, folder: string): Promise<DetachedSeals> {
  const path = join(folder, DETACHED_SEALS);
  const stamp = await storage.stamp(path);
  if (stamp === undefined) return NONE;
  const lists = listsOf(storage);
  const key = `${path} ${stamp}`;
  const known = lists.get(key);
  if (known !== undefined) return known.seals;
  const list = await unlessMissing(readList(storage, path));
  if (list !== undefined) lists.set(key, list);
  return list?.seals ?? NONE;
}

function listsOf(storage: Storage): LRUCache<string, ReadList> {
  const known = remembered.get(storage);
  if (known !== undefined) return known;
  const made = new LRUCache<string, ReadList>({
    maxSize: REMEMBERED_BYTES,
    sizeCalculation: ({ bytes }) => bytes,
  });
  remembered.set(storage, made);
  return made;
}

async function readList(storage: Storage, path: string): Promise<ReadList> {
  return readingFile(storage, path, async (access) => {
    const { size } = access;
    const damaged = new DamagedFile(path, 'the list of files');
    if (size < END_BYTES) throw damaged;
    const end = Buffer.from(await access.read(size - END_BYTES, END_BYTES));
    const length = end.readUInt32LE(4);
    if (!end.subarray(8).equals(SEALS_MAGIC) || length + END_BYTES > size) throw damaged;
    const bytes = Buffer.from(await access.read(size - END_BYTES - length, length));
    if (crc32(bytes) !== end.readUInt32LE(0)) throw damaged;
    const listed = JSON.parse(bytes.toString()) as readonly (readonly [string, FileSeal])[];
    return { seals: new Map(listed), bytes: length + END_BYTES };
  });
}

/** Whether files of a version have detached seals. */
export function hasDetachedSeals({
  fragments,
}: {
  readonly fragments: readonly Fragment[];
}): boolean {
  return fragments.some(({ files, deletionsSeal, indices = [] }) =>
    [...files, { seal: deletionsSeal }, ...indices].some(
      ({ seal }) => seal !== undefined && placeOfSeal(seal) !== undefined,
    ),
  );
}

/** The fragments of a manifest with the detached seals of their files. @throws DamagedFile */
export async function withDetachedSeals(
  storage: Storage,
  folder: string,
  fragments: readonly Fragment[],
): Promise<readonly Fragment[]> {
  if (fragments.every(isSealed)) return fragments;
  const seals = await readDetachedSeals(storage, folder);
  return fragments.map((fragment) => (isSealed(fragment) ? fragment : sealed(fragment, seals)));
}

/** Whether a manifest has the seals of all files of a fragment. */
function isSealed({ files, deletions, deletionsSeal, indices = [] }: Fragment): boolean {
  return (
    files.every(({ seal }) => seal !== undefined) &&
    (deletions === null || deletionsSeal !== undefined) &&
    indices.every(({ seal }) => seal !== undefined)
  );
}

/** A fragment with the seals that are listed; a file that is not listed still has none. */
function sealed(fragment: Fragment, seals: DetachedSeals): Fragment {
  const { files, deletions, deletionsSeal, indices } = fragment;
  const withSeal = <File extends { readonly path: string; readonly seal?: FileSeal | undefined }>(
    file: File,
  ): File => ({ ...file, seal: file.seal ?? seals.get(file.path) });
  return {
    ...fragment,
    files: files.map(withSeal),
    ...(deletions !== null && { deletionsSeal: deletionsSeal ?? seals.get(deletions) }),
    ...(indices !== undefined && { indices: indices.map(withSeal) }),
  };
}
