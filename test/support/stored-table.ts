import { disk } from './disk.ts';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { RecordBatch, Schema } from 'apache-arrow';
import { empty, newFragment } from '../../src/engine/format/change.ts';
import { FragmentReader } from '../../src/engine/query/scan/fragment-reader.ts';
import { FragmentWriter } from '../../src/engine/format/fragment-writer.ts';
import { DATA } from '../../src/engine/format/layout.ts';
import type { Fragment, Snapshot } from '../../src/engine/format/snapshot.ts';

/** A table in a temporary folder, with what reads it. */
export interface StoredTable {
  readonly snapshot: Snapshot;
  readonly reader: FragmentReader;
  remove(): Promise<void>;
}

/**
 * Writes batches into data files as an engine would: one file for each list.
 * @param firstRowId The row id of the first row.
 */
export async function storeTable(
  schema: Schema,
  files: readonly (readonly RecordBatch[])[],
  firstRowId = 0n,
): Promise<StoredTable> {
  const folder = await mkdtemp(join(tmpdir(), 'arrowgate-query-'));
  await mkdir(join(folder, DATA));
  const fragments: Fragment[] = [];
  const { fieldIds, nextFieldId } = empty(schema);
  let nextRowId = firstRowId;
  for (const batches of files) {
    const writer = await FragmentWriter.create({ storage: disk, folder }, schema);
    for (const batch of batches) await writer.write(batch);
    const written = await writer.finish();
    fragments.push(newFragment(written, fieldIds, nextRowId));
    nextRowId += BigInt(written.rows);
  }
  const reader = new FragmentReader(disk);
  return {
    snapshot: {
      tableId: 'table',
      storage: disk,
      folder,
      version: 7n,
      timestampMillis: 0,
      schema,
      fieldIds,
      nextFieldId,
      fragments,
      rows: nextRowId - firstRowId,
      nextRowId,
    },
    reader,
    async remove() {
      await reader.close();
      await rm(folder, { recursive: true });
    },
  };
}
