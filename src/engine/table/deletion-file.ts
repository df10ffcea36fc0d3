import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Field, Schema, Uint32, makeData, makeVector } from 'apache-arrow';
import { openFile } from '../../arrow/file-reader.ts';
import { FileWriter } from '../../arrow/file-writer.ts';
import { batchOf } from '../../arrow/select.ts';
import { makeFolder, writeDurable } from '../disk.ts';
import { DELETIONS } from './layout.ts';
import { bytesAccess } from './random-access.ts';

const schema = new Schema([new Field('row', new Uint32(), false)]);

/**
 * Writes the deleted rows of a fragment, durably.
 * @param rows Positions in the fragment's files, ascending.
 * @returns Path inside the table's folder.
 */
export async function writeDeletions(folder: string, rows: Uint32Array): Promise<string> {
  const path = join(DELETIONS, `${randomUUID()}.arrow`);
  const writer = new FileWriter(schema);
  const begin = writer.begin();
  const column = makeVector(makeData({ type: new Uint32(), data: rows }));
  const pieces = writer.batch(batchOf(schema, [column], rows.length));
  await makeFolder(join(folder, DELETIONS));
  await writeDurable(join(folder, path), Buffer.concat([begin, ...pieces, writer.end()]));
  return path;
}

/** The deleted rows that a file lists, ascending. */
export async function readDeletions(folder: string, path: string): Promise<Uint32Array> {
  const file = await openFile(bytesAccess(await readFile(join(folder, path))));
  const batch = await file.readBatch(0);
  const rows = batch.getChildAt(0)?.toArray();
  if (rows instanceof Uint32Array) return rows;
  throw new Error(`${path} does not list deleted rows`);
}
