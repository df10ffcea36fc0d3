import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync } from 'node:fs';
import { lstat, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isAlive, ownMark, type ProcessMark } from './process-mark.ts';

/** Age of a folder of an unknown machine from which it counts as left behind, in ms. */
const FOREIGN_MILLIS = 7 * 24 * 3600 * 1000;

/** What follows the kind in `KIND-HOST-PID-BIRTH-…`: the gateway that made the folder. */
const MAKER = /^(?<host>[0-9a-f]{16})-(?<pid>\d+)-(?<born>\d*)-/;

/** Folders for temporary files of a process and of its children. A later process removes them if this one is killed. */
export class ProcessScratch {
  readonly #kind: string;
  readonly #folder: string;
  readonly #opened: Promise<void>;
  #prefix = '';

  /**
   * @param kind What the folders are for: their names begin with it.
   * @param folder Where they are made, if it can be written; otherwise in the folder of the system.
   */
  constructor(kind: string, folder: string = tmpdir()) {
    this.#kind = `${kind}-`;
    this.#folder = folder;
    this.#opened = this.#open();
  }

  /** Resolves once `make` can be called. */
  opened(): Promise<void> {
    return this.#opened;
  }

  /** Makes a folder. @throws the system's error if there is no place for it. */
  make(): string {
    try {
      mkdirSync(this.#folder, { recursive: true, mode: 0o700 });
      return mkdtempSync(join(this.#folder, this.#prefix));
    } catch {
      return mkdtempSync(join(tmpdir(), this.#prefix));
    }
  }

  async #open(): Promise<void> {
    const own = await ownMark();
    this.#prefix = `${this.#kind}${hashOf(own.host)}-${own.pid}-${own.born}-`;
    void this.#clear(own);
  }

  /** Removes what gateways that are gone have left. Nobody waits for it. Never rejects. */
  async #clear(own: ProcessMark): Promise<void> {
    for (const parent of new Set([this.#folder, tmpdir()])) {
      for (const name of await readdir(parent).catch(() => [])) {
        if (!name.startsWith(this.#kind)) continue;
        const path = join(parent, name);
        if (parent === tmpdir() && !(await isOwn(path))) continue;
        if (await isLeft(path, name.slice(this.#kind.length), own)) await removeScratch(path);
      }
    }
  }
}

/** Removes a folder. What cannot be removed goes at the next start. */
export async function removeScratch(path: string): Promise<void> {
  await rm(path, { recursive: true, force: true }).catch(() => undefined);
}

/** Whether this user made a folder. Another one could change it into a link while it is removed. */
async function isOwn(path: string): Promise<boolean> {
  const found = await lstat(path).catch(() => undefined);
  return found?.isDirectory() === true && found.uid === process.getuid?.();
}

/** Whether the gateway that made a folder is gone. @param maker Its name behind the kind. */
async function isLeft(path: string, maker: string, own: ProcessMark): Promise<boolean> {
  const { host, pid, born = '' } = MAKER.exec(maker)?.groups ?? {};
  if (host === undefined) return false;
  if (host === hashOf(own.host)) {
    return (await isAlive({ host: own.host, pid: Number(pid), born }, own)) === false;
  }
  const found = await lstat(path).catch(() => undefined);
  return found !== undefined && Date.now() - found.mtimeMs > FOREIGN_MILLIS;
}

function hashOf(host: string): string {
  return createHash('sha256').update(host).digest('hex').slice(0, 16);
}
