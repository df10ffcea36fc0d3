import type { Data, FixedSizeList, Union } from 'apache-arrow';
import { countBits, takeBits } from './bitmap.ts';
import { type DataParts, dataOf, nullCountOf } from './data.ts';
import { gather } from './gather.ts';
import { type Layout, layoutOf } from './layout.ts';
import { copyRanges, takeRanges } from './take-bytes.ts';
import { takeViews } from './take-views.ts';

type Take = (data: Data, rows: Uint32Array) => Partial<DataParts>;

const takers: Readonly<Record<Layout, Take>> = {
  null: () => ({}),
  bool: (data, rows) => ({ values: takeBits(data.values, data.offset, rows) }),
  fixed: (data, rows) => ({ values: gather(data.values, data.stride, rows) }),
  bytes: takeBytes,
  'large-bytes': takeBytes,
  view: takeViews,
  list: takeList,
  'large-list': takeList,
  'fixed-list': takeFixedList,
  struct: (data, rows) => ({ children: takeChildren(data, rows) }),
  'sparse-union': (data, rows) => ({
    typeIds: gather<Int8Array>(data.typeIds, 1, rows),
    children: takeChildren(data, rows),
  }),
  'dense-union': takeDenseUnion,
  dictionary: (data, rows) => ({
    values: gather(data.values, 1, rows),
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
    const values = gather(child.values, listSize * child.stride, rows);
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
  const typeIds = gather<Int8Array>(data.typeIds, 1, rows);
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
