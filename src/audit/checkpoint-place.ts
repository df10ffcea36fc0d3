import { open, readFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { syncFolder } from '../store/folder.ts';
import type { Notes, ReadNotes } from '../store/notes.ts';

/** Where checkpoints are kept, apart from the log that they vouch for; only to be read. */
export interface ReadCheckpoints {
  /** What it is called in a message. */
  readonly name: string;
  /** The checkpoints that are kept: texts that nobody has looked at yet. */
  all(): Promise<readonly string[]>;
}

/** The same, to be written. */
export interface CheckpointPlace extends ReadCheckpoints {
  /** Keeps the newest checkpoint of an instance. */
  keep(instance: string, text: string): Promise<void>;
}

/** The notes of the store: the newest checkpoint of each instance. */
export function notesPlace(notes: Notes): CheckpointPlace {
  return {
    ...readableNotes(notes),
    keep: (instance, text) => notes.keepOwn(instance, text),
  };
}

/** The same to be read. */
export function readableNotes(notes: ReadNotes): ReadCheckpoints {
  return {
    name: 'the store',
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
    keep: (_instance, text) => addLine(path, text),
    all: () => linesOf(path),
  };
}

async function addLine(path: string, text: string): Promise<void> {
  const file = await open(path, 'a', 0o600);
  try {
    const isNew = (await file.stat()).size === 0;
    await file.appendFile(`${text}\n`);
    await file.datasync();
    if (isNew) await syncFolder(dirname(path));
  } finally {
    await file.close();
  }
}

/** A line that lacks its newline was torn by a crash: the one before it stands. */
async function linesOf(path: string): Promise<readonly string[]> {
  const text = await readFile(path, 'utf8');
  return text
    .slice(0, text.lastIndexOf('\n') + 1)
    .split('\n')
    .slice(0, -1);
}
