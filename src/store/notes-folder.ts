import { randomUUID } from 'node:crypto';
import { link, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { makeFolder } from './folder.ts';
import type { Note, Notes } from './notes.ts';

const SUFFIX = '.json';

/** Opens the notes of a folder, a file for each; the folder is made where it is missing (mode 0700). */
export async function openNotesFolder(folder: string): Promise<Notes> {
  await makeFolder(folder, 0o700);
  return new NotesFolder(folder);
}

class NotesFolder implements Notes {
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
  }

  async keep(name: string, text: string): Promise<void> {
    await this.#written(name, text, (temporary) => rename(temporary, this.#path(name)));
  }

  async claim(name: string, text: string): Promise<boolean> {
    try {
      await this.#written(name, text, (temporary) => link(temporary, this.#path(name)));
      return true;
    } catch (error) {
      if (hasCode(error, 'EEXIST')) return false;
      throw error;
    }
  }

  async get(name: string): Promise<string | undefined> {
    return readFile(this.#path(name), 'utf8').catch((error: unknown) => {
      if (hasCode(error, 'ENOENT')) return undefined;
      throw error;
    });
  }

  async remove(name: string): Promise<void> {
    await rm(this.#path(name), { force: true });
  }

  async all(): Promise<readonly Note[]> {
    const names = (await readdir(this.#folder)).filter((name) => name.endsWith(SUFFIX)).sort();
    const notes = await Promise.all(
      names.map(async (file) => {
        const name = file.slice(0, -SUFFIX.length);
        return { name, text: await this.get(name) };
      }),
    );
    // Another process may have removed one meanwhile.
    return notes.flatMap(({ name, text }) => (text === undefined ? [] : [{ name, text }]));
  }

  async close(): Promise<void> {
    // Nothing is open between two calls.
  }

  /** Writes a text under a name of its own, which is gone after something was done with it. */
  async #written(
    name: string,
    text: string,
    place: (temporary: string) => Promise<void>,
  ): Promise<void> {
    const temporary = join(this.#folder, `${name}.${randomUUID()}.tmp`);
    try {
      await writeFile(temporary, text, { mode: 0o600, flag: 'wx' });
      await place(temporary);
    } finally {
      await rm(temporary, { force: true }).catch(() => undefined);
    }
  }

  #path(name: string): string {
    return join(this.#folder, `${name}${SUFFIX}`);
  }
}

function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code;
}
