import { randomUUID } from 'node:crypto';
import { link, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { makeFolder } from '../../storage/folder.ts';
import { NoteFile, noteIn } from '../../storage/note-file.ts';
import type { Note, Notes, ReadNotes } from '../notes.ts';

const SUFFIX = '.json';
/** Suffix of notes that one process writes frequently. */
const OWN_SUFFIX = '.note';

/** Opens the notes of a folder, one file each. Creates the folder if it is missing (mode 0700). */
export async function openNotesFolder(folder: string): Promise<Notes> {
  await makeFolder(folder, 0o700);
  return new NotesFolder(folder);
}

/** The notes of a folder for reading; none if the folder is missing. */
export function readNotesFolder(folder: string): ReadNotes {
  return new NotesFolder(folder);
}

class NotesFolder implements Notes {
  readonly #folder: string;
  readonly #own = new Map<string, NoteFile>();

  constructor(folder: string) {
    this.#folder = folder;
  }

  async keep(name: string, text: string): Promise<void> {
    await this.#written(name, text, (temporary) => rename(temporary, this.#path(name)));
  }

  async keepOwn(name: string, text: string): Promise<void> {
    const file = this.#own.get(name) ?? new NoteFile(this.#ownPath(name));
    this.#own.set(name, file);
    file.write(text);
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
    const whole = await contentOf(this.#path(name));
    if (whole !== undefined) return whole.toString();
    const own = await contentOf(this.#ownPath(name));
    return own && noteIn(own);
  }

  async remove(name: string): Promise<void> {
    await rm(this.#path(name), { force: true });
    await rm(this.#ownPath(name), { force: true });
  }

  async all(): Promise<readonly Note[]> {
    const files = await readdir(this.#folder).catch((error: unknown) => {
      if (hasCode(error, 'ENOENT')) return [];
      throw error;
    });
    const names = new Set(files.flatMap((file) => nameOf(file) ?? []));
    const notes = await Promise.all(
      [...names].sort().map(async (name) => ({ name, text: await this.get(name) })),
    );
    // Another process may have removed a note meanwhile.
    return notes.flatMap(({ name, text }) => (text === undefined ? [] : [{ name, text }]));
  }

  async close(): Promise<void> {
    for (const file of this.#own.values()) file.close();
    this.#own.clear();
  }

  /** Writes a text into a temporary file, which is moved or linked and then removed. */
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

  #ownPath(name: string): string {
    return join(this.#folder, `${name}${OWN_SUFFIX}`);
  }
}

/** Name of the note in a file; undefined for other files. */
function nameOf(file: string): string | undefined {
  const suffix = [SUFFIX, OWN_SUFFIX].find((one) => file.endsWith(one));
  return suffix && file.slice(0, -suffix.length);
}

/** Bytes of a file; undefined if there is none. */
async function contentOf(path: string): Promise<Buffer | undefined> {
  return readFile(path).catch((error: unknown) => {
    if (hasCode(error, 'ENOENT')) return undefined;
    throw error;
  });
}

function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code;
}
