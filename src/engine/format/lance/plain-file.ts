import { LinkedPath } from '../../../storage/plain-path.ts';
import { errorCode } from '../../../storage/storage-error.ts';
import type { OpenObject, Storage } from '../../../storage/storage.ts';

/** Bytes of each file that are compared at once. */
const PIECE_BYTES = 2 ** 20;

/**
 * Reads a file in a folder of clients; null for anything but a plain file and for longer files.
 * Pipes and devices are refused: reading them might never end.
 * @throws the system's error.
 */
export async function readPlain(
  storage: Storage,
  path: string,
  most: number,
): Promise<Buffer | null> {
  return withPlain(storage, [path], async ([file]) => {
    const size = file.size();
    if (size > most) return null;
    const bytes = Buffer.alloc(size);
    const read = await file.read(bytes, 0);
    return bytes.subarray(0, read);
  });
}

/** Whether two plain files hold the same bytes. @throws the system's error. */
export async function haveSameBytes(
  storage: Storage,
  one: string,
  other: string,
): Promise<boolean> {
  const same = await withPlain(storage, [one, other], async ([left, right]) => {
    const size = left.size();
    if (right.size() !== size) return false;
    const [ours, theirs] = [Buffer.alloc(PIECE_BYTES), Buffer.alloc(PIECE_BYTES)];
    for (let at = 0; at < size; at += PIECE_BYTES) {
      const [mine, yours] = [await left.read(ours, at), await right.read(theirs, at)];
      if (!ours.subarray(0, mine).equals(theirs.subarray(0, yours))) return false;
    }
    return true;
  });
  return same ?? false;
}

/** Opens files for a function and closes them; null if one is not a plain file. */
async function withPlain<const Paths extends readonly string[], Result>(
  storage: Storage,
  paths: Paths,
  work: (files: { [Position in keyof Paths]: OpenObject }) => Promise<Result | null>,
): Promise<Result | null> {
  const files: OpenObject[] = [];
  try {
    for (const path of paths) files.push(await storage.open(path, 'folders'));
    return files.every((file) => file.plainSize() !== undefined)
      ? await work(files as { [Position in keyof Paths]: OpenObject })
      : null;
  } catch (error) {
    if (error instanceof LinkedPath) return null;
    // Error of the system for a socket.
    if (errorCode(error) === 'ENXIO') return null;
    throw error;
  } finally {
    for (const file of files) file.close();
  }
}
