import { join } from 'node:path';
import { linesOf } from '../../../storage/line-reader.ts';
import { readUpTo } from '../../../storage/open-object.ts';
import type { OpenObject, Storage } from '../../../storage/storage.ts';
import { unlessMissing } from '../../../storage/storage-error.ts';
import { decodeChange } from './journal-line.ts';
import { journalFiles, type JournalFile } from './journal-files.ts';
import { listSnapshots } from './snapshot-file.ts';

/** How much of the end of a file is looked at first, in bytes. */
const TAIL_BYTES = 2 ** 16;
const NEWLINE = 0x0a;

/**
 * The number of the last change that a journal holds, of whatever process; 0
 * when it holds none. Only the ends of its files are read, and nothing of those whose names say it.
 */
export async function lastInJournal(storage: Storage, folder: string): Promise<bigint> {
  let last = (await listSnapshots(storage, folder))[0]?.sequence ?? 0n;
  for (const file of await journalFiles(storage, folder)) {
    // Lines of one file ascend.
    const found = await lastInFile(storage, folder, file);
    if (found !== undefined && found > last) last = found;
  }
  return last;
}

/** The number of the last change in a file of a journal; undefined when there is none, or no such file. */
export async function lastInFile(
  storage: Storage,
  folder: string,
  { name, last }: JournalFile,
): Promise<bigint | undefined> {
  if (last !== undefined) return last;
  const path = join(folder, name);
  const file = await unlessMissing(opened(storage, path));
  if (file === undefined) return undefined;
  try {
    return (await lastInTail(file)) ?? (await lastOfAll(storage, path));
  } finally {
    file.close();
  }
}

async function opened(storage: Storage, path: string): Promise<OpenObject> {
  return storage.open(path, 'all');
}

async function lastInTail(file: OpenObject): Promise<bigint | undefined> {
  const size = file.size();
  const start = Math.max(0, size - TAIL_BYTES);
  const buffer = Buffer.alloc(size - start);
  const bytesRead = await readUpTo(file, buffer, start);
  let end = bytesRead;
  while (end > 0) {
    const newline = buffer.lastIndexOf(NEWLINE, end - 1);
    const change = decodeChange(buffer.subarray(newline + 1, end));
    // The very last line has its newline before the end that was looked at first.
    if (change !== undefined && end < bytesRead) return change.sequence;
    end = newline;
  }
  return undefined;
}

/** For a file whose last lines are longer than what was looked at, or damaged. */
async function lastOfAll(storage: Storage, path: string): Promise<bigint | undefined> {
  let last: bigint | undefined;
  for await (const line of linesOf(await opened(storage, path))) {
    const change = line.ended ? decodeChange(line.bytes) : undefined;
    if (change !== undefined) last = change.sequence;
  }
  return last;
}
