import type { Data } from 'apache-arrow';
import { sliceData } from '../../arrow/data.ts';
import { hasDictionary } from '../../arrow/nested-type.ts';
import type { RowRange } from '../../arrow/ipc/row-range.ts';
import type { ColumnCache, ColumnKey } from './memory/column-cache.ts';
import type { OpenDataFile } from './memory/open-files.ts';
import { fileAccess } from './memory/random-access.ts';

/** What is read of a batch of a file: some rows, or all, of the columns at some places. */
export interface ColumnsRead {
  readonly index: number;
  readonly range: RowRange | undefined;
  readonly places: readonly number[];
}

/** The columns of a batch by where they stand in the file. */
export type ColumnsFound = Map<number, Data>;

/**
 * Columns of a batch, from the cache as far as they are in it. The others are
 * read into memory that `take` gives, save those that the cache keeps from now on.
 * Few bytes are there at once.
 */
export function cachedColumns(
  cache: ColumnCache,
  file: OpenDataFile,
  read: ColumnsRead,
  take: (length: number) => Uint8Array,
): ColumnsFound | Promise<ColumnsFound> {
  const found: ColumnsFound = new Map();
  const missing: number[] = [];
  for (const place of read.places) {
    const data = cache.find(keyOf(file, read.index, place));
    if (data === undefined) missing.push(place);
    else found.set(place, cut(data, read.range));
  }
  if (missing.length === 0) return found;
  const kept = missing.filter((place) => isWanted(cache, file, read, place));
  const passing = missing.filter((place) => !kept.includes(place));
  if (kept.length === 0 && readNow(found, file, { ...read, places: passing }, take)) return found;
  return Promise.all([
    ...kept.map(async (place) => found.set(place, await keptColumn(cache, file, read, place))),
    readInto(found, file, { ...read, places: passing }, take),
  ]).then(() => found);
}

/** Whether columns were read without waiting. */
function readNow(
  found: ColumnsFound,
  opened: OpenDataFile,
  { index, range, places }: ColumnsRead,
  take: (length: number) => Uint8Array,
): boolean {
  const read = { rows: range, access: fileAccess(opened, take) };
  const columns = opened.file.columnsNow(index, places, read);
  columns?.forEach((data, at) => found.set(places[at]!, data));
  return columns !== undefined;
}

function keyOf({ path }: OpenDataFile, index: number, place: number): ColumnKey {
  return `${path}/${index}/${place}`;
}

/** A part of a column is not kept, nor one whose values lie in a dictionary, which is in memory anyway. */
function isWanted(
  cache: ColumnCache,
  opened: OpenDataFile,
  { index, range }: ColumnsRead,
  place: number,
): boolean {
  if (range !== undefined || hasDictionary(opened.file.schema.fields[place]!.type)) return false;
  return cache.wants(keyOf(opened, index, place), opened.file.columnBytes(index, place));
}

async function keptColumn(
  cache: ColumnCache,
  file: OpenDataFile,
  { index }: ColumnsRead,
  place: number,
): Promise<Data> {
  let bytes = 0;
  const found: ColumnsFound = new Map();
  await readInto(found, file, { index, range: undefined, places: [place] }, (length) => {
    bytes += length;
    return new Uint8Array(length);
  });
  const data = found.get(place)!;
  cache.keep(keyOf(file, index, place), data, bytes);
  return data;
}

/** Names in the file may be older than the table's. */
async function readInto(
  found: ColumnsFound,
  opened: OpenDataFile,
  { index, range, places }: ColumnsRead,
  take: (length: number) => Uint8Array,
): Promise<void> {
  if (places.length === 0) return;
  const { file } = opened;
  const names = places.map((place) => file.schema.fields[place]?.name ?? '');
  const access = fileAccess(opened, take);
  const batch = await file.readBatch(index, names, { rows: range, access });
  for (const [at, place] of places.entries()) found.set(place, batch.data.children[at]!);
}

function cut(data: Data, range: RowRange | undefined): Data {
  return range === undefined ? data : sliceData(data, range.start, range.count);
}
