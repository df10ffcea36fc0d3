import { basename } from 'node:path';
import type { Storage } from '../../../storage/storage.ts';
import { StorageError } from '../../../storage/storage-error.ts';

/** A file of a journal, by its name. */
export interface JournalFile {
  readonly name: string;
  /** The number of its first change. */
  readonly first: bigint;
  /** The number of its last change; undefined for a file that may grow. */
  readonly last: bigint | undefined;
}

/** A file of a journal as its folder lists it. */
export interface ListedJournalFile extends JournalFile {
  readonly bytes: number;
  /** When it was written last, in milliseconds since 1970. */
  readonly writtenMillis: number;
}

const NAME = /^journal-(\d{20})(?:-(\d{20}))?-[0-9a-f]+-\d+\.jsonl$/;

/**
 * The name of a journal file, by the numbers of its first change and, if it does not grow, of its last
 * one: names sort in the order of changes.
 */
export function journalFileName({
  first,
  last,
  instance,
  number,
}: {
  readonly first: bigint;
  readonly last?: bigint;
  /** Distinguishes the writer from all others: hexadecimal. */
  readonly instance: string;
  /** Counts the files of the writer. */
  readonly number: number;
}): string {
  const range = last === undefined ? padded(first) : `${padded(first)}-${padded(last)}`;
  return `journal-${range}-${instance}-${number}.jsonl`;
}

function padded(sequence: bigint): string {
  return sequence.toString().padStart(20, '0');
}

/** The names in the folder of a journal. @throws an error that `isMissing` where there is no folder. */
export async function folderNames(storage: Storage, folder: string): Promise<readonly string[]> {
  const names = await storage.names(folder);
  if (names === undefined) throw new StorageError('ENOENT', `there is no folder ${folder}`);
  return names;
}

/** The files of a journal, in the order of their first changes. */
export async function journalFiles(storage: Storage, folder: string): Promise<JournalFile[]> {
  const names = (await folderNames(storage, folder)).toSorted();
  return names.flatMap((name) => fileOf(name) ?? []);
}

/** The same with sizes and times. */
export async function listedFiles(
  storage: Storage,
  folder: string,
): Promise<readonly ListedJournalFile[]> {
  const found: ListedJournalFile[] = [];
  for await (const { path, bytes, writtenMillis } of storage.entries(folder)) {
    const file = fileOf(basename(path));
    if (file !== undefined) found.push({ ...file, bytes, writtenMillis });
  }
  return found.toSorted((left, right) => (left.name < right.name ? -1 : 1));
}

/** When the files of a journal were written to last, in milliseconds since 1970. */
export async function lastWritten(storage: Storage, folder: string): Promise<number> {
  const files = await listedFiles(storage, folder);
  return files.reduce((last, { writtenMillis }) => Math.max(last, writtenMillis), 0);
}

function fileOf(name: string): JournalFile | undefined {
  const [, first, last] = NAME.exec(name) ?? [];
  if (first === undefined) return undefined;
  return { name, first: BigInt(first), last: last === undefined ? undefined : BigInt(last) };
}
