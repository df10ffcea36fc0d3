import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Note, Notes } from '../../store/notes.ts';

const NAME = /^[0-9a-f-]{36}\.json$/;

/** Where the processes of a catalog note the uses of keys: a JSON text each, by the name of the process. */
export interface UseBoard {
  /** @param name A UUID. */
  write(name: string, text: string): Promise<void>;
  all(): Promise<readonly Note[]>;
  remove(name: string): Promise<void>;
  close(): Promise<void>;
}

/** Uses in files of a folder. */
export function folderUses(folder: string): UseBoard {
  const path = (name: string): string => join(folder, `${name}.json`);
  const textOf = (name: string): Promise<string> => readFile(path(name), 'utf8').catch(() => '');
  return {
    write: async (name, text) => {
      const draft = `${path(name)}.tmp`;
      await mkdir(folder, { recursive: true, mode: 0o700 });
      await writeFile(draft, `${text}\n`, { mode: 0o600 });
      await rename(draft, path(name));
    },
    all: async () => {
      const files = await readdir(folder).catch((): string[] => []);
      const names = files.filter((file) => NAME.test(file)).map((file) => file.slice(0, -5));
      return Promise.all(names.map(async (name) => ({ name, text: await textOf(name) })));
    },
    remove: (name) => rm(path(name), { force: true }),
    close: async () => undefined,
  };
}

/** Uses in notes beside the store, for gateways without a common folder. */
export function notedUses(notes: Notes): UseBoard {
  return {
    write: (name, text) => notes.keep(name, text),
    all: () => notes.all(),
    remove: (name) => notes.remove(name),
    close: () => notes.close(),
  };
}
