import { DataType, Field, List, Schema, type Data } from 'apache-arrow';
import {
  batchOfData,
  isMarkedNull,
  isNull,
  nullCountOf,
  sliceData,
  childData,
} from '../../arrow/data.ts';
import { concatData, coveredRange } from '../../arrow/concat.ts';
import { extremesOf } from '../../arrow/extremes.ts';
import { rowKey } from '../../arrow/row-key.ts';
import { takeData } from '../../arrow/take.ts';
import { CatalogError } from '../../protocol/errors.ts';
import { planSort } from '../query/plan/sort-plan.ts';
import { orderOf } from '../query/rows/sort-keys.ts';
import type { BatchSource } from '../query/scan/batch-source.ts';
import type { Fragment, FragmentIndex, IndexDefinition, Snapshot } from '../format/snapshot.ts';
import { keyTypeOf } from '../index/keys/index-kind.ts';
import { PageWriter, pageSchema, encodeRows } from '../index/keys/page-writer.ts';
import { shortEnds } from '../index/keys/key-places.ts';

/** Limits of a page: keys, and approximate bytes of keys and rows. */
const PAGE_KEYS = 4096;
const PAGE_BYTES = 2 ** 18;

/** A fragment to index. */
export interface IndexWork {
  readonly source: BatchSource;
  readonly snapshot: Snapshot;
  readonly fragment: Fragment;
  readonly index: IndexDefinition;
  /**
   * Called before each page and batch with the number of rows done since; its errors stop the work.
   */
  readonly onRows: (rows: number) => void;
}

/**
 * Writes the index file of a fragment, including deleted rows, so that it stays valid whatever rows
 * are deleted later. The file is durable when this returns and removed if it throws.
 */
export async function indexFragment(work: IndexWork): Promise<FragmentIndex> {
  const { snapshot, index } = work;
  const field = fieldOf(work);
  const key = keyTypeOf(index.type, field.type);
  const payload = index.type === 'BTREE' ? 'row' : 'postings';
  const schema = pageSchema(key, payload);
  const writer = await PageWriter.create(snapshot, index.uuid, schema, shortEnds);
  try {
    if (index.type === 'BTREE') await writeSorted(work, writer);
    else if (index.type === 'BITMAP') await writeDistinct(work, writer);
    else await writeLabels(work, writer);
    return await writer.finish(index);
  } catch (error) {
    await writer.abandon();
    throw error;
  }
}

function fieldOf({ snapshot, index }: IndexWork): Field {
  const field = snapshot.schema.fields[snapshot.fieldIds.indexOf(index.field)];
  if (field !== undefined) return field;
  throw new CatalogError('TableColumnNotFound', `the column of the index ${index.name} is gone`);
}

/** The column of all rows of the fragment, including deleted ones, batch by batch. */
async function* columnOf(work: IndexWork): AsyncGenerator<{ data: Data; start: number }> {
  const { source, snapshot, fragment, onRows } = work;
  const whole = { ...fragment, deletions: null, rows: fragment.physicalRows };
  const { name } = fieldOf(work);
  for await (const { batch, start } of source.batches(snapshot, whole, [name])) {
    onRows(batch.numRows);
    yield { data: childData(batch.data), start };
  }
}

/** The keys of a fragment, and its rows in key order: NaN, then nulls last. */
async function sortedKeys(work: IndexWork): Promise<{ keys: Data; order: Uint32Array }> {
  const parts: Data[] = [];
  for await (const { data } of columnOf(work)) parts.push(data);
  const keys = concatData(parts);
  return { keys, order: sortedRows(keys) };
}

function sortedRows(keys: Data): Uint32Array {
  const schema = new Schema([new Field('key0', keys.type, true)]);
  const terms = [{ column: 'key0', ascending: true, nullsFirst: false }];
  const plan = planSort(terms, schema, schema.fields);
  if (plan === null) throw new Error('the keys of an index have no order');
  return orderOf(plan, batchOfData(schema, [keys], keys.length));
}

async function writeSorted(work: IndexWork, writer: PageWriter): Promise<void> {
  const { keys, order } = await sortedKeys(work);
  for (const rows of purePages(keys, order)) {
    work.onRows(0);
    await writer.rows(takeData(keys, rows), rows);
  }
}

/**
 * Pages whose keys are only values, only NaN or only nulls, so that the first and the last key
 * bound the others.
 */
function* purePages(keys: Data, order: Uint32Array): Generator<Uint32Array> {
  const values = placeOfFirst(order, (row) => isNull(keys, row) || isNaN(keys, row));
  const numbers = placeOfFirst(order, (row) => isNull(keys, row));
  const runs = [
    [0, values],
    [values, numbers],
    [numbers, order.length],
  ] as const;
  for (const [start, end] of runs) {
    for (let at = start, next = at; at < end; at = next) {
      let bytes = 0;
      while (next < end && next < at + PAGE_KEYS && bytes < PAGE_BYTES) {
        bytes += keyBytes(keys, order[next++]!);
      }
      yield order.subarray(at, next);
    }
  }
}

/** Approximate size of a key in bytes. */
function keyBytes({ type, valueOffsets }: Data, row: number): number {
  if (!DataType.isUtf8(type) && !DataType.isLargeUtf8(type)) return 8;
  return 8 + Number(valueOffsets[row + 1]) - Number(valueOffsets[row]);
}

/** Position of the first row that passes a test, given that all later ones pass too. */
function placeOfFirst(order: Uint32Array, test: (row: number) => boolean): number {
  let low = 0;
  let high = order.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (test(order[middle]!)) high = middle;
    else low = middle + 1;
  }
  return low;
}

function isNaN(keys: Data, row: number): boolean {
  return DataType.isFloat(keys.type) && extremesOf(sliceData(keys, row, 1))?.nan === true;
}

async function writeDistinct(work: IndexWork, writer: PageWriter): Promise<void> {
  const { keys, order } = await sortedKeys(work);
  await writePostings(work, writer, keys, order, (row) => row);
}

/** Writes the items of lists with the rows of their lists, group of batches by group. */
async function writeLabels(work: IndexWork, writer: PageWriter): Promise<void> {
  for await (const { data, start } of columnOf(work)) {
    const { items, owners } = itemsOf(data, start);
    const order = sortedRows(items);
    const values = order.subarray(
      0,
      placeOfFirst(order, (row) => isNull(items, row)),
    );
    await writePostings(work, writer, items, values, (at) => owners[at]!);
  }
}

interface Items {
  readonly items: Data;
  /** Row of each item's list. */
  readonly owners: Uint32Array;
}

function itemsOf(lists: Data, start: number): Items {
  if (!(lists.type instanceof List)) throw new Error('the column holds no lists');
  const offsets: Int32Array = lists.valueOffsets;
  const { begin, end } = coveredRange(lists);
  const items = sliceData(childData(lists), begin, end - begin);
  const owners = new Uint32Array(end - begin);
  const has = nullCountOf(lists) > 0;
  const retained: number[] = [];
  for (let row = 0; row < lists.length; row++) {
    if (has && isMarkedNull(lists, row)) continue;
    for (let at = offsets[row]!; at < offsets[row + 1]!; at++) {
      owners[at - begin] = start + row;
      retained.push(at - begin);
    }
  }
  if (retained.length === owners.length) return { items, owners };
  const rows = Uint32Array.from(retained);
  return { items: takeData(items, rows), owners: rows.map((at) => owners[at]!) };
}

/** Writes pages of distinct keys with the rows of each. */
async function writePostings(
  work: IndexWork,
  writer: PageWriter,
  keys: Data,
  order: Uint32Array,
  rowOf: (at: number) => number,
): Promise<void> {
  const { physicalRows } = work.fragment;
  const page = { firsts: [] as number[], postings: [] as Uint8Array[], bytes: 0 };
  const flush = async () => {
    if (page.firsts.length === 0) return;
    work.onRows(0);
    await writer.postings(takeData(keys, Uint32Array.from(page.firsts)), page.postings);
    page.firsts = [];
    page.postings = [];
    page.bytes = 0;
  };
  let kind = '';
  for (const run of runsOfEqual(keys, order)) {
    const [first = 0] = run;
    const rows = run.map(rowOf).sort();
    const now = kindOf(keys, first);
    if (now !== kind || page.firsts.length >= PAGE_KEYS || page.bytes >= PAGE_BYTES) await flush();
    kind = now;
    const bytes = encodeRows(distinctOf(rows), physicalRows);
    page.firsts.push(first);
    page.postings.push(bytes);
    page.bytes += bytes.length + keyBytes(keys, first);
  }
  await flush();
}

function kindOf(keys: Data, row: number): string {
  if (isNull(keys, row)) return 'null';
  return isNaN(keys, row) ? 'nan' : 'value';
}

/** Removes repeated rows: a list may hold an item twice. */
function distinctOf(sorted: Uint32Array): Uint32Array {
  return sorted.filter((row, at) => at === 0 || row !== sorted[at - 1]);
}

/** Runs of rows in key order with identical keys. */
function* runsOfEqual(keys: Data, order: Uint32Array): Generator<Uint32Array> {
  let start = 0;
  let key = '';
  for (let at = 0; at <= order.length; at++) {
    const next = at < order.length ? rowKey(keys, order[at]!) : '';
    if (at < order.length && next === key) continue;
    if (at > start) yield order.subarray(start, at);
    [start, key] = [at, next];
  }
}
