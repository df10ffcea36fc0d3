import { join } from 'node:path';
import { unlessMissing } from '../../../storage/storage-error.ts';
import type { Storage } from '../../../storage/storage.ts';
import type { Notes, ReadNotes } from '../../../store/notes.ts';
import { messageOf, StoreError } from '../../../store/store-error.ts';

/** A sign of life as it was posted. */
export interface PostedSign {
  readonly name: string;
  readonly text: string;
  /** When it was posted, in milliseconds since 1970; undefined where that is not known. */
  readonly postedMillis: () => Promise<number | undefined>;
}

/** Where the processes of a catalog read each other's signs of life. Names end in `.json`. */
export interface ReadPresenceBoard {
  /** All signs. @throws DoubtfulSigns where some may be missing. */
  signs(): Promise<readonly PostedSign[]>;
}

/** The same for a process that posts signs. */
export interface PresenceBoard extends ReadPresenceBoard {
  /** Posts a sign in place of the last one of that name. */
  post(name: string, text: string): Promise<void>;
  /** Removes a sign, if it is there. */
  remove(name: string): Promise<void>;
  close(): Promise<void>;
}

/** Signs of living processes may be missing; each process posts its own again soon. */
export class DoubtfulSigns extends StoreError {
  constructor() {
    super('unavailable', 'not all processes have said yet what they are working on');
    this.name = 'DoubtfulSigns';
  }
}

/** Longest time from one sign of a process to the next, in ms. */
export const PRESENCE_MILLIS = 6000;

const SUFFIX = '.json';

/** Signs as files of a folder that all processes share. */
export function folderBoard(storage: Storage, folder: string): PresenceBoard {
  let made: Promise<void> | undefined;
  return {
    post: async (name, text) => {
      await (made ??= storage.folders?.make(folder));
      await storage.note(join(folder, name), Buffer.from(text));
    },
    signs: async () => {
      const found: PostedSign[] = [];
      for (const name of (await storage.names(folder)) ?? []) {
        if (!name.endsWith(SUFFIX)) continue;
        const path = join(folder, name);
        const text = (await unlessMissing(storage.read(path, 'all')))?.toString();
        const postedMillis = async () => (await storage.stat(path))?.writtenMillis;
        if (text !== undefined) found.push({ name, text, postedMillis });
      }
      return found;
    },
    remove: async (name) => {
      for (const left of [name, `${name}.new`]) await storage.discard(join(folder, left));
    },
    close: async () => undefined,
  };
}

/** Signs as notes beside the store, for a process that posts none. */
export function readBoard(notes: ReadNotes): ReadPresenceBoard {
  return { signs: () => answered(signsOf(notes)) };
}

/**
 * Signs as notes beside the store, for processes that share no folder. A server that took over or was
 * restarted may have lost the latest notes. That is noticed by the own sign, and the signs are doubtful
 * until every process has posted again; so they are after the start.
 */
export function notedBoard(notes: Notes): PresenceBoard {
  return new NotedBoard(notes);
}

class NotedBoard implements PresenceBoard {
  readonly #notes: Notes;
  /** The last sign that was posted, and the one that is being posted. */
  #own: readonly string[] = [];
  #name: string | undefined;
  #doubtfulUntil = performance.now() + PRESENCE_MILLIS;

  constructor(notes: Notes) {
    this.#notes = notes;
  }

  async post(name: string, text: string): Promise<void> {
    this.#name = name;
    this.#own = [...this.#own.slice(-1), text];
    await answered(this.#notes.keepOwn(noteName(name), text));
    this.#own = [text];
  }

  async signs(): Promise<readonly PostedSign[]> {
    const before = this.#own;
    const signs = await answered(signsOf(this.#notes));
    const own = signs.find(({ name }) => name === this.#name)?.text ?? '';
    if (this.#name !== undefined && ![...before, ...this.#own].includes(own)) {
      this.#doubtfulUntil = performance.now() + PRESENCE_MILLIS;
    }
    if (performance.now() < this.#doubtfulUntil) throw new DoubtfulSigns();
    return signs;
  }

  async remove(name: string): Promise<void> {
    await answered(this.#notes.remove(noteName(name)));
  }

  async close(): Promise<void> {
    await this.#notes.close();
  }
}

async function signsOf(notes: ReadNotes): Promise<readonly PostedSign[]> {
  const all = await notes.all();
  return all.map(({ name, text }) => ({
    name: `${name}${SUFFIX}`,
    text,
    postedMillis: async () => undefined,
  }));
}

function noteName(name: string): string {
  return name.slice(0, -SUFFIX.length);
}

/** @throws StoreError unavailable for any error of the notes */
async function answered<Result>(work: Promise<Result>): Promise<Result> {
  try {
    return await work;
  } catch (error) {
    throw new StoreError('unavailable', `the presence of processes: ${messageOf(error)}`);
  }
}
