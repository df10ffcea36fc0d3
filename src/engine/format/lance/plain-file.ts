import { LinkedPath } from '../../../storage/plain-path.ts';
import { FileDescriptor } from '../../../storage/file-descriptor.ts';

/** So many bytes of two files are compared at once. */
const PIECE_BYTES = 2 ** 20;

/**
 * The bytes of a file in a folder where clients write; null for what is no plain file, or is
 * longer. A pipe or a device in its place would keep a thread waiting for ever, or have no end.
 * @throws the system's error.
 */
export async function readPlain(path: string, most: number): Promise<Buffer | null> {
  return withPlain([path], async ([file]) => {
    const size = file.size();
    if (size > most) return null;
    const bytes = Buffer.alloc(size);
    const read = await file.read(bytes, 0);
    return bytes.subarray(0, read);
  });
}

/** Whether two files hold the same bytes; not when one is no plain file. @throws the system's error. */
export async function haveSameBytes(one: string, other: string): Promise<boolean> {
  const same = await withPlain([one, other], async ([left, right]) => {
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

/** Opens files, and closes them again; null where one of them is no plain file. */
async function withPlain<const Paths extends readonly string[], Result>(
  paths: Paths,
  work: (files: { [Position in keyof Paths]: FileDescriptor }) => Promise<Result | null>,
): Promise<Result | null> {
  const files: FileDescriptor[] = [];
  try {
    for (const path of paths) files.push(FileDescriptor.openEntry(path));
    return files.every((file) => file.isPlain())
      ? await work(files as { [Position in keyof Paths]: FileDescriptor })
      : null;
  } catch (error) {
    if (error instanceof LinkedPath) return null;
    // What the system says of a socket.
    if (error instanceof Error && 'code' in error && error.code === 'ENXIO') return null;
    throw error;
  } finally {
    for (const file of files) file.close();
  }
}
