import type { Data, FixedSizeList, Union } from 'apache-arrow';
import { countBits, takeBits } from './bitmap.ts';
import {
  dataOf,
  nullCountOf,
  isMarkedNull,
  wordsOf,
  bytesOf,
  isNull,
  type DataParts,
} from './data.ts';
import { gatherRows, copyRun } from './gather.ts';
import { layoutOf, inlineCapacity, type Layout } from './layout.ts';
import { ArrowError } from './arrow-error.ts';

/** Bytes of one data buffer that is rewritten. */
const bufferBytes = 67_108_864;

/** Views and their data buffers. */
interface ViewParts {
  readonly values: Uint8Array;
  readonly variadic: Uint8Array[];
}

/** Some rows of a view column over data buffers that hold these rows alone; null rows get empty views. */
export function takeViews(data: Data, rows: Uint32Array): ViewParts {
  const source = wordsOf(data.values);
  const target = new Uint32Array(4 * rows.length);
  const nulls = nullCountOf(data) > 0;
  const writer = new ViewWriter();
  for (let index = 0; index < rows.length; index++) {
    const row = rows[index]!;
    if (nulls && isMarkedNull(data, row)) continue;
    for (let word = 0; word < 4; word++) target[4 * index + word] = source[4 * row + word]!;
    if (source[4 * row]! > inlineCapacity) writer.move(data, target, 4 * index);
  }
  return { values: bytesOf(target), variadic: writer.finish() };
}

/** Bytes of the long values of a view column; shared values are counted each time. */
export function viewBytes(data: Data): number {
  const words = wordsOf(data.values);
  let total = 0;
  for (let row = 0; row < data.length; row++) {
    const length = words[4 * row]!;
    if (length > inlineCapacity && !isNull(data, row)) total += length;
  }
  return total;
}

/** Copies long values into new data buffers and points their views there. */
class ViewWriter {
  readonly #full: Uint8Array[] = [];
  #buffer = new Uint8Array(1024);
  #used = 0;

  /** Moves the value of the view whose four words begin at `at`. */
  move(data: Data, words: Uint32Array, at: number): void {
    const length = words[at]!;
    const source = data.variadicBuffers[words[at + 2]!]!;
    this.#reserve(length);
    copyRun(source, words[at + 3]!, this.#buffer, this.#used, length);
    words[at + 2] = this.#full.length;
    words[at + 3] = this.#used;
    this.#used += length;
  }

  finish(): Uint8Array[] {
    if (this.#used > 0) this.#full.push(this.#buffer.subarray(0, this.#used));
    return this.#full;
  }

  #reserve(length: number): void {
    const needed = this.#used + length;
    if (needed <= this.#buffer.length) return;
    if (this.#used > 0 && needed > bufferBytes) {
      this.#full.push(this.#buffer.subarray(0, this.#used));
      this.#used = 0;
      this.#buffer = new Uint8Array(Math.max(length, bufferBytes));
      return;
    }
    const larger = new Uint8Array(Math.max(needed, 2 * this.#buffer.length));
    larger.set(this.#buffer.subarray(0, this.#used));
    this.#buffer = larger;
  }
}

/** The last position that 32-bit offsets reach. */
export const maxOffset = 2_147_483_647;

/** New offsets of some rows of a column, and their old positions. */
interface TakenRanges {
  readonly offsets: Int32Array | BigInt64Array;
  /** First position of each row. */
  readonly starts: Float64Array;
  readonly lengths: Uint32Array;
  readonly total: number;
}

/** The ranges of some rows of a column with offsets; null rows are empty. Throws `limit` beyond 2^31-1 positions. */
function takeRanges(data: Data, rows: Uint32Array): TakenRanges {
  const source: Int32Array | BigInt64Array = data.valueOffsets;
  const large = source instanceof BigInt64Array;
  const offsets = large ? new BigInt64Array(rows.length + 1) : new Int32Array(rows.length + 1);
  const [from, to] = [wordsOf(source), wordsOf(offsets)];
  const step = large ? 2 : 1;
  const starts = new Float64Array(rows.length);
  const lengths = new Uint32Array(rows.length);
  const nulls = nullCountOf(data) > 0;
  let total = 0;
  for (let index = 0; index < rows.length; index++) {
    const row = rows[index]!;
    const start = from[row * step]!;
    const length = nulls && isMarkedNull(data, row) ? 0 : from[(row + 1) * step]! - start;
    starts[index] = start;
    lengths[index] = length;
    total += length;
    to[(index + 1) * step] = total;
  }
  if (total > maxOffset) throw tooLong(total);
  return { offsets, starts, lengths, total };
}

/** The error for a column whose values together are too long. */
export function tooLong(total: number): ArrowError {
  return new ArrowError(
    'limit',
    `A column would hold ${total} bytes or items, at most ${maxOffset} fit.`,
  );
}

/** Copies ranges of bytes one after the other; neighbours go in one piece. */
function copyRanges(source: Uint8Array, ranges: TakenRanges): Uint8Array {
  const target = new Uint8Array(ranges.total);
  const { starts, lengths } = ranges;
  let from = 0;
  let count = 0;
  let to = 0;
  for (let index = 0; index < lengths.length; index++) {
    const length = lengths[index]!;
    if (length === 0) continue;
    const start = starts[index]!;
    if (start !== from + count) {
      copyRun(source, from, target, to, count);
      to += count;
      from = start;
      count = 0;
    }
    count += length;
  }
  copyRun(source, from, target, to, count);
  return target;
}

type Take = (data: Data, rows: Uint32Array) => Partial<DataParts>;

const takers: Readonly<Record<Layout, Take>> = {
  null: () => ({}),
  bool: (data, rows) => ({ values: takeBits(data.values, data.offset, rows) }),
  fixed: (data, rows) => ({ values: gatherRows(data.values, data.stride, rows) }),
  bytes: takeBytes,
  'large-bytes': takeBytes,
  view: takeViews,
  list: takeList,
  'large-list': takeList,
  'fixed-list': takeFixedList,
  struct: (data, rows) => ({ children: takeChildren(data, rows) }),
  'sparse-union': (data, rows) => ({
    typeIds: gatherRows<Int8Array>(data.typeIds, 1, rows),
    children: takeChildren(data, rows),
  }),
  'dense-union': takeDenseUnion,
  dictionary: (data, rows) => ({
    values: gatherRows(data.values, 1, rows),
    dictionary: data.dictionary,
  }),
};

/** Some rows of a column, in the order given, in memory of their own (a dictionary is shared). */
export function takeData(data: Data, rows: Uint32Array): Data {
  const { type } = data;
  const layout = layoutOf(type);
  const { length } = rows;
  const parts = takers[layout](data, rows);
  if (layout === 'null') return dataOf(type, { length, nullCount: length });
  if (nullCountOf(data) === 0) return dataOf(type, { ...parts, length, nullCount: 0 });
  const validity = takeBits(data.nullBitmap, data.offset, rows);
  const nullCount = length - countBits(validity, 0, length);
  return dataOf(type, { ...parts, length, nullCount, validity });
}

function takeChildren(data: Data, rows: Uint32Array): Data[] {
  return data.children.map((child) => takeData(child, rows));
}

function takeBytes(data: Data, rows: Uint32Array): Partial<DataParts> {
  const ranges = takeRanges(data, rows);
  return { offsets: ranges.offsets, values: copyRanges(data.values, ranges) };
}

function takeList(data: Data, rows: Uint32Array): Partial<DataParts> {
  const { offsets, starts, lengths, total } = takeRanges(data, rows);
  const items = new Uint32Array(total);
  let next = 0;
  for (let index = 0; index < lengths.length; index++) {
    const start = starts[index]!;
    for (let item = 0; item < lengths[index]!; item++) items[next++] = start + item;
  }
  return { offsets, children: takeChildren(data, items) };
}

function takeFixedList(data: Data, rows: Uint32Array): Partial<DataParts> {
  const { listSize } = data.type as FixedSizeList;
  const [child] = data.children;
  if (child !== undefined && layoutOf(child.type) === 'fixed' && nullCountOf(child) === 0) {
    // The usual vector column: each row is one wide value.
    const values = gatherRows(child.values, listSize * child.stride, rows);
    const length = listSize * rows.length;
    return { children: [dataOf(child.type, { length, nullCount: 0, values })] };
  }
  const items = new Uint32Array(listSize * rows.length);
  let next = 0;
  for (const row of rows) {
    for (let item = 0; item < listSize; item++) items[next++] = row * listSize + item;
  }
  return { children: takeChildren(data, items) };
}

function takeDenseUnion(data: Data, rows: Uint32Array): Partial<DataParts> {
  const typeIds = gatherRows<Int8Array>(data.typeIds, 1, rows);
  const source: Int32Array = data.valueOffsets;
  const offsets = new Int32Array(rows.length);
  const children = data.children.map((child, index) => {
    const id = (data.type as Union).typeIds[index];
    const picked = new Uint32Array(rows.length);
    let count = 0;
    for (let row = 0; row < rows.length; row++) {
      if (typeIds[row] !== id) continue;
      offsets[row] = count;
      picked[count++] = source[rows[row]!]!;
    }
    return takeData(child, picked.subarray(0, count));
  });
  return { typeIds, offsets, children };
}
