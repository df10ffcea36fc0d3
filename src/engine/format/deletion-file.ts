import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { Field, Schema, Uint32, makeData, makeVector } from 'apache-arrow';
import type { FileSeal, StoredFile } from '../../arrow/sealed/file-seal.ts';
import { openSealed } from '../../arrow/sealed/sealed-file.ts';
import { SealingWriter } from '../../arrow/sealed/sealing-writer.ts';
import { batchOf } from '../../arrow/select.ts';
import { Flushes } from '../../storage/flushes.ts';
import type { NewObject, Storage } from '../../storage/storage.ts';
import { DELETIONS } from './layout.ts';
import { bytesAccess } from './memory/random-access.ts';
import { readDetachedBlock } from './memory/detached-block.ts';
import { pairs } from '../base/items.ts';
import type { TableFolder } from './snapshot.ts';

const schema = new Schema([new Field('row', new Uint32(), false)]);

/** A deletion file. */
export interface WrittenDeletions {
  /** Path inside the table's folder. */
  readonly path: string;
  readonly seal: FileSeal;
}

/** Number of files that are written concurrently. */
const AT_ONCE = 16;

/**
 * Writes the deleted rows of fragments, one file each. Files and their names are durable when the
 * flushes have settled. Removes its files if it throws.
 * @param lists For each fragment positions in its files, ascending.
 * @returns The files in the order of the lists.
 */
export async function writeDeletions(
  { storage, folder }: TableFolder,
  lists: readonly Uint32Array[],
  flushes: Flushes,
): Promise<readonly WrittenDeletions[]> {
  if (lists.length === 0) return [];
  const paths = lists.map(() => join(DELETIONS, `${randomUUID()}.arrow`));
  const own = new Flushes();
  const written: WrittenDeletions[] = [];
  try {
    const deletions = join(folder, DELETIONS);
    const prepared = storage.folders?.prepare(deletions);
    if (prepared !== undefined) own.add(prepared);
    for (const [at, [path, rows]] of pairs(paths, lists).entries()) {
      if (at > 0 && at % AT_ONCE === 0) await own.settled();
      const file = storage.create(join(folder, path));
      written.push({ path, seal: await write(file, rows) });
      own.add(file.sync());
    }
    own.add(storage.flush(deletions));
    flushes.add(own.settled());
    return written;
  } catch (error) {
    await own.settled().catch(() => undefined);
    await Promise.all(paths.map((path) => storage.remove(join(folder, path))));
    throw error;
  }
}

/**
 * Reads the positions of deleted rows from a file, ascending.
 * @throws DamagedFile
 */
export async function readDeletions(storage: Storage, stored: StoredFile): Promise<Uint32Array> {
  const { path } = stored;
  const block = await readDetachedBlock(storage, stored);
  const { file } = await openSealed(bytesAccess(await storage.read(path)), stored, block);
  const batch = await file.readBatch(0);
  const rows = batch.getChildAt(0)?.toArray();
  if (rows instanceof Uint32Array) return rows;
  throw new Error(`${path} does not list deleted rows`);
}

async function write(file: NewObject, rows: Uint32Array): Promise<FileSeal> {
  const writer = new SealingWriter(schema);
  const begin = writer.begin();
  const column = makeVector(makeData({ type: new Uint32(), data: rows }));
  const pieces = writer.batch(batchOf(schema, [column], rows.length));
  try {
    const { bytes: end, seal } = writer.end();
    await file.write([begin, ...pieces, end]);
    await file.end();
    return seal;
  } catch (error) {
    await file.abandon();
    throw error;
  }
}
