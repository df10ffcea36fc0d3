import { LRUCache } from 'lru-cache';
import { DataType, Field, Schema, type Data, type RecordBatch, type Uint32 } from 'apache-arrow';
import { batchOfData, dataOf, isNull, sliceData } from '../../../arrow/data.ts';
import { extremesOf, mergeExtremes, type Extremes } from '../../../arrow/extremes.ts';
import { takeData } from '../../../arrow/take.ts';
import { selectRows } from '../../../sql/evaluate.ts';
import { may, possibleStates } from '../../../sql/possible.ts';
import { rangeValue, type RangeValue } from '../../../sql/compare/value-range.ts';
import { extremesRange } from './fragment-ranges.ts';
import type { ColumnCache } from '../../format/memory/column-cache.ts';
import type { OpenFiles } from '../../format/memory/open-files.ts';
import { placesOf, stretchesWith } from './key-places.ts';
import type { LeafLookup } from './lookup.ts';
import type { StoredFile } from '../../../arrow/sealed/file-seal.ts';
import { keptIn } from '../../format/snapshot.ts';
import { decodeRows } from './page-writer.ts';
import { rowsOfAll } from './row-set.ts';
import { cachedColumns } from '../../format/cached-columns.ts';
import type { Bound, BoundExpression } from '../../../sql/evaluate/bound.ts';
import type { Scalar } from '../../../sql/values/scalar.ts';
import type { MaybePromise } from '../../../protocol/maybe-promise.ts';
import { andThen, inTurn } from '../../../protocol/maybe-promise.ts';

/** First and last keys of a file's pages. */
interface Directory {
  readonly pages: number;
  /** The first and the last key of each page; long texts are shortened as bounds are. */
  readonly ends: Data;
  /** Number of pages with values in ascending order; pages of NaN and null follow. */
  readonly ordered: number;
  /** First and last keys of the ordered pages. */
  readonly orderedEnds: Data;
}

/** Memory for directories, in bytes. */
const DIRECTORY_BYTES = 16 * 2 ** 20;

/** A test that needs more pages, and a greater share of them, scans all rows instead. */
const MANY_PAGES = 8;
const PAGES_SHARE = 1 / 3;

/** Longer lists of rows, with a greater share of all rows, are replaced by a scan. */
const MANY_ROWS = 4096;
const ROWS_SHARE = 1 / 2;

/** Reads index files page by page. */
export class IndexReader {
  readonly #files: OpenFiles;
  readonly #cache: ColumnCache;
  readonly #directories = new LRUCache<string, Directory>({ maxSize: DIRECTORY_BYTES });
  #lookups = 0;

  constructor(files: OpenFiles, cache: ColumnCache) {
    this.#files = files;
    this.#cache = cache;
  }

  /** Number of lookups that an index answered. */
  get lookups(): number {
    return this.#lookups;
  }

  /**
   * Rows of a fragment that pass a test, ascending; null if a scan is cheaper. Synchronous if all pages are
   * available.
   * @param of Number of rows of the fragment, including deleted ones.
   */
  rowsOf(folder: string, leaf: LeafLookup, of: number): MaybePromise<Uint32Array | null> {
    const stored = keptIn(folder, leaf.file);
    const directory = this.#directories.get(stored.path) ?? this.#directory(stored, leaf);
    return andThen(directory, (known) => this.#rowsBy(known, stored, leaf, of));
  }

  #rowsBy(
    directory: Directory,
    stored: StoredFile,
    leaf: LeafLookup,
    of: number,
  ): MaybePromise<Uint32Array | null> {
    const requested = leaf.type === 'LABEL_LIST' ? undefined : requestedValues(leaf.test);
    const pages =
      (requested && stretchesWith(directory.orderedEnds, requested)) ?? pagesOf(directory, leaf);
    const isMany = pages.length > MANY_PAGES && pages.length > PAGES_SHARE * directory.pages;
    if (leaf.type === 'BTREE' && isMany && requested === undefined) return null;
    const lists: Uint32Array[] = [];
    let count = 0;
    const isTooMany = () => count > MANY_ROWS && count > ROWS_SHARE * of;
    const reading = inTurn(pages, (page) =>
      andThen(this.#columns(stored, page, [0, 1]), ([keys, found]) => {
        for (const rows of rowsIn(leaf, keys, found, requested)) {
          lists.push(rows);
          count += rows.length;
        }
        return !isTooMany();
      }),
    );
    return andThen(reading, () => {
      if (isTooMany()) return null;
      this.#lookups++;
      return rowsOfAll(lists);
    });
  }

  /** Reads a file into the cache. */
  async prewarm(stored: StoredFile): Promise<void> {
    const pages = await this.#files.use(stored, async ({ file }) => file.batchRows.length);
    for (let page = 0; page < pages; page++) {
      await this.#columns(stored, page, [0, 1]);
      await this.#columns(stored, page, [0, 1]);
    }
  }

  async #directory(stored: StoredFile, { type }: LeafLookup): Promise<Directory> {
    const last = await this.#files.use(stored, async ({ file }) => file.batchRows.length - 1);
    const [ends] = await this.#columns(stored, last, [0]);
    const ordered = type === 'LABEL_LIST' ? 0 : orderedPages(ends, last);
    const orderedEnds = sliceData(ends, 0, 2 * ordered);
    const directory = { pages: last, ends, ordered, orderedEnds };
    this.#directories.set(stored.path, directory, { size: 1 + bytesOfData(ends) });
    return directory;
  }

  #columns<const Places extends readonly number[]>(
    stored: StoredFile,
    index: number,
    places: Places,
  ) {
    return indexColumns(this.#files, this.#cache, stored, index, places);
  }
}

/**
 * Rows of a page's keys that pass a test.
 * @param requested Values of which a key must equal one; undefined if there is no such list.
 */
function rowsIn(
  leaf: LeafLookup,
  keys: Data,
  rows: Data,
  requested: readonly RangeValue[] | undefined,
): readonly Uint32Array[] {
  const chosen = chosenOf(leaf, keys, requested && placesOf(keys, requested));
  if (DataType.isInt(rows.type)) {
    const all = (rows as Data<Uint32>).values;
    return [chosen.map((at) => all[at]!)];
  }
  const [values, offsets]: [Uint8Array, Int32Array] = [rows.values, rows.valueOffsets];
  return Array.from(chosen, (at) => decodeRows(values.subarray(offsets[at], offsets[at + 1])));
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

/** Pages that may hold a key that passes the test. */
function pagesOf({ pages, ends, ordered }: Directory, leaf: LeafLookup): readonly number[] {
  const all = Array.from({ length: pages }, (_, page) => page);
  if (leaf.type === 'LABEL_LIST') return all;
  const states = possibleStates(leaf.test);
  const { type } = ends;
  const mayHold = (first: number, last: number) => {
    const range = extremesRange(endsOf(ends, first, last), type);
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

/** Positions of keys that pass the test, among some or all keys. */
function chosenOf(leaf: LeafLookup, keys: Data, places: Uint32Array | undefined): Uint32Array {
  if (places === undefined) return selectRows(leaf.test, keysBatch(leaf, keys));
  // The lookup is exact for integers.
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

/** Keys as a batch with the column of the test; an item becomes a list of one. */
function keysBatch({ type, column }: LeafLookup, keys: Data): RecordBatch {
  const schema = keysSchema(column);
  if (type !== 'LABEL_LIST') return batchOfData(schema, [keys], keys.length);
  const { length } = keys;
  const offsets = Int32Array.from({ length: length + 1 }, (_, at) => at);
  const lists = dataOf(column.type, { length, nullCount: 0, offsets, children: [keys] });
  return batchOfData(schema, [lists], length);
}

/** Columns of a batch in the order in which they were requested. */
export type ColumnsAt<Places extends readonly number[]> = { readonly [At in keyof Places]: Data };

/**
 * Reads columns of an index file's batch, through the cache.
 * @param places Positions of the columns in the file.
 */
export function indexColumns<const Places extends readonly number[]>(
  files: OpenFiles,
  cache: ColumnCache,
  stored: StoredFile,
  index: number,
  places: Places,
): MaybePromise<ColumnsAt<Places>> {
  const batch = { index, range: undefined, places };
  const found = files.use(stored, (file) =>
    cachedColumns(cache, file, batch, (length) => new Uint8Array(length)),
  );
  return andThen(
    found,
    (columns) => places.map((place) => columns.get(place)) as ColumnsAt<Places>,
  );
}

/**
 * Values of which a column must equal one for a predicate to be true, as in `a = 1` and `a IN (1,
 * 2)`; undefined for any other predicate. Values are in the column's own unit.
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

/** Undefined if one of them has no order; nothing equals null. */
function rangeValues(values: readonly Scalar[]): readonly RangeValue[] | undefined {
  const found = values.filter((value) => value !== null).map(rangeValue);
  return found.every((value) => value !== undefined) ? found : undefined;
}
