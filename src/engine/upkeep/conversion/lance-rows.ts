import { join } from 'node:path';
import type { RecordBatch, Schema } from 'apache-arrow';
import { openFile, type ArrowFile } from '../../../arrow/ipc/file-reader.ts';
import { checkSupported } from '../../../arrow/types.ts';
import type { Storage } from '../../../storage/storage.ts';
import { ownStatement } from '../../base/statement.ts';
import { asRefusal } from '../../format/incoming.ts';
import { liveRowCount } from '../../format/lance/lance-manifest.ts';
import { readManifestFile } from '../../format/lance/manifest-file.ts';
import type { QueryRequest } from '../../request/request.ts';
import type { LanceLibrary, LanceTableVersion } from '../../versions/managed/lance-library.ts';

/** Bytes of rows that the library answers at once, about. */
const PAGE_BYTES = 2 ** 25;
/** Rows that it answers at once, at most. */
const PAGE_ROWS = 65_536;

/** All rows of a version of a Lance table, in their order. */
interface LanceRowStream {
  readonly schema: Schema;
  readonly batches: AsyncIterable<RecordBatch>;
}

/**
 * Reads a version through the library, page by page: an answer with dictionaries has them at its end.
 * @throws CatalogError as the library refuses
 */
export async function lanceRows(
  library: LanceLibrary,
  table: LanceTableVersion,
  storage: Storage,
  signal: AbortSignal,
): Promise<LanceRowStream> {
  const read = (offset: number, limit: number) => page(library, table, offset, limit, signal);
  const size = await pageRows(storage, table);
  const first = await read(0, size).catch((error: unknown) => {
    throw asRefusal(error);
  });
  checkSupported(first.schema);
  return { schema: first.schema, batches: pages(first, size, read) };
}

async function* pages(
  first: ArrowFile,
  size: number,
  read: (offset: number, limit: number) => Promise<ArrowFile>,
): AsyncGenerator<RecordBatch> {
  let offset = 0;
  for (let file = first; ; file = await read(offset, size)) {
    for (const index of file.batchRows.keys()) yield file.readBatch(index);
    offset += file.rows;
    if (file.rows < size) return;
  }
}

async function page(
  library: LanceLibrary,
  table: LanceTableVersion,
  offset: number,
  limit: number,
  signal: AbortSignal,
): Promise<ArrowFile> {
  const statement = { ...ownStatement(), signal: () => signal };
  const pieces: Uint8Array[] = [];
  for await (const piece of await library.query(table, { ...everything, limit, offset }, statement))
    pieces.push(piece);
  const bytes = Uint8Array.from(Buffer.concat(pieces));
  const access = {
    size: bytes.byteLength,
    read: async (start: number, length: number) => bytes.subarray(start, start + length),
  };
  return openFile(access);
}

async function pageRows(storage: Storage, { location, at }: LanceTableVersion): Promise<number> {
  const { manifest } = await readManifestFile(storage, join(location, at.manifest));
  let [bytes, rows] = [0, 0];
  for (const fragment of manifest.fragments) {
    rows += Number(liveRowCount(fragment));
    for (const file of fragment.files) bytes += Number(file.bytes ?? 0n);
  }
  const width = rows === 0 ? 1 : Math.max(1, bytes / rows);
  return Math.max(1, Math.min(PAGE_ROWS, Math.floor(PAGE_BYTES / width)));
}

const everything: QueryRequest = {
  columns: null,
  filter: null,
  prefilter: true,
  nearest: null,
  text: null,
  order: [],
  limit: null,
  offset: 0,
  withRowId: false,
};
