import { createReadStream } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { createGzip } from 'node:zlib';

/** Bytes of a block of a tar archive. */
const BLOCK = 512;
/** Longest name in a header of the format ustar, in bytes, without its folder. */
const MOST_NAME = 100;
const MOST_FOLDER = 155;

/** The files of a folder as a compressed tar archive (POSIX ustar). @param root Folder within the archive. */
export function folderArchive(folder: string, root: string): AsyncIterable<Uint8Array> {
  return Readable.from(archive(folder, root)).pipe(createGzip());
}

async function* archive(folder: string, root: string): AsyncGenerator<Uint8Array> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const paths = entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .toSorted();
  for (const path of paths) {
    const { size, mtimeMs } = await stat(path);
    yield header(`${root}${path.slice(folder.length)}`, size, mtimeMs);
    for await (const piece of createReadStream(path)) yield piece as Uint8Array;
    yield Buffer.alloc((BLOCK - (size % BLOCK)) % BLOCK);
  }
  yield Buffer.alloc(2 * BLOCK);
}

/** The header of a file, which its owner alone may read. */
function header(path: string, size: number, millis: number): Uint8Array {
  const slash = path.lastIndexOf('/');
  const [folder, name] = [path.slice(0, slash), path.slice(slash + 1)];
  if (Buffer.byteLength(name) > MOST_NAME || Buffer.byteLength(folder) > MOST_FOLDER) {
    throw new RangeError(`the name ${path} is too long for an archive`);
  }
  const bytes = Buffer.alloc(BLOCK);
  bytes.write(name, 0);
  bytes.write(octal(0o600, 8), 100);
  bytes.write(octal(0, 8), 108);
  bytes.write(octal(0, 8), 116);
  bytes.write(octal(size, 12), 124);
  bytes.write(octal(Math.floor(millis / 1000), 12), 136);
  bytes.write('        0', 148);
  bytes.write('ustar\u000000', 257);
  bytes.write(folder, 345);
  const sum = bytes.reduce((total, byte) => total + byte, 0);
  bytes.write(`${octal(sum, 7)} `, 148);
  return bytes;
}

/** A number in octal digits with a zero byte at its end. */
function octal(value: number, width: number): string {
  return `${value.toString(8).padStart(width - 1, '0')}\u0000`;
}
