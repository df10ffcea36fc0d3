import { join } from 'node:path';
import type { OpenObject, Storage } from '../../../storage/storage.ts';
import { unlessMissing } from '../../../storage/storage-error.ts';
import { readUpTo } from '../../../storage/open-object.ts';
import type { StoreChange, Store } from '../../../store/store.ts';
import { lastInFile } from '../../catalog/journal/journal-end.ts';
import { listedFiles, type JournalFile } from '../../catalog/journal/journal-files.ts';
import { decodeChange } from '../../catalog/journal/journal-line.ts';

/** How much of the end of each file is looked at, in bytes; more if it holds fewer than `CHANGES` lines. */
const TAIL_BYTES = 2 ** 18;
const MOST_TAIL_BYTES = 2 ** 24;
/** Of how many files the ends are looked at. */
const FILES = 32;
/** How many of the newest changes must be in the store. */
const CHANGES = 256;
/** Maximum number of changes whose lines are still missing. */
const PENDING = 10_000;

/**
 * Whether the store lacks changes that the journal holds: it was restored to an earlier state, or lost
 * acknowledged changes. Such a store cannot show that a file is unneeded. The newest changes are compared.
 */
export async function isBehind(storage: Storage, folder: string, store: Store): Promise<boolean> {
  const { changes, from } = await tailOf(storage, folder);
  // An earlier value may have been replaced by a change that was not read.
  const newest = newestValues(changes.filter(({ sequence }) => sequence >= from).slice(-CHANGES));
  const keys = [...newest.keys()];
  const values = await store.getMany(keys);
  const odd = keys.filter((key, at) => !same(values[at], newest.get(key)?.value));
  if (odd.length === 0) return false;
  // Others may have gone on in between: then the value is that of a later change.
  const pending = await store.changes(PENDING);
  const later = [...pending, ...(await tailOf(storage, folder)).changes];
  return odd.some((key) => {
    const value = values[keys.indexOf(key)];
    const since = newest.get(key)?.sequence ?? 0n;
    return !later.some(
      ({ sequence, writes }) =>
        sequence >= since && writes.some((write) => write.key === key && same(value, write.value)),
    );
  });
}

interface Newest {
  readonly sequence: bigint;
  readonly value: Uint8Array | null;
}

function newestValues(changes: readonly StoreChange[]): ReadonlyMap<string, Newest> {
  const values = new Map<string, Newest>();
  for (const { sequence, writes } of changes) {
    for (const { key, value } of writes) values.set(key, { sequence, value });
  }
  return values;
}

function same(held: Uint8Array | undefined, journaled: Uint8Array | null | undefined): boolean {
  if (held === undefined || journaled === null || journaled === undefined) {
    return held === undefined && (journaled === null || journaled === undefined);
  }
  return Buffer.compare(held, journaled) === 0;
}

/** Changes at the ends of files. */
interface Tail {
  /** In their order. */
  readonly changes: readonly StoreChange[];
  /** The number from which on no change of these files is missing. */
  readonly from: bigint;
}

/** Above all numbers of changes. */
const NOTHING_READ = 2n ** 64n;

/** The changes at the ends of the files that were written last. */
async function tailOf(storage: Storage, folder: string): Promise<Tail> {
  const changes: StoreChange[] = [];
  let from = 0n;
  const files = await newestFirst(storage, folder);
  // A file that is left out may hold a later value of a key than one that was written after it.
  for (const file of files.slice(FILES)) {
    const last = await lastInFile(storage, folder, file);
    if (last !== undefined && last >= from) from = last + 1n;
  }
  for (const { name } of files.slice(0, FILES)) {
    const end = await unlessMissing(endOf(storage, join(folder, name)));
    if (end === undefined) continue;
    changes.push(...end.changes);
    if (end.from > from) from = end.from;
  }
  return {
    changes: changes.toSorted((left, right) => (left.sequence < right.sequence ? -1 : 1)),
    from,
  };
}

/** The files, those that were written last first. */
async function newestFirst(storage: Storage, folder: string): Promise<readonly JournalFile[]> {
  const files = await listedFiles(storage, folder);
  return files.toSorted((left, right) => right.writtenMillis - left.writtenMillis);
}

/** The changes at the end of a file: the line of one change may be longer than `TAIL_BYTES`. */
async function endOf(storage: Storage, path: string): Promise<Tail> {
  const file = await storage.open(path, 'all');
  try {
    const size = file.size();
    for (let bytes = TAIL_BYTES; ; bytes *= 4) {
      const start = Math.max(0, size - bytes);
      const changes = await changesFrom(file, start, size);
      if (start === 0) return { changes, from: 0n };
      if (changes.length >= CHANGES || bytes >= MOST_TAIL_BYTES)
        return { changes, from: changes[0]?.sequence ?? NOTHING_READ };
    }
  } finally {
    file.close();
  }
}

/** The changes whose lines lie whole between two positions. */
async function changesFrom(
  file: OpenObject,
  start: number,
  end: number,
): Promise<readonly StoreChange[]> {
  const buffer = Buffer.alloc(end - start);
  const bytesRead = await readUpTo(file, buffer, start);
  const lines = linesOf(buffer.subarray(0, bytesRead));
  return lines.slice(start === 0 ? 0 : 1).flatMap((line) => decodeChange(line) ?? []);
}

/** The lines that end, without their newlines. */
function linesOf(bytes: Buffer): readonly Buffer[] {
  const lines: Buffer[] = [];
  let start = 0;
  for (let end = bytes.indexOf(0x0a); end >= 0; end = bytes.indexOf(0x0a, start)) {
    lines.push(bytes.subarray(start, end));
    start = end + 1;
  }
  return lines;
}
