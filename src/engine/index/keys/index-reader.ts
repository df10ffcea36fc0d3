import { join } from 'node:path';
import { LRUCache } from 'lru-cache';
import { DataType, Field, Schema, type Data, type RecordBatch, type Uint32 } from 'apache-arrow';
import { batchOfData, dataOf, isNull, sliceData } from '../../../arrow/data.ts';
import { extremesOf, mergeExtremes, type Extremes } from '../../../arrow/extremes.ts';
import { takeData } from '../../../arrow/take.ts';
import { selectRows } from '../../../sql/evaluate.ts';
import { may, possibleStates } from '../../../sql/possible.ts';
import { rangeValue, type RangeValue } from '../../../sql/compare/value-range.ts';
import { rangeOf } from './fragment-ranges.ts';
import type { ColumnCache } from '../../format/memory/column-cache.ts';
import type { OpenFiles } from '../../format/memory/open-files.ts';
import { placesOf, stretchesWith } from './key-places.ts';
import type { LeafLookup } from './lookup.ts';
import { decodePostings } from './page-writer.ts';
import { rowsOfAll } from './row-set.ts';
import { cachedColumns, type ColumnsFound } from '../../format/cached-columns.ts';
import type { Bound, BoundExpression } from '../../../sql/evaluate/bound.ts';
import type { Scalar } from '../../../sql/values/scalar.ts';

/** The ends of a file's pages. */
interface Directory {
  readonly pages: number;
  /** The first key of each page, and behind it the last; of long texts what bounds are made of. */
  readonly ends: Data;
  /** Pages of values, which are in order over all pages; those of NaN and null come behind. */
  readonly ordered: number;
  /** The ends of those. */
  readonly orderedEnds: Data;
}

/** Memory for directories, in bytes. */
const DIRECTORY_BYTES = 16 * 2 ** 20;

/** A test that so many pages, and this share of them, have to be read for is better asked of the rows. */
const MANY_PAGES = 8;
const PAGES_SHARE = 1 / 3;

/** Rows are better read one after the other when a list of so many, and this share of all, is asked for. */
const MANY_ROWS = 4096;
const ROWS_SHARE = 1 / 2;

/** Reads the files of indices, page by page. */
export class IndexReader {
  readonly #files: OpenFiles;
  readonly #cache: ColumnCache;
  readonly #directories = new LRUCache<string, Directory>({ maxSize: DIRECTORY_BYTES });
  #lookups = 0;

  constructor(files: OpenFiles, cache: ColumnCache) {
    this.#files = files;
    this.#cache = cache;
  }

  /** How often an index was asked for the rows of a fragment and found them. */
  get lookups(): number {
    return this.#lookups;
  }

  /**
   * The rows of a fragment of which a test is true, ascending; null where it is better
   * asked of all rows.
   * @param of How many rows the fragment has, deleted ones included.
   */
  async rowsOf(folder: string, leaf: LeafLookup, of: number): Promise<Uint32Array | null> {
    const path = join(folder, leaf.file.path);
    const directory = this.#directories.get(path) ?? (await this.#directory(path, leaf));
    const asked = leaf.type === 'LABEL_LIST' ? undefined : requestedValues(leaf.test);
    const pages =
      (asked && stretchesWith(directory.orderedEnds, asked)) ?? pagesOf(directory, leaf);
    const isMany = pages.length > MANY_PAGES && pages.length > PAGES_SHARE * directory.pages;
    if (leaf.type === 'BTREE' && isMany && asked === undefined) return null;
    const lists: Uint32Array[] = [];
    let count = 0;
    for (const page of pages) {
      const columns = this.#columns(path, page, [0, 1]);
      const [keys, found] = columns instanceof Promise ? await columns : columns;
      for (const rows of rowsIn(leaf, keys!, found!, asked)) {
        lists.push(rows);
        count += rows.length;
      }
      if (count > MANY_ROWS && count > ROWS_SHARE * of) return null;
    }
    this.#lookups++;
    return rowsOfAll(lists);
  }

  /** Reads what a file holds, so that the next caller finds it in memory. */
  async prewarm(path: string): Promise<void> {
    const pages = await this.#files.use(path, async ({ file }) => file.batchRows.length);
    for (let page = 0; page < pages; page++) {
      await this.#columns(path, page, [0, 1]);
      await this.#columns(path, page, [0, 1]);
    }
  }

  async #directory(path: string, { type }: LeafLookup): Promise<Directory> {
    const last = await this.#files.use(path, async ({ file }) => file.batchRows.length - 1);
    const [ends] = await this.#columns(path, last, [0]);
    const ordered = type === 'LABEL_LIST' ? 0 : orderedPages(ends!, last);
    const orderedEnds = sliceData(ends!, 0, 2 * ordered);
    const directory = { pages: last, ends: ends!, ordered, orderedEnds };
    this.#directories.set(path, directory, { size: 1 + bytesOfData(ends!) });
    return directory;
  }

  #columns(
    path: string,
    index: number,
    places: readonly number[],
  ): readonly Data[] | Promise<readonly Data[]> {
    return indexColumns(this.#files, this.#cache, path, index, places);
  }
}

/**
 * The rows that the keys of a page lead to of which the test is true.
 * @param asked The values of which a key must have one; undefined where that is not known.
 */
function rowsIn(
  leaf: LeafLookup,
  keys: Data,
  rows: Data,
  asked: readonly RangeValue[] | undefined,
): readonly Uint32Array[] {
  const chosen = chosenOf(leaf, keys, asked && placesOf(keys, asked));
  if (DataType.isInt(rows.type)) {
    const all = (rows as Data<Uint32>).values;
    return [chosen.map((at) => all[at]!)];
  }
  const [values, offsets]: [Uint8Array, Int32Array] = [rows.values, rows.valueOffsets];
  return Array.from(chosen, (at) => decodePostings(values.subarray(offsets[at], offsets[at + 1])));
}

function bytesOfData(data: Data): number {
  return data.byteLength + 256;
}

function orderedPages(ends: Data, pages: number): number {
  let ordered = 0;
  while (ordered < pages && isValue(ends, 2 * ordered)) ordered++;
  return ordered;
}

function isValue(keys: Data, row: number): boolean {
  return !isNull(keys, row) && extremesOf(sliceData(keys, row, 1))?.nan !== true;
}

/** The pages with a key of which the test may be true. */
function pagesOf({ pages, ends, ordered }: Directory, leaf: LeafLookup): readonly number[] {
  const all = Array.from({ length: pages }, (_, page) => page);
  if (leaf.type === 'LABEL_LIST') return all;
  const states = possibleStates(leaf.test);
  const { type } = ends;
  const mayHold = (first: number, last: number) => {
    const range = rangeOf(endsOf(ends, first, last), type);
    return (states(() => range) & may.beTrue) !== 0;
  };
  const found: number[] = [];
  const visit = (first: number, last: number): void => {
    if (first > last || !mayHold(first, last)) return;
    if (first === last) {
      found.push(first);
      return;
    }
    const middle = (first + last) >> 1;
    visit(first, middle);
    visit(middle + 1, last);
  };
  visit(0, ordered - 1);
  return [...found, ...all.slice(ordered).filter((page) => mayHold(page, page))];
}

function endsOf(ends: Data, first: number, last: number): Extremes | undefined {
  const low = extremesOf(sliceData(ends, 2 * first, 1));
  const high = extremesOf(sliceData(ends, 2 * last + 1, 1));
  return low === undefined || high === undefined ? undefined : mergeExtremes(low, high);
}

/** The keys of which the test is true, of some or of all. */
function chosenOf(leaf: LeafLookup, keys: Data, places: Uint32Array | undefined): Uint32Array {
  if (places === undefined) return selectRows(leaf.test, keysBatch(leaf, keys));
  // Of whole numbers nobody could think otherwise.
  if (DataType.isInt(keys.type)) return places;
  const chosen = selectRows(leaf.test, keysBatch(leaf, takeData(keys, places)));
  return chosen.map((at) => places[at]!);
}

const schemas = new WeakMap<Field, Schema>();

function keysSchema(column: Field): Schema {
  const schema = schemas.get(column) ?? new Schema([new Field(column.name, column.type, true)]);
  schemas.set(column, schema);
  return schema;
}

/** Keys as the rows of the column that the test reads; an item stands in a list of its own. */
function keysBatch({ type, column }: LeafLookup, keys: Data): RecordBatch {
  const schema = keysSchema(column);
  if (type !== 'LABEL_LIST') return batchOfData(schema, [keys], keys.length);
  const { length } = keys;
  const offsets = Int32Array.from({ length: length + 1 }, (_, at) => at);
  const lists = dataOf(column.type, { length, nullCount: 0, offsets, children: [keys] });
  return batchOfData(schema, [lists], length);
}

/** Some columns of a batch of an index's file, kept in the cache. @param places Which, by their positions. */
export function indexColumns(
  files: OpenFiles,
  cache: ColumnCache,
  path: string,
  index: number,
  places: readonly number[],
): readonly Data[] | Promise<readonly Data[]> {
  const batch = { index, range: undefined, places };
  const inOrder = (found: ColumnsFound) => places.map((place) => found.get(place)!);
  const found = files.use(path, (file) =>
    cachedColumns(cache, file, batch, (length) => new Uint8Array(length)),
  );
  return found instanceof Promise ? found.then(inOrder) : inOrder(found);
}

/**
 * The values of which a column must have one where a predicate is true, as `a = 1` and
 * `a IN (1, 2)` ask for; undefined for any other predicate. They are in the column's own step.
 */
function requestedValues({ root }: BoundExpression): readonly RangeValue[] | undefined {
  if (root.kind === 'in' && !root.negated && root.operand.kind === 'column') {
    return rangeValues(root.members.values);
  }
  return root.kind === 'comparison' && isPlain(root)
    ? rangeValues([literalOf(root.right)])
    : undefined;
}

function isPlain({ operator, left, right, factors }: Extract<Bound, { kind: 'comparison' }>) {
  const same = factors[0] === 1n && factors[1] === 1n;
  return operator === '=' && same && left.kind === 'column' && right.kind === 'literal';
}

function literalOf(node: Bound): Scalar {
  return node.kind === 'literal' ? node.value : null;
}

/** Undefined when one of them has no place in an order; nothing is equal to null. */
function rangeValues(values: readonly Scalar[]): readonly RangeValue[] | undefined {
  const found = values.filter((value) => value !== null).map(rangeValue);
  return found.every((value) => value !== undefined) ? found : undefined;
}
