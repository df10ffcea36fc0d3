import type { RecordBatch } from 'apache-arrow';
import { openFile } from './file-reader.ts';

/**
 * The batches of an Arrow file that is in memory; values stay in it.
 * @param file Begins at an address that is a multiple of 8.
 */
export async function* batchesIn(file: Uint8Array): AsyncGenerator<RecordBatch> {
  const read = async (start: number, length: number): Promise<Uint8Array> =>
    file.subarray(start, start + length);
  const opened = await openFile({ size: file.byteLength, read });
  for (const index of opened.batchRows.keys()) yield await opened.readBatch(index);
}
