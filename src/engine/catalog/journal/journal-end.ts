import { open, type FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import { readLines } from '../../../storage/line-reader.ts';
import { decodeChange } from './journal-line.ts';
import { journalFiles } from './journal-reader.ts';
import { listSnapshots } from './snapshot-file.ts';

/** How much of the end of a file is looked at first, in bytes. */
const TAIL_BYTES = 2 ** 16;
const NEWLINE = 0x0a;

/**
 * The number of the last change that a journal holds, of whatever process; 0
 * when it holds none. Only the ends of its files are read.
 */
export async function lastInJournal(folder: string): Promise<bigint> {
  let last = (await listSnapshots(folder))[0]?.sequence ?? 0n;
  for (const { name } of await journalFiles(folder)) {
    // Lines of one file ascend.
    const found = await lastInFile(join(folder, name));
    if (found !== undefined && found > last) last = found;
  }
  return last;
}

/** The number of the last change in a file of a journal; undefined when there is none, or no such file. */
export async function lastInFile(path: string): Promise<bigint | undefined> {
  const file = await openIfPresent(path);
  if (file === undefined) return undefined;
  try {
    return (await lastInTail(file)) ?? (await lastOfAll(path));
  } finally {
    await file.close();
  }
}

async function openIfPresent(path: string): Promise<FileHandle | undefined> {
  try {
    return await open(path, 'r');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw error;
  }
}

async function lastInTail(file: FileHandle): Promise<bigint | undefined> {
  const { size } = await file.stat();
  const start = Math.max(0, size - TAIL_BYTES);
  const { buffer, bytesRead } = await file.read(Buffer.alloc(size - start), 0, size - start, start);
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
async function lastOfAll(path: string): Promise<bigint | undefined> {
  let last: bigint | undefined;
  for await (const line of readLines(path)) {
    const change = line.ended ? decodeChange(line.bytes) : undefined;
    if (change !== undefined) last = change.sequence;
  }
  return last;
}
