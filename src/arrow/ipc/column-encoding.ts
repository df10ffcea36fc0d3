import type { Data, DataType, Dictionary, FixedSizeList, Union } from 'apache-arrow';
import { sliceBits } from '../bitmap.ts';
import type { BodyWriter } from './body-writer.ts';
import { coveredRange } from '../concat.ts';
import { bytesOf, copyBytes, nullCountOf, sliceData, wordsOf } from '../data.ts';
import { type Layout, layoutOf, viewWidth } from '../layout.ts';
import { childrenOf } from '../nested-type.ts';
import { takeViews, viewBytes } from '../take.ts';
import type { WrittenDictionaries } from '../growing-dictionary.ts';

/** Receives encoded columns. */
interface ColumnOutput {
  readonly body: BodyWriter;
  readonly dictionaries: WrittenDictionaries;
}

type Encode = (data: Data, type: DataType, output: ColumnOutput) => void;

const nothing = new Uint8Array(0);

const encoders: Readonly<Record<Layout, Encode>> = {
  null: () => undefined,
  bool: (data, _, { body }) => body.buffer(sliceBits(data.values, data.offset, data.length)),
  fixed: (data, _, { body }) => body.buffer(bytesOf(data.values, data.length * data.stride)),
  bytes: encodeBytes,
  'large-bytes': encodeBytes,
  view: encodeViews,
  list: encodeList,
  'large-list': encodeList,
  'fixed-list': (data, type, output) => {
    const items = data.length * (type as FixedSizeList).listSize;
    encodeChildren([sliceData(data.children[0]!, 0, items)], type, output);
  },
  struct: encodeAlike,
  'sparse-union': (data, type, output) => {
    output.body.buffer(bytesOf(data.typeIds, data.length));
    encodeAlike(data, type, output);
  },
  'dense-union': encodeDenseUnion,
  dictionary: (data, type, { body, dictionaries }) => {
    const moved = dictionaries.remap(data, type as Dictionary);
    body.buffer(bytesOf(moved.values, data.length));
  },
};

/**
 * Writes one column: its rows alone, from offset 0, sharing memory where no
 * byte changes. `type` is the column's type in the writable schema.
 */
export function encodeColumn(data: Data, type: DataType, output: ColumnOutput): void {
  const layout = layoutOf(type);
  const nullCount = nullCountOf(data);
  output.body.node(data.length, nullCount);
  if (layout !== 'null' && layout !== 'sparse-union' && layout !== 'dense-union') {
    const bits = nullCount === 0 ? nothing : sliceBits(data.nullBitmap, data.offset, data.length);
    output.body.buffer(bits);
  }
  encoders[layout](data, type, output);
}

function encodeChildren(children: readonly Data[], type: DataType, output: ColumnOutput): void {
  const fields = childrenOf(type);
  children.forEach((child, index) => encodeColumn(child, fields[index]!.type, output));
}

/** Children with one row for each row of the parent. */
function encodeAlike(data: Data, type: DataType, output: ColumnOutput): void {
  const children = data.children.map((child) => sliceData(child, 0, data.length));
  encodeChildren(children, type, output);
}

function encodeBytes(data: Data, _: DataType, { body }: ColumnOutput): void {
  const { begin, end } = coveredRange(data);
  body.buffer(rebased(data, begin));
  body.buffer(data.values.subarray(begin, end));
}

function encodeList(data: Data, type: DataType, output: ColumnOutput): void {
  const { begin, end } = coveredRange(data);
  output.body.buffer(rebased(data, begin));
  encodeChildren([sliceData(data.children[0]!, begin, end - begin)], type, output);
}

/** The offsets of a column less the first of them. */
function rebased(data: Data, begin: number): Uint8Array {
  const offsets: Int32Array | BigInt64Array = data.valueOffsets;
  const width = offsets.BYTES_PER_ELEMENT;
  if (data.length === 0) return new Uint8Array(width);
  const bytes = bytesOf(offsets, data.length + 1);
  if (begin === 0) return bytes;
  const words = wordsOf(new Uint32Array(copyBytes(bytes).buffer));
  if (width === 4) {
    for (let row = 0; row <= data.length; row++) words[row]! -= begin;
    return bytesOf(words);
  }
  const large = new BigInt64Array(words.buffer);
  const shift = BigInt(begin);
  for (let row = 0; row <= data.length; row++) large[row]! -= shift;
  return bytesOf(large);
}

function encodeViews(data: Data, _: DataType, { body }: ColumnOutput): void {
  const held = data.variadicBuffers.reduce((sum, buffer) => sum + buffer.length, 0);
  if (held > 2 * viewBytes(data)) {
    // A part of a larger column: write the values of its own rows alone.
    const rows = Uint32Array.from({ length: data.length }, (_, row) => row);
    const { values, variadic } = takeViews(data, rows);
    addViews(values, variadic, body);
  } else {
    addViews(data.values.subarray(0, data.length * viewWidth), data.variadicBuffers, body);
  }
}

function addViews(values: Uint8Array, variadic: readonly Uint8Array[], body: BodyWriter): void {
  body.buffer(values);
  for (const buffer of variadic) body.buffer(buffer);
  body.variadic(variadic.length);
}

/** For each child the rows that the union refers to, from the first to the last. */
function encodeDenseUnion(data: Data, type: DataType, output: ColumnOutput): void {
  const typeIds: Int8Array = data.typeIds.subarray(0, data.length);
  const source: Int32Array = data.valueOffsets.subarray(0, data.length);
  const [first, last] = [new Int32Array(128).fill(-1), new Int32Array(128).fill(-1)];
  for (let row = 0; row < data.length; row++) {
    const [id, at] = [typeIds[row]!, source[row]!];
    if (first[id]! < 0 || at < first[id]!) first[id] = at;
    if (at > last[id]!) last[id] = at;
  }
  const offsets = source.map((at, row) => at - first[typeIds[row]!]!);
  output.body.buffer(bytesOf(typeIds));
  output.body.buffer(bytesOf(offsets));
  const { typeIds: ids } = type as Union;
  const children = data.children.map((child, index) => {
    const [from, to] = [first[ids[index]!]!, last[ids[index]!]!];
    return from < 0 ? sliceData(child, 0, 0) : sliceData(child, from, to - from + 1);
  });
  encodeChildren(children, type, output);
}
