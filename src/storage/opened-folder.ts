import { closeSync, constants, fstatSync, openSync, type BigIntStats, type Stats } from 'node:fs';
import { lstat, opendir, rmdir, unlink } from 'node:fs/promises';
import { platform } from 'node:process';
import { isRefusedLink, LinkedPath, requirePlainPath } from './plain-path.ts';
import { isMissing, unlessMissing } from './storage-error.ts';

const OPENING = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW;

/**
 * An open folder that was reached through no symbolic link. On Linux its entries are reached
 * through the descriptor, so that a folder that is exchanged meanwhile makes no difference;
 * elsewhere they are reached by the path that was checked.
 */
export class OpenedFolder {
  readonly path: string;
  readonly #descriptor: number;

  private constructor(path: string, descriptor: number) {
    this.path = path;
    this.#descriptor = descriptor;
  }

  /**
   * Opens a folder.
   * @param path Absolute and normalised.
   * @returns Undefined when there is none.
   * @throws LinkedPath when a component of the path is a link.
   */
  static open(path: string): OpenedFolder | undefined {
    const descriptor = descriptorOf(path, path);
    if (descriptor === undefined) return undefined;
    try {
      requirePlainPath(descriptor, path);
      return new OpenedFolder(path, descriptor);
    } catch (error) {
      closeSync(descriptor);
      throw error;
    }
  }

  /** Opens a folder in this one; undefined when there is none. @throws LinkedPath when it is a link. */
  inner(name: string): OpenedFolder | undefined {
    const path = `${this.path}/${name}`;
    const descriptor = descriptorOf(this.#reach(name), path);
    return descriptor === undefined ? undefined : new OpenedFolder(path, descriptor);
  }

  /** Device and inode of the folder: they tell it from all others. */
  identity(): FolderIdentity {
    return identityOf(fstatSync(this.#descriptor, { bigint: true }));
  }

  /** Names of the entries. */
  async *names(): AsyncGenerator<string> {
    for await (const { name } of await opendir(this.#reach('.'))) yield name;
  }

  /** Describes an entry itself, not the target of a link; undefined if there is none. */
  async stats(name: string): Promise<Stats | undefined> {
    return unlessMissing(lstat(this.#reach(name)));
  }

  /** Removes a file, or a link as such. @returns Whether it was there. */
  async removeFile(name: string): Promise<boolean> {
    return (await unlessMissing(unlink(this.#reach(name)).then(() => true))) ?? false;
  }

  /** Removes an empty folder; does nothing where there is none. */
  async removeFolder(name: string): Promise<void> {
    await unlessMissing(rmdir(this.#reach(name)));
  }

  close(): void {
    closeSync(this.#descriptor);
  }

  #reach(name: string): string {
    const folder = platform === 'linux' ? `/proc/self/fd/${this.#descriptor}` : this.path;
    return `${folder}/${name}`;
  }
}

/**
 * Checks that a folder in which something is about to be written is reached through no link.
 * @throws LinkedPath; nothing where there is no folder.
 */
export function requireOwnFolder(path: string): void {
  OpenedFolder.open(path)?.close();
}

/** Device and inode of a folder. */
export type FolderIdentity = string;

export function identityOf({ dev, ino }: Pick<BigIntStats, 'dev' | 'ino'>): FolderIdentity {
  return `${dev} ${ino}`;
}

function descriptorOf(reached: string, path: string): number | undefined {
  try {
    return openSync(reached, OPENING);
  } catch (error) {
    if (isMissing(error)) return undefined;
    if (isRefusedLink(error, reached)) throw new LinkedPath(path);
    throw error;
  }
}
