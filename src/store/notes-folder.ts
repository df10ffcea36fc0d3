import { randomUUID } from 'node:crypto';
import { readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
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
    const temporary = join(this.#folder, `${name}.${randomUUID()}.tmp`);
    try {
      await writeFile(temporary, text, { mode: 0o600, flag: 'wx' });
      await rename(temporary, this.#path(name));
    } catch (error) {
      await rm(temporary, { force: true }).catch(() => undefined);
      throw error;
    }
  }

  async remove(name: string): Promise<void> {
    await rm(this.#path(name), { force: true });
  }

  async all(): Promise<readonly Note[]> {
    const names = (await readdir(this.#folder)).filter((name) => name.endsWith(SUFFIX)).sort();
    return Promise.all(
      names.map(async (name) => ({
        name: name.slice(0, -SUFFIX.length),
        text: await readFile(join(this.#folder, name), 'utf8'),
      })),
    );
  }

  async close(): Promise<void> {
    // Nothing is open between two calls.
  }

  #path(name: string): string {
    return join(this.#folder, `${name}${SUFFIX}`);
  }
}
