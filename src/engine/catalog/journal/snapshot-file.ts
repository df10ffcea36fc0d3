import { randomBytes, randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { linesOf as linesIn } from '../../../storage/line-reader.ts';
import type { Storage } from '../../../storage/storage.ts';
import type { StoreEntry } from '../../../store/store.ts';
import { folderNames } from './journal-files.ts';
import { isOfObjects } from './journal-place.ts';
import { decodeLine, encodeLine, writeJson, writeOf, type WriteJson } from './journal-line.ts';

/**
 * A snapshot of the journal: every key as all changes up to a number have left
 * it, in the order of the keys' bytes. A file of checked lines: first its number,
 * then one line for each key, last how many these are.
 */
export interface SnapshotFile {
  readonly name: string;
  /** The number of the last change that it holds. */
  readonly sequence: bigint;
}

const NAME = /^snapshot-(\d{20})-[0-9a-f]+\.jsonl$/;
const DRAFT = /^snapshot-\d{20}-[0-9a-f]+\.jsonl\.draft-/;
const PIECE_BYTES = 2 ** 20;

/** The snapshots of a journal, the newest first. They may be damaged. */
export async function listSnapshots(
  storage: Storage,
  folder: string,
): Promise<readonly SnapshotFile[]> {
  const names = (await folderNames(storage, folder)).toSorted().toReversed();
  return names.flatMap((name) => {
    const sequence = NAME.exec(name)?.[1];
    return sequence === undefined ? [] : [{ name, sequence: BigInt(sequence) }];
  });
}

/** The names of snapshots that are being written, or were when a crash came. */
export async function listDrafts(storage: Storage, folder: string): Promise<readonly string[]> {
  return (await folderNames(storage, folder)).filter((name) => DRAFT.test(name));
}

/** Writes a snapshot atomically. It is durable when this returns. */
export async function writeSnapshot(
  storage: Storage,
  folder: string,
  sequence: bigint,
  entries: AsyncIterable<StoreEntry>,
): Promise<SnapshotFile> {
  const instance = randomBytes(4).toString('hex');
  const name = `snapshot-${sequence.toString().padStart(20, '0')}-${instance}.jsonl`;
  // Nobody sees a part of an object.
  if (isOfObjects(storage, folder)) {
    await writeLines(storage, join(folder, name), linesOf(sequence, entries));
    return { name, sequence };
  }
  const draft = join(folder, `${name}.draft-${randomUUID()}`);
  try {
    await writeLines(storage, draft, linesOf(sequence, entries));
    await storage.linkIfAbsent(draft, join(folder, name));
  } finally {
    await storage.discard(draft);
  }
  return { name, sequence };
}

async function* linesOf(
  sequence: bigint,
  entries: AsyncIterable<StoreEntry>,
): AsyncGenerator<Buffer> {
  yield encodeLine({ sequence: sequence.toString() });
  let count = 0;
  for await (const entry of entries) {
    yield encodeLine(writeJson(entry));
    count += 1;
  }
  yield encodeLine({ entries: count });
}

async function writeLines(
  storage: Storage,
  path: string,
  lines: AsyncIterable<Buffer>,
): Promise<void> {
  const file = storage.create(path, { links: 'all' });
  try {
    let piece: Buffer[] = [];
    let bytes = 0;
    for await (const line of lines) {
      piece.push(line);
      bytes += line.byteLength;
      if (bytes < PIECE_BYTES) continue;
      await file.write(piece);
      [piece, bytes] = [[], 0];
    }
    await file.write(piece);
    await file.end();
    await file.sync();
  } catch (error) {
    await file.abandon();
    throw error;
  }
}

/** Whether every line of a snapshot is there and sound. */
export async function isSound(
  storage: Storage,
  folder: string,
  { name, sequence }: SnapshotFile,
): Promise<boolean> {
  let number = 0;
  let isLast = false;
  for await (const line of linesIn(await storage.open(join(folder, name), 'all'))) {
    const content = line.ended ? decodeLine(line.bytes) : undefined;
    if (!(content instanceof Object) || isLast) return false;
    number = line.number;
    if (number === 1 && !hasSequence(content, sequence)) return false;
    isLast = 'entries' in content && content.entries === number - 2;
  }
  return isLast;
}

function hasSequence(content: object, sequence: bigint): boolean {
  return 'sequence' in content && content.sequence === sequence.toString();
}

/** The entries of a sound snapshot. @throws Error when it is damaged. */
export async function* readSnapshot(
  storage: Storage,
  folder: string,
  { name }: SnapshotFile,
): AsyncGenerator<StoreEntry> {
  for await (const line of linesIn(await storage.open(join(folder, name), 'all'))) {
    const content = decodeLine(line.bytes);
    if (!(content instanceof Object)) throw new Error(`${name} is damaged in line ${line.number}`);
    if (!('key' in content)) continue;
    const { key, value } = writeOf(content as WriteJson);
    if (value !== null) yield { key, value };
  }
}
