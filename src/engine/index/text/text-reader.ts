import { LRUCache } from 'lru-cache';
import type { Data } from 'apache-arrow';
import { isNull } from '../../../arrow/data.ts';
import type { StoredFile } from '../../../arrow/sealed/file-seal.ts';
import { indexColumns, type ColumnsAt } from '../keys/index-reader.ts';
import type { ColumnCache } from '../../format/memory/column-cache.ts';
import type { OpenFiles } from '../../format/memory/open-files.ts';
import { decodePart, type PartHeader } from './part-header.ts';
import { decodePostings, isIntact, type Postings, type Numbers } from './postings.ts';
import { onlyItem } from '../../base/items.ts';

/** A damaged file of a text index. Its rows can still be read from the table. */
export class DamagedText extends Error {
  readonly path: string;

  constructor(path: string) {
    super('a checksum of it does not fit');
    this.path = path;
  }
}

/** Pages of a part in a file. */
interface PartPages {
  /** Page with the lengths of the part's texts. */
  readonly header: number;
  /** First token of each following page. */
  readonly firsts: readonly string[];
}

interface Directory {
  readonly parts: readonly PartPages[];
  readonly lengths: PartHeader;
}

/** Cache size for directories and lengths of texts, in bytes. */
const DIRECTORY_BYTES = 32 * 2 ** 20;

/** Visits tokens in order. */
export interface TokenVisitor {
  /** Visits a token. Returns the least next token of interest; null to stop. */
  readonly visit: (token: string) => string | null;
  /** Yields to other requests now and then. */
  readonly turn: () => Promise<void>;
}

/** Reads files of text indices page by page and verifies their checksums. */
export class TextReader {
  readonly #files: OpenFiles;
  readonly #cache: ColumnCache;
  readonly #directories = new LRUCache<string, Directory>({ maxSize: DIRECTORY_BYTES });
  /** Rows of cached pages whose checksums were verified. */
  readonly #intact = new WeakMap<Data, Uint8Array>();

  constructor(files: OpenFiles, cache: ColumnCache) {
    this.#files = files;
    this.#cache = cache;
  }

  /** Lengths of the texts of a file's rows. @throws DamagedText */
  async lengths(stored: StoredFile): Promise<PartHeader> {
    return (await this.#directory(stored)).lengths;
  }

  /** Postings of a token, part by part; none if no row has it. @throws DamagedText */
  async postings(stored: StoredFile, token: string): Promise<readonly Postings[]> {
    const { parts } = await this.#directory(stored);
    const lists: Postings[] = [];
    for (const part of parts) {
      const page = pageOf(part, token);
      if (page === undefined) continue;
      const [keys, values] = await this.#columns(stored, page, [0, 1]);
      const row = rowOf(keys, token);
      if (row !== undefined) lists.push(decodePostings(this.#bytes(stored.path, values, row)));
    }
    return lists;
  }

  /** Visits the tokens of each part from a given one on, in order. @throws DamagedText */
  async visitTokens(stored: StoredFile, from: string, visitor: TokenVisitor): Promise<void> {
    const { parts } = await this.#directory(stored);
    for (const { header, firsts } of parts) {
      let next: string | null = from;
      let at = Math.max(0, placeOfLast(firsts, from));
      while (next !== null && at < firsts.length) {
        const [keys] = await this.#columns(stored, header + 1 + at, [0]);
        next = visitKeys(keys, next, visitor);
        at = next === null ? at : Math.max(at + 1, placeOfLast(firsts, next));
        await visitor.turn();
      }
    }
  }

  /** Verifies a whole file. @throws DamagedText for a failed checksum. */
  async check(stored: StoredFile): Promise<void> {
    const pages = await this.#files.use(stored, async ({ file }) => file.batchRows.length - 1);
    for (let page = 0; page < pages; page++) {
      const [values] = await this.#columns(stored, page, [1]);
      for (let row = 0; row < values.length; row++) this.#bytes(stored.path, values, row);
    }
  }

  async #directory(stored: StoredFile): Promise<Directory> {
    const cached = this.#directories.get(stored.path);
    if (cached !== undefined) return cached;
    const last = await this.#files.use(stored, async ({ file }) => file.batchRows.length - 1);
    const [ends] = await this.#columns(stored, last, [0]);
    const parts = partsOf(ends, last);
    const headers: PartHeader[] = [];
    for (const { header } of parts) {
      const [values] = await this.#columns(stored, header, [1]);
      headers.push(decodePart(this.#bytes(stored.path, values, 0)));
    }
    const lengths = mergedParts(headers);
    const directory = { parts, lengths };
    const size = 256 + 2 * ends.byteLength + lengths.lengths.byteLength;
    this.#directories.set(stored.path, directory, { size });
    return directory;
  }

  /** The bytes of a row, whose checksum is verified once. */
  #bytes(path: string, values: Data, row: number): Uint8Array {
    const all: Uint8Array = values.values;
    const offsets: Int32Array = values.valueOffsets;
    const bytes = all.subarray(offsets[row], offsets[row + 1]);
    const intact = this.#intact.get(values) ?? new Uint8Array(values.length);
    if (intact[row] === 0) {
      if (!isIntact(bytes)) throw new DamagedText(path);
      intact[row] = 1;
      this.#intact.set(values, intact);
    }
    return bytes;
  }

  async #columns<const Places extends readonly number[]>(
    stored: StoredFile,
    index: number,
    places: Places,
  ): Promise<ColumnsAt<Places>> {
    return indexColumns(this.#files, this.#cache, stored, index, places);
  }
}

/** A page without a key begins a part. */
function partsOf(ends: Data, pages: number): readonly PartPages[] {
  const token = tokenReader(ends);
  const parts: { header: number; firsts: string[] }[] = [];
  for (let page = 0; page < pages; page++) {
    if (isNull(ends, 2 * page)) parts.push({ header: page, firsts: [] });
    else parts.at(-1)?.firsts.push(token(2 * page));
  }
  return parts;
}

/** The page that may hold a token; undefined for none. */
function pageOf({ header, firsts }: PartPages, token: string): number | undefined {
  const at = placeOfLast(firsts, token);
  return at < 0 ? undefined : header + 1 + at;
}

/** Position of the last text that is not greater than another. */
function placeOfLast(texts: readonly string[], other: string): number {
  let low = 0;
  let high = texts.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (texts[middle]! <= other) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

function rowOf(keys: Data, token: string): number | undefined {
  const key = tokenReader(keys);
  const row = firstFrom(key, 0, keys.length, token);
  return row < keys.length && key(row) === token ? row : undefined;
}

type Keys = (row: number) => string;

/** The first of some rows whose key is not less than a token. */
function firstFrom(key: Keys, start: number, end: number, token: string): number {
  let low = start;
  let high = end;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (key(middle) < token) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** As `firstFrom`; faster if the row is near the start. */
function nextFrom(key: Keys, start: number, end: number, token: string): number {
  let step = 1;
  let low = start;
  let high = low;
  while (high < end && key(high) < token) {
    low = high + 1;
    high += step;
    step *= 2;
  }
  return firstFrom(key, low, Math.min(high, end), token);
}

/** Visits the tokens of a page. Returns the least next token of interest; null to stop. */
function visitKeys(keys: Data, from: string, { visit }: TokenVisitor): string | null {
  const key = tokenReader(keys);
  let next: string | null = from;
  let row = firstFrom(key, 0, keys.length, from);
  while (row < keys.length) {
    next = visit(key(row));
    if (next === null) return null;
    row = nextFrom(key, row + 1, keys.length, next);
  }
  return next;
}

function tokenReader({ values, valueOffsets }: Data): Keys {
  const bytes = Buffer.from(values.buffer, values.byteOffset, values.byteLength);
  const offsets: Int32Array = valueOffsets;
  return (row) => bytes.toString('utf8', offsets[row], offsets[row + 1]);
}

/** Merges parts of a fragment. @param parts In the order of their rows. */
function mergedParts(parts: readonly PartHeader[]): PartHeader {
  const only = onlyItem(parts);
  if (only !== undefined) return only;
  const sum = (of: (part: PartHeader) => number) => parts.reduce((all, part) => all + of(part), 0);
  return {
    first: 0,
    texts: sum(({ texts }) => texts),
    tokens: sum(({ tokens }) => tokens),
    lengths: joined(parts.map(({ lengths }) => lengths)),
  };
}

function joined(lists: readonly Numbers[]): Numbers {
  const length = lists.reduce((sum, list) => sum + list.length, 0);
  const width = Math.max(1, ...lists.map(({ BYTES_PER_ELEMENT }) => BYTES_PER_ELEMENT));
  const all =
    width === 1
      ? new Uint8Array(length)
      : width === 2
        ? new Uint16Array(length)
        : new Uint32Array(length);
  let at = 0;
  for (const list of lists) {
    all.set(list, at);
    at += list.length;
  }
  return all;
}
