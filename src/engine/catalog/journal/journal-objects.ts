import { join } from 'node:path';
import { unlessMissing } from '../../../storage/storage-error.ts';
import { discardAll } from '../../../storage/discard-all.ts';
import type { Storage } from '../../../storage/storage.ts';
import { journalFileName, listedFiles, type ListedJournalFile } from './journal-files.ts';
import { decodeChange, type ChangeLine } from './journal-line.ts';

/** The writer of an object, and the number of the object among its own. */
interface ObjectWriter {
  readonly instance: string;
  readonly number: number;
}

/** Objects of this size are not merged any more, in bytes. */
const WHOLE_BYTES = 4 * 2 ** 20;
/** Bytes of the objects that are merged into one. */
const BATCH_BYTES = 8 * 2 ** 20;
/** The fewest objects that are worth merging. */
const FEWEST = 16;
/** Age of objects that may be merged, in ms: those of a living writer are merged by it. */
const AGE_MILLIS = 60_000;

/**
 * Writes lines as one object, whose name nobody else uses, in the order of their changes.
 * @returns Its name. It is durable.
 * @throws Error if it is not certain that the object is there.
 */
export async function putLines(
  storage: Storage,
  folder: string,
  writer: ObjectWriter,
  lines: readonly ChangeLine[],
): Promise<string> {
  const ordered = lines.toSorted((left, right) => Number(left.sequence - right.sequence));
  const [first, last] = [ordered[0]!.sequence, ordered.at(-1)!.sequence];
  const name = journalFileName({ first, last, ...writer });
  const bytes = Buffer.concat(ordered.map((line) => line.bytes));
  if ((await storage.putIfAbsent(join(folder, name), bytes)) === 'created') return name;
  throw new Error(`the object ${name} of the journal was written by another process`);
}

/**
 * Merges small objects that their writers left, so that their number stays bounded: about as many as the
 * journal has multiples of 4 MiB. Several processes may do so at once: readers take a line that occurs
 * twice once.
 * @param after The number of the last change of a snapshot: objects that it holds are left to be removed.
 */
export async function mergeObjects(
  storage: Storage,
  folder: string,
  instance: string,
  after: bigint,
  ageMillis: number = AGE_MILLIS,
): Promise<void> {
  const before = Date.now() - ageMillis;
  const small = (await listedFiles(storage, folder)).filter(
    ({ last, bytes, writtenMillis }) =>
      last !== undefined && last > after && bytes < WHOLE_BYTES && writtenMillis < before,
  );
  for (const [at, batch] of batchesOf(small).entries()) {
    if (batch.length < FEWEST) continue;
    await mergeBatch(storage, folder, { instance, number: at + 1 }, batch);
  }
}

/** Objects that follow one another by their names, as many as may be merged into one. */
function batchesOf(files: readonly ListedJournalFile[]): readonly (readonly ListedJournalFile[])[] {
  const batches: ListedJournalFile[][] = [];
  let bytes = Number.POSITIVE_INFINITY;
  for (const file of files) {
    if (bytes + file.bytes > BATCH_BYTES) {
      batches.push([]);
      bytes = 0;
    }
    batches.at(-1)!.push(file);
    bytes += file.bytes;
  }
  return batches;
}

async function mergeBatch(
  storage: Storage,
  folder: string,
  writer: ObjectWriter,
  batch: readonly ListedJournalFile[],
): Promise<void> {
  const lines = new Map<string, ChangeLine>();
  const merged: string[] = [];
  for (const { name } of batch) {
    const found = await linesIn(storage, join(folder, name));
    if (found === undefined) continue;
    merged.push(name);
    for (const line of found) lines.set(Buffer.from(line.bytes).toString('latin1'), line);
  }
  if (merged.length < FEWEST) return;
  await putLines(storage, folder, writer, [...lines.values()]);
  const keys = merged.map((name) => join(folder, name));
  await discardAll(storage, keys);
}

/** The lines of an object; undefined if it is gone, or one of them is damaged: then it stays as it is. */
async function linesIn(storage: Storage, path: string): Promise<readonly ChangeLine[] | undefined> {
  const bytes = await unlessMissing(storage.read(path, 'all'));
  if (bytes === undefined || bytes.at(-1) !== NEWLINE) return undefined;
  const lines: ChangeLine[] = [];
  for (let start = 0; start < bytes.byteLength;) {
    const end = bytes.indexOf(NEWLINE, start);
    const change = decodeChange(bytes.subarray(start, end));
    if (change === undefined) return undefined;
    lines.push({ sequence: change.sequence, bytes: bytes.subarray(start, end + 1) });
    start = end + 1;
  }
  return lines;
}

const NEWLINE = 0x0a;
