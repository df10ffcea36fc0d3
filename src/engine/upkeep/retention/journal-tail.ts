import { join } from 'node:path';
import type { Storage } from '../../../storage/storage.ts';
import { unlessMissing } from '../../../storage/storage-error.ts';
import { readUpTo } from '../../../storage/open-object.ts';
import type { StoreChange, Store } from '../../../store/store.ts';
import { listedFiles } from '../../catalog/journal/journal-files.ts';
import { decodeChange } from '../../catalog/journal/journal-line.ts';

/** How much of the end of each file is looked at, in bytes, and of how many files. */
const TAIL_BYTES = 2 ** 18;
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
  const newest = newestValues((await tailOf(storage, folder)).slice(-CHANGES));
  const keys = [...newest.keys()];
  const values = await store.getMany(keys);
  const odd = keys.filter((key, at) => !same(values[at], newest.get(key)?.value));
  if (odd.length === 0) return false;
  // Others may have gone on in between: then the value is that of a later change.
  const pending = await store.changes(PENDING);
  const later = [...pending, ...(await tailOf(storage, folder))];
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

/** The changes at the ends of the files that were written last, in their order. */
async function tailOf(storage: Storage, folder: string): Promise<readonly StoreChange[]> {
  const changes: StoreChange[] = [];
  for (const path of await lastFiles(storage, folder))
    changes.push(...((await unlessMissing(endOf(storage, path))) ?? []));
  return changes.toSorted((left, right) => (left.sequence < right.sequence ? -1 : 1));
}

async function lastFiles(storage: Storage, folder: string): Promise<readonly string[]> {
  const files = await listedFiles(storage, folder);
  const newestFirst = files.toSorted((left, right) => right.writtenMillis - left.writtenMillis);
  return newestFirst.slice(0, FILES).map(({ name }) => join(folder, name));
}

/** The whole lines at the end of a file. */
async function endOf(storage: Storage, path: string): Promise<readonly StoreChange[]> {
  const file = await storage.open(path, 'all');
  try {
    const size = file.size();
    const start = Math.max(0, size - TAIL_BYTES);
    const buffer = Buffer.alloc(size - start);
    const bytesRead = await readUpTo(file, buffer, start);
    const lines = linesOf(buffer.subarray(0, bytesRead));
    return lines.slice(start === 0 ? 0 : 1).flatMap((line) => decodeChange(line) ?? []);
  } finally {
    file.close();
  }
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
