import { fstatSync, lstatSync, readlinkSync, realpathSync } from 'node:fs';
import { dirname } from 'node:path';

/** A path that leads to a file or folder only through a symbolic link. */
export class LinkedPath extends Error {
  readonly path: string;

  constructor(path: string) {
    super(`${path} is a symbolic link or lies behind one: it is neither read nor changed`);
    this.name = 'LinkedPath';
    this.path = path;
  }
}

/**
 * Checks that an open file or folder was reached through no symbolic link.
 * @param descriptor Open without following a link in the last component of the path.
 * @param path Absolute and normalised, as it was opened.
 * @throws LinkedPath when a folder on the path is a link.
 */
export function requirePlainPath(descriptor: number, path: string): void {
  const folder = dirname(path);
  // The system's own name of what was opened leaves no moment in which a folder could be exchanged.
  const opened = openedPath(descriptor);
  if (opened !== undefined && dirname(opened) === folder) return;
  if (!isIdentical(descriptor, path, folder)) throw new LinkedPath(path);
}

/** Whether the system refused to open a path because its last component is a link. */
export function isRefusedLink(error: unknown, path: string): boolean {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  if (code === 'ELOOP') return true;
  // Linux returns this for a link in place of a folder.
  if (code !== 'ENOTDIR') return false;
  return lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true;
}

/** Path of an open file without links; undefined where the system does not say it. */
function openedPath(descriptor: number): string | undefined {
  try {
    return readlinkSync(`/proc/self/fd/${descriptor}`);
  } catch {
    return undefined;
  }
}

/** Whether a path without links leads to an open file: device and inode decide. */
function isIdentical(descriptor: number, path: string, folder: string): boolean {
  try {
    if (realpathSync(folder) !== folder) return false;
    const [named, opened] = [lstatSync(path), fstatSync(descriptor)];
    return named.dev === opened.dev && named.ino === opened.ino;
  } catch {
    return false;
  }
}
