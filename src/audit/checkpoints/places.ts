import { resolve } from 'node:path';
import { appendFileDurable } from '../../storage/append-durable.ts';
import type { Notes, ReadNotes } from '../../store/notes.ts';
import { logStorage } from '../chain/log-files.ts';

/** Checkpoints that are stored apart from the log, for reading. */
export interface CheckpointSource {
  /** Name of the place in messages. */
  readonly name: string;
  /** The stored checkpoints as texts. */
  all(): Promise<readonly string[]>;
}

/** A place to which checkpoints are written. */
export interface CheckpointPlace extends CheckpointSource {
  /** Writes the newest checkpoint of an instance. */
  write(instance: string, text: string): Promise<void>;
}

/** Notes of the store, which hold the newest checkpoint of each instance. */
export function notesPlace(notes: Notes): CheckpointPlace {
  return {
    ...readableNotes(notes),
    write: (instance, text) => notes.keepOwn(instance, text),
  };
}

/** The same notes for reading. */
export function readableNotes(notes: ReadNotes, name = 'the store'): CheckpointSource {
  return {
    name,
    all: async () => (await notes.all()).map(({ text }) => text),
  };
}

/**
 * A file to which every checkpoint is appended as a line. Gateways may share it, because
 * a line is appended with one write.
 */
export function anchorFile(path: string): CheckpointPlace {
  return {
    name: path,
    write: (_instance, text) => appendFileDurable(path, `${text}\n`),
    all: () => linesOf(path),
  };
}

/** The whole lines of a file; a crash may have torn the last one. */
async function linesOf(path: string): Promise<readonly string[]> {
  const text = (await logStorage.read(resolve(path), 'all')).toString();
  return text
    .slice(0, text.lastIndexOf('\n') + 1)
    .split('\n')
    .slice(0, -1);
}
