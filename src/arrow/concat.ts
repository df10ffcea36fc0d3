import { type Data, type Dictionary, type FixedSizeList, type Union, Vector } from 'apache-arrow';
import { BitWriter } from './bitmap.ts';
import {
  bytesOf,
  type DataParts,
  dataOf,
  nullCountOf,
  sliceData,
  type TypedArray,
  wordsOf,
} from './data.ts';
import { GrowingDictionary, remapIndices } from './growing-dictionary.ts';
import { newLike } from './gather.ts';
import { inlineCapacity, type Layout, layoutOf } from './layout.ts';
import { maxOffset, tooLong } from './take.ts';

type Concat = (parts: readonly Data[], length: number) => Partial<DataParts>;

const concats: Readonly<Record<Layout, Concat>> = {
  null: () => ({}),
  bool: (parts, length) => ({ values: joinBits(parts, length, (part) => part.values) }),
  fixed: (parts, length) => ({ values: joinValues(parts, length) }),
  bytes: concatBytes,
  'large-bytes': concatBytes,
  view: concatViews,
  list: concatLists,
  'large-list': concatLists,
  'fixed-list': concatFixedLists,
  struct: (parts) => ({ children: concatChildren(parts) }),
  'sparse-union': (parts, length) => ({
    typeIds: joinTypeIds(parts, length),
    children: concatChildren(parts),
  }),
  'dense-union': concatDenseUnions,
  dictionary: concatDictionaries,
};

/**
 * Columns of one type, one below the other. Different dictionaries become one.
 * Throws `limit` if offsets or dictionary indices cannot hold the result.
 */
export function concatData(parts: readonly Data[]): Data {
  const [first] = parts;
  if (first === undefined) throw new TypeError('No columns to put together.');
  if (parts.length === 1) return first;
  const { type } = first;
  const layout = layoutOf(type);
  const length = parts.reduce((sum, part) => sum + part.length, 0);
  if (layout === 'null') return dataOf(type, { length, nullCount: length });
  const nullCount = parts.reduce((sum, part) => sum + nullCountOf(part), 0);
  const body = concats[layout](parts, length);
  const validity =
    nullCount === 0 ? undefined : joinBits(parts, length, (part) => part.nullBitmap, true);
  return dataOf(type, { ...body, length, nullCount, validity });
}

function joinBits(
  parts: readonly Data[],
  length: number,
  bitsOf: (part: Data) => Uint8Array,
  validity = false,
): Uint8Array {
  const writer = new BitWriter(length);
  for (const part of parts) {
    if (validity && nullCountOf(part) === 0) writer.fill(part.length);
    else writer.append(bitsOf(part), part.offset, part.length);
  }
  return writer.bits;
}

function joinValues(parts: readonly Data[], length: number): TypedArray {
  const { stride, values }: { stride: number; values: TypedArray } = parts[0]!;
  const target = newLike(values, length * stride);
  const bytes = bytesOf(target);
  let at = 0;
  for (const part of parts) {
    const piece = bytesOf(part.values, part.length * stride);
    bytes.set(piece, at);
    at += piece.length;
  }
  return target;
}

function joinTypeIds(parts: readonly Data[], length: number): Int8Array {
  const typeIds = new Int8Array(length);
  let at = 0;
  for (const part of parts) {
    typeIds.set(part.typeIds.subarray(0, part.length), at);
    at += part.length;
  }
  return typeIds;
}

function concatChildren(parts: readonly Data[]): Data[] {
  return parts[0]!.children.map((_, index) =>
    concatData(parts.map((part) => sliceData(part.children[index]!, 0, part.length))),
  );
}

/** The positions that a column's offsets cover. */
export function coveredRange(data: Data): { begin: number; end: number } {
  const offsets: Int32Array | BigInt64Array = data.valueOffsets;
  if (data.length === 0) return { begin: 0, end: 0 };
  return { begin: Number(offsets[0]), end: Number(offsets[data.length]) };
}

/** Joined offsets, and the range that each part covers. */
function joinOffsets(
  parts: readonly Data[],
  length: number,
): {
  offsets: Int32Array | BigInt64Array;
  ranges: { begin: number; end: number }[];
  total: number;
} {
  const large = parts[0]!.valueOffsets instanceof BigInt64Array;
  const offsets = large ? new BigInt64Array(length + 1) : new Int32Array(length + 1);
  const [step, words] = [large ? 2 : 1, wordsOf(offsets)];
  const ranges = parts.map(coveredRange);
  let [row, total] = [1, 0];
  parts.forEach((part, index) => {
    const source = wordsOf(part.valueOffsets);
    const { begin, end } = ranges[index]!;
    const shift = total - begin;
    for (let at = 1; at <= part.length; at++) words[step * row++] = source[step * at]! + shift;
    total += end - begin;
    if (total > maxOffset) throw tooLong(total);
  });
  return { offsets, ranges, total };
}

function concatBytes(parts: readonly Data[], length: number): Partial<DataParts> {
  const { offsets, ranges, total } = joinOffsets(parts, length);
  const values = new Uint8Array(total);
  let at = 0;
  parts.forEach((part, index) => {
    const { begin, end } = ranges[index]!;
    values.set(part.values.subarray(begin, end), at);
    at += end - begin;
  });
  return { offsets, values };
}

function concatLists(parts: readonly Data[], length: number): Partial<DataParts> {
  const { offsets, ranges } = joinOffsets(parts, length);
  const children = parts.map((part, index) => {
    const { begin, end } = ranges[index]!;
    return sliceData(part.children[0]!, begin, end - begin);
  });
  return { offsets, children: [concatData(children)] };
}

function concatFixedLists(parts: readonly Data[]): Partial<DataParts> {
  const { listSize } = parts[0]!.type as FixedSizeList;
  const children = parts.map((part) => sliceData(part.children[0]!, 0, part.length * listSize));
  return { children: [concatData(children)] };
}

function concatViews(parts: readonly Data[], length: number): Partial<DataParts> {
  const words = new Uint32Array(4 * length);
  const places = new Map<Uint8Array, number>();
  let at = 0;
  for (const part of parts) {
    const moved = part.variadicBuffers.map((buffer) => {
      if (!places.has(buffer)) places.set(buffer, places.size);
      return places.get(buffer)!;
    });
    words.set(wordsOf(part.values).subarray(0, 4 * part.length), at);
    for (const end = at + 4 * part.length; at < end; at += 4) {
      if (words[at]! > inlineCapacity) words[at + 2] = moved[words[at + 2]!] ?? 0;
    }
  }
  return { values: bytesOf(words), variadic: [...places.keys()] };
}

function concatDenseUnions(parts: readonly Data[], length: number): Partial<DataParts> {
  const { typeIds: ids } = parts[0]!.type as Union;
  const offsets = new Int32Array(length);
  const shifts = new Int32Array(128);
  let row = 0;
  for (const part of parts) {
    for (let at = 0; at < part.length; at++) {
      offsets[row++] = part.valueOffsets[at] + shifts[part.typeIds[at]]!;
    }
    ids.forEach((id, index) => (shifts[id]! += part.children[index]!.length));
  }
  const children = parts[0]!.children.map((_, index) =>
    concatData(parts.map((part) => part.children[index]!)),
  );
  return { typeIds: joinTypeIds(parts, length), offsets, children };
}

function concatDictionaries(parts: readonly Data[], length: number): Partial<DataParts> {
  const [first] = parts;
  if (parts.every((part) => part.dictionary === first!.dictionary)) {
    return { values: joinValues(parts, length), dictionary: first!.dictionary };
  }
  const growing = new GrowingDictionary(first!.type as Dictionary);
  const moved = parts.map((part) => remapIndices(part, growing.add(part.dictionary!)));
  const chunks = growing.chunks();
  const dictionary = new Vector([concatData(chunks)]);
  return { values: joinValues(moved, length), dictionary };
}
