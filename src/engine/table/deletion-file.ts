import { randomUUID } from 'node:crypto';
import { mkdir, open, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Field, Schema, Uint32, makeData, makeVector } from 'apache-arrow';
import { openFile } from '../../arrow/file-reader.ts';
import { FileWriter } from '../../arrow/file-writer.ts';
import { batchOf } from '../../arrow/select.ts';
import { syncFolder } from '../disk.ts';
import { DELETIONS } from './layout.ts';
import { bytesAccess } from './random-access.ts';

const schema = new Schema([new Field('row', new Uint32(), false)]);

/** How many files are written at a time. */
const AT_ONCE = 16;

/**
 * Writes the deleted rows of fragments, one file each. Files and their names are
 * on stable storage when it returns; nothing is left behind when it throws.
 * @param lists For each fragment positions in its files, ascending.
 * @returns Paths inside the table's folder, in the order of the lists.
 */
export async function writeDeletions(
  folder: string,
  lists: readonly Uint32Array[],
): Promise<readonly string[]> {
  if (lists.length === 0) return [];
  const paths = lists.map(() => join(DELETIONS, `${randomUUID()}.arrow`));
  try {
    await mkdir(join(folder, DELETIONS), { recursive: true });
    for (let start = 0; start < lists.length; start += AT_ONCE) {
      const some = lists.slice(start, start + AT_ONCE);
      await writeAll(some.map((rows, at) => writeRows(join(folder, paths[start + at]!), rows)));
    }
    // The folder itself may have been made a moment ago, by this or by somebody else.
    await Promise.all([syncFolder(join(folder, DELETIONS)), syncFolder(folder)]);
    return paths;
  } catch (error) {
    await Promise.all(paths.map((path) => rm(join(folder, path), { force: true })));
    throw error;
  }
}

/** The deleted rows that a file lists, ascending. */
export async function readDeletions(folder: string, path: string): Promise<Uint32Array> {
  const file = await openFile(bytesAccess(await readFile(join(folder, path))));
  const batch = await file.readBatch(0);
  const rows = batch.getChildAt(0)?.toArray();
  if (rows instanceof Uint32Array) return rows;
  throw new Error(`${path} does not list deleted rows`);
}

/** Waits for every file, also when one fails: it can only be removed when nobody writes it any more. */
async function writeAll(files: readonly Promise<void>[]): Promise<void> {
  const failed = (await Promise.allSettled(files)).find(({ status }) => status === 'rejected');
  if (failed?.status === 'rejected') throw failed.reason;
}

async function writeRows(path: string, rows: Uint32Array): Promise<void> {
  const writer = new FileWriter(schema);
  const begin = writer.begin();
  const column = makeVector(makeData({ type: new Uint32(), data: rows }));
  const pieces = writer.batch(batchOf(schema, [column], rows.length));
  const file = await open(path, 'wx');
  try {
    await file.writeFile(Buffer.concat([begin, ...pieces, writer.end()]));
    await file.sync();
  } finally {
    await file.close();
  }
}
