import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync } from 'node:fs';
import { readdir, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isAlive, ownMark, type ProcessMark } from '../store/process-mark.ts';

/** Age of a folder of an unknown machine from which it counts as left behind, in ms. */
const FOREIGN_MILLIS = 7 * 24 * 3600 * 1000;

/** `library-HOST-PID-BIRTH-…`: the gateway that made the folder. */
const NAME = /^library-(?<host>[0-9a-f]{16})-(?<pid>\d+)-(?<born>\d*)-/;

/**
 * Folders for the temporary files of library processes: what a sort or the build of an index does not hold
 * in memory. The library removes its files itself, except in a process that is killed.
 */
export class LibraryScratch {
  readonly #folder: string;
  readonly #opened: Promise<void>;
  #prefix = '';

  /** @param folder Where they are made, if it can be written; otherwise in the folder of the system. */
  constructor(folder: string) {
    this.#folder = folder;
    this.#opened = this.#open();
  }

  /** Resolves once `make` can be called. */
  opened(): Promise<void> {
    return this.#opened;
  }

  /** Makes a folder for one process. */
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
    this.#prefix = `library-${hashOf(own.host)}-${own.pid}-${own.born}-`;
    void this.#clear(own);
  }

  /** Removes what gateways that are gone have left. Nobody waits for it. Never rejects. */
  async #clear(own: ProcessMark): Promise<void> {
    for (const parent of [this.#folder, tmpdir()]) {
      for (const name of await readdir(parent).catch(() => [])) {
        const path = join(parent, name);
        if (await isLeft(path, name, own)) await removeScratch(path);
      }
    }
  }
}

/** Removes the folder of a process. What cannot be removed goes at the next start. */
export async function removeScratch(path: string): Promise<void> {
  await rm(path, { recursive: true, force: true }).catch(() => undefined);
}

/** Whether the gateway that made a folder is gone. */
async function isLeft(path: string, name: string, own: ProcessMark): Promise<boolean> {
  const { host, pid, born = '' } = NAME.exec(name)?.groups ?? {};
  if (host === undefined) return false;
  if (host === hashOf(own.host)) {
    return (await isAlive({ host: own.host, pid: Number(pid), born }, own)) === false;
  }
  const found = await stat(path).catch(() => undefined);
  return found !== undefined && Date.now() - found.mtimeMs > FOREIGN_MILLIS;
}

function hashOf(host: string): string {
  return createHash('sha256').update(host).digest('hex').slice(0, 16);
}
