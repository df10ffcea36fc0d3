import { randomUUID } from 'node:crypto';
import { mkdirSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { Field, Schema, Uint32, makeData, makeVector } from 'apache-arrow';
import { openFile } from '../../arrow/ipc/file-reader.ts';
import { FileWriter } from '../../arrow/ipc/file-writer.ts';
import { batchOf } from '../../arrow/select.ts';
import { FileDescriptor } from '../../storage/file-descriptor.ts';
import { Flushes } from '../../storage/flushes.ts';
import { syncFolder } from '../../storage/folder.ts';
import { readOwn } from '../../storage/own-file.ts';
import { removeFile } from '../../storage/tree.ts';
import { LruCache } from '../base/lru-cache.ts';
import { DELETIONS } from './layout.ts';
import { bytesAccess } from './memory/random-access.ts';

const schema = new Schema([new Field('row', new Uint32(), false)]);

/** How many files are on their way to the disk at a time. */
const AT_ONCE = 16;

/** Folders whose names are on stable storage, and what told them from others then. */
const durable = new LruCache<string>(10_000);

/**
 * Writes the deleted rows of fragments, one file each. Files and their names are
 * on stable storage when the flushes are settled; nothing is left behind when it throws.
 * @param lists For each fragment positions in its files, ascending.
 * @returns Paths inside the table's folder, in the order of the lists.
 */
export async function writeDeletions(
  folder: string,
  lists: readonly Uint32Array[],
  flushes: Flushes,
): Promise<readonly string[]> {
  if (lists.length === 0) return [];
  const paths = lists.map(() => join(DELETIONS, `${randomUUID()}.arrow`));
  const own = new Flushes();
  try {
    const deletions = join(folder, DELETIONS);
    if (!isDurable(deletions)) {
      mkdirSync(deletions, { recursive: true });
      own.add(makeDurable(deletions));
    }
    for (const [at, rows] of lists.entries()) {
      if (at > 0 && at % AT_ONCE === 0) await own.settled();
      own.add(synced(await written(join(folder, paths[at]!), rows)));
    }
    own.add(syncFolder(deletions));
    flushes.add(own.settled());
    return paths;
  } catch (error) {
    await own.settled().catch(() => undefined);
    await Promise.all(paths.map((path) => removeFile(join(folder, path))));
    throw error;
  }
}

/** Whether the name of a folder was brought to stable storage from here. */
function isDurable(folder: string): boolean {
  const known = durable.get(folder);
  return known !== undefined && known === markOf(folder);
}

/** Flushes the name of a folder, which may have been made a moment ago, by this or by somebody else. */
async function makeDurable(folder: string): Promise<void> {
  const mark = markOf(folder);
  await syncFolder(dirname(folder));
  if (mark !== undefined) durable.set(folder, mark, 1);
}

/** What tells a folder from another one that gets its name later. */
function markOf(folder: string): string | undefined {
  const stats = statSync(folder, { throwIfNoEntry: false });
  return stats && `${stats.dev} ${stats.ino} ${stats.birthtimeMs}`;
}

/** The deleted rows that a file lists, ascending. */
export async function readDeletions(folder: string, path: string): Promise<Uint32Array> {
  const file = await openFile(bytesAccess(await readOwn(join(folder, path))));
  const batch = await file.readBatch(0);
  const rows = batch.getChildAt(0)?.toArray();
  if (rows instanceof Uint32Array) return rows;
  throw new Error(`${path} does not list deleted rows`);
}

async function written(path: string, rows: Uint32Array): Promise<FileDescriptor> {
  const writer = new FileWriter(schema);
  const begin = writer.begin();
  const column = makeVector(makeData({ type: new Uint32(), data: rows }));
  const pieces = writer.batch(batchOf(schema, [column], rows.length));
  const file = FileDescriptor.openPlain(path, 'wx');
  try {
    await file.write([begin, ...pieces, writer.end()]);
    return file;
  } catch (error) {
    file.close();
    throw error;
  }
}

async function synced(file: FileDescriptor): Promise<void> {
  try {
    await file.sync();
  } finally {
    file.close();
  }
}
