import type { Data, FixedSizeList, Union } from 'apache-arrow';
import { getBit } from './bitmap.ts';
import { bytesOf, isNull, wordsOf } from './data.ts';
import { inlineCapacity, type Layout, layoutOf } from './layout.ts';

type Key = (data: Data, row: number) => string;

const keys: Readonly<Record<Layout, Key>> = {
  null: () => 'n',
  bool: (data, row) => (getBit(data.values, data.offset + row) ? 't' : 'f'),
  fixed: (data, row) => {
    const width = data.stride * data.values.BYTES_PER_ELEMENT;
    return text(bytesOf(data.values), row * width, (row + 1) * width);
  },
  bytes: bytesKey,
  'large-bytes': bytesKey,
  view: viewKey,
  list: listKey,
  'large-list': listKey,
  'fixed-list': (data, row) => {
    const { listSize } = data.type as FixedSizeList;
    return rangeKey(data.children[0]!, row * listSize, (row + 1) * listSize);
  },
  struct: (data, row) => data.children.map((child) => rowKey(child, row)).join(''),
  'sparse-union': (data, row) => unionKey(data, row, row),
  'dense-union': (data, row) => unionKey(data, row, data.valueOffsets[row]),
  dictionary: (data, row) => dictionaryKey(data, data.values[row]),
};

/**
 * A text that two rows of columns of one type share exactly if their values
 * are the same bit for bit.
 */
export function rowKey(data: Data, row: number): string {
  if (isNull(data, row)) return '-';
  const key = keys[layoutOf(data.type)](data, row);
  return `${key.length}:${key}`;
}

function text(bytes: Uint8Array, start: number, end: number): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset + start, end - start).toString('latin1');
}

function bytesKey(data: Data, row: number): string {
  return text(data.values, Number(data.valueOffsets[row]), Number(data.valueOffsets[row + 1]));
}

function viewKey(data: Data, row: number): string {
  const words = wordsOf(data.values);
  const length = words[4 * row]!;
  if (length <= inlineCapacity) return text(data.values, 16 * row + 4, 16 * row + 4 + length);
  const offset = words[4 * row + 3]!;
  return text(data.variadicBuffers[words[4 * row + 2]!]!, offset, offset + length);
}

function listKey(data: Data, row: number): string {
  const { valueOffsets } = data;
  return rangeKey(data.children[0]!, Number(valueOffsets[row]), Number(valueOffsets[row + 1]));
}

function rangeKey(child: Data, start: number, end: number): string {
  let key = '';
  for (let row = start; row < end; row++) key += rowKey(child, row);
  return key;
}

function unionKey(data: Data, row: number, at: number): string {
  const id: number = data.typeIds[row];
  const index = (data.type as Union).typeIds.indexOf(id);
  return `${id}:${rowKey(data.children[index]!, at)}`;
}

function dictionaryKey(data: Data, index: number): string {
  let rest = index;
  for (const chunk of data.dictionary?.data ?? []) {
    if (rest < chunk.length) return rowKey(chunk, rest);
    rest -= chunk.length;
  }
  return '-';
}
