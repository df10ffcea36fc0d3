import type { Data } from 'apache-arrow';
import { sliceData } from '../../arrow/data.ts';
import { hasDictionary } from '../../arrow/nested-type.ts';
import type { RowRange } from '../../arrow/ipc/row-range.ts';
import type { ColumnCache, ColumnKey } from './memory/column-cache.ts';
import type { OpenDataFile } from './memory/open-files.ts';
import { fileAccess } from './memory/random-access.ts';
import { pairs, itemAt } from '../base/items.ts';
import type { MaybePromise } from '../../protocol/maybe-promise.ts';

/** The part of a file's batch to read: all rows or a range, and columns by position. */
interface ColumnsRead {
  readonly index: number;
  readonly range: RowRange | undefined;
  readonly places: readonly number[];
}

/** The columns of a batch by their positions in the file. */
type ColumnsFound = Map<number, Data>;

/**
 * Reads columns of a batch, from the cache where possible. Other columns are read into memory from
 * `take`, except those that the cache keeps from now on. Completes synchronously if few bytes are
 * read and all are available.
 */
export function cachedColumns(
  cache: ColumnCache,
  file: OpenDataFile,
  read: ColumnsRead,
  take: (length: number) => Uint8Array,
): MaybePromise<ColumnsFound> {
  const found: ColumnsFound = new Map();
  const missing: number[] = [];
  const share = shareOf(file, read);
  for (const place of read.places) {
    const data = cache.find(keyOf(file, read.index, place), share);
    if (data === undefined) missing.push(place);
    else found.set(place, cut(data, read.range));
  }
  if (missing.length === 0) return found;
  const retained = missing.filter((place) => isWanted(cache, file, read.index, place, share));
  const passing = missing.filter((place) => !retained.includes(place));
  if (retained.length === 0 && readNow(found, file, { ...read, places: passing }, take))
    return found;
  return Promise.all([
    ...retained.map(async (place) =>
      found.set(place, cut(await keptColumn(cache, file, read, place), read.range)),
    ),
    readInto(found, file, { ...read, places: passing }, take),
  ]).then(() => found);
}

/** The share of a batch's rows that is read. */
function shareOf({ file }: OpenDataFile, { index, range }: ColumnsRead): number {
  return range === undefined ? 1 : range.count / (file.batchRows[index] ?? range.count);
}

/** Reads columns if that needs no wait. Returns whether it did. */
function readNow(
  found: ColumnsFound,
  opened: OpenDataFile,
  { index, range, places }: ColumnsRead,
  take: (length: number) => Uint8Array,
): boolean {
  const read = { rows: range, access: fileAccess(opened, take) };
  const columns = opened.file.columnsNow(index, places, read);
  if (columns === undefined) return false;
  for (const [place, data] of pairs(places, columns)) found.set(place, data);
  return true;
}

/** The keys of a file's columns, batch by batch: a text that was a key before is found faster. */
const keys = new WeakMap<OpenDataFile, ColumnKey[]>();

function keyOf(opened: OpenDataFile, index: number, place: number): ColumnKey {
  const own = keys.get(opened) ?? [];
  keys.set(opened, own);
  return (own[index * opened.file.schema.fields.length + place] ??=
    `${opened.path}/${index}/${place}`);
}

/** Whether the cache may keep a column. Dictionary columns are not kept: dictionaries are in memory anyway. */
function isWanted(
  cache: ColumnCache,
  opened: OpenDataFile,
  index: number,
  place: number,
  share: number,
): boolean {
  if (hasDictionary(itemAt(opened.file.schema.fields, place).type)) return false;
  const bytes = opened.file.columnBytes(index, place);
  return cache.wants(keyOf(opened, index, place), bytes, share);
}

async function keptColumn(
  cache: ColumnCache,
  file: OpenDataFile,
  { index }: ColumnsRead,
  place: number,
): Promise<Data> {
  let bytes = 0;
  const memory: ArrayBufferLike[] = [];
  const read = { index, range: undefined, places: [place] };
  const [data] = await readColumns(file, read, (length) => {
    bytes += length;
    const taken = new Uint8Array(length);
    memory.push(taken.buffer);
    return taken;
  });
  if (data === undefined) throw new Error(`${file.path} has no column ${place}`);
  cache.keep(keyOf(file, index, place), data, bytes, memory);
  return data;
}

async function readInto(
  found: ColumnsFound,
  opened: OpenDataFile,
  read: ColumnsRead,
  take: (length: number) => Uint8Array,
): Promise<void> {
  if (read.places.length === 0) return;
  const columns = await readColumns(opened, read, take);
  for (const [place, data] of pairs(read.places, columns)) found.set(place, data);
}

/** Reads columns by the names that the file has for them, which may be older than the table's. */
async function readColumns(
  opened: OpenDataFile,
  { index, range, places }: ColumnsRead,
  take: (length: number) => Uint8Array,
): Promise<readonly Data[]> {
  const { file } = opened;
  const names = places.map((place) => itemAt(file.schema.fields, place).name);
  const batch = await file.readBatch(index, names, {
    rows: range,
    access: fileAccess(opened, take),
  });
  return batch.data.children;
}

function cut(data: Data, range: RowRange | undefined): Data {
  return range === undefined ? data : sliceData(data, range.start, range.count);
}
