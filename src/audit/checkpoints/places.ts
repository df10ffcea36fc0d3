import { readFile } from 'node:fs/promises';
import { appendFileDurable } from '../../storage/append-durable.ts';
import type { Notes, ReadNotes } from '../../store/notes.ts';

/** Where checkpoints are kept, apart from the log that they vouch for; only to be read. */
export interface CheckpointSource {
  /** Name of the place in messages. */
  readonly name: string;
  /** The stored checkpoints, as unparsed texts. */
  all(): Promise<readonly string[]>;
}

/** The same, to be written. */
export interface CheckpointPlace extends CheckpointSource {
  /** Keeps the newest checkpoint of an instance. */
  write(instance: string, text: string): Promise<void>;
}

/** The notes of the store: the newest checkpoint of each instance. */
export function notesPlace(notes: Notes): CheckpointPlace {
  return {
    ...readableNotes(notes),
    write: (instance, text) => notes.keepOwn(instance, text),
  };
}

/** The same to be read. */
export function readableNotes(notes: ReadNotes, name = 'the store'): CheckpointSource {
  return {
    name,
    all: async () => (await notes.all()).map(({ text }) => text),
  };
}

/**
 * A file to which every checkpoint is added, a line each. Many gateways may
 * share it: a line is written at once, at the end.
 */
export function anchorFile(path: string): CheckpointPlace {
  return {
    name: path,
    write: (_instance, text) => appendFileDurable(path, `${text}\n`),
    all: () => linesOf(path),
  };
}

/** A line that lacks its newline was torn by a crash: the one before it stands. */
async function linesOf(path: string): Promise<readonly string[]> {
  const text = await readFile(path, 'utf8');
  return text
    .slice(0, text.lastIndexOf('\n') + 1)
    .split('\n')
    .slice(0, -1);
}
