import type { Data, DataType, Dictionary, FixedSizeList } from 'apache-arrow';
import type { ColumnCursor, ColumnNode } from './column-cursor.ts';
import { bytesOf, dataOf, elementsOf, sliceData, type TypedArray } from '../data.ts';
import { corrupt } from '../arrow-error.ts';
import { bitmapBytes } from '../bitmap.ts';
import { type Layout, layoutOf, viewWidth, widthOf } from '../layout.ts';
import { childrenOf } from '../nested-type.ts';

type Decode = (type: DataType, node: ColumnNode, name: string, cursor: ColumnCursor) => Data;

const decoders: Readonly<Record<Layout, Decode>> = {
  null: (type, { length }) => dataOf(type, { length, nullCount: length }),
  bool: (type, node, name, cursor) => {
    const nulls = cursor.nulls(node, name);
    const values = cursor.buffer(bitmapBytes(node.length), name);
    return dataOf(type, { ...nulls, values });
  },
  fixed: (type, node, name, cursor) => {
    const nulls = cursor.nulls(node, name);
    const values = decodeFixed(type, node, name, cursor);
    return dataOf(type, { ...nulls, values });
  },
  bytes: decodeBytes,
  'large-bytes': decodeBytes,
  view: (type, node, name, cursor) => {
    const nulls = cursor.nulls(node, name);
    // Views are read as 32-bit words later on.
    const views = elementsOf(Uint32Array, cursor.exact(node.length * viewWidth, name));
    const variadic = cursor.variadic(name);
    return dataOf(type, { ...nulls, values: bytesOf(views), variadic });
  },
  list: decodeList,
  'large-list': decodeList,
  'fixed-list': decodeFixedList,
  struct: (type, node, name, cursor) => {
    const nulls = cursor.nulls(node, name);
    const children = decodeChildren(type, node.length, name, cursor);
    return dataOf(type, { ...nulls, children });
  },
  'sparse-union': (type, node, name, cursor) => {
    const typeIds = decodeTypeIds(node, name, cursor);
    const children = decodeChildren(type, node.length, name, cursor);
    return dataOf(type, { length: node.length, nullCount: 0, typeIds, children });
  },
  'dense-union': (type, node, name, cursor) => {
    const typeIds = decodeTypeIds(node, name, cursor);
    const offsets = elementsOf(Int32Array, cursor.exact(4 * node.length, name));
    const children = decodeChildren(type, undefined, name, cursor);
    return dataOf(type, { length: node.length, nullCount: 0, typeIds, offsets, children });
  },
  dictionary: (type, node, name, cursor) => {
    const { id, indices } = type as Dictionary;
    const nulls = cursor.nulls(node, name);
    const values = decodeFixed(indices, node, name, cursor);
    return dataOf(type, { ...nulls, values, dictionary: cursor.dictionary(id, name) });
  },
};

/**
 * The next column of a batch over the batch's own memory. Sizes are checked,
 * what stands in the buffers is not (see `validateBatch`). `name` is the
 * column's path, for errors.
 */
export function decodeColumn(type: DataType, name: string, cursor: ColumnCursor): Data {
  return decoders[layoutOf(type)](type, cursor.node(name), name, cursor);
}

function decodeFixed(
  type: DataType,
  node: ColumnNode,
  name: string,
  cursor: ColumnCursor,
): TypedArray {
  return elementsOf(type.ArrayType, cursor.exact(node.length * widthOf(type), name));
}

function decodeChildren(
  type: DataType,
  length: number | undefined,
  name: string,
  cursor: ColumnCursor,
): Data[] {
  return childrenOf(type).map((field) => {
    const path = `${name}.${field.name}`;
    const child = decodeColumn(field.type, path, cursor);
    if (length !== undefined && child.length !== length) {
      throw corrupt(`Column "${path}" has ${child.length} rows, its parent has ${length}.`);
    }
    return child;
  });
}

function decodeBytes(type: DataType, node: ColumnNode, name: string, cursor: ColumnCursor): Data {
  const nulls = cursor.nulls(node, name);
  const offsets = decodeOffsets(type, node, name, cursor);
  const values = cursor.buffer(0, name);
  return dataOf(type, { ...nulls, offsets, values });
}

function decodeList(type: DataType, node: ColumnNode, name: string, cursor: ColumnCursor): Data {
  const nulls = cursor.nulls(node, name);
  const offsets = decodeOffsets(type, node, name, cursor);
  const children = decodeChildren(type, undefined, name, cursor);
  return dataOf(type, { ...nulls, offsets, children });
}

function decodeFixedList(
  type: DataType,
  node: ColumnNode,
  name: string,
  cursor: ColumnCursor,
): Data {
  const nulls = cursor.nulls(node, name);
  const items = node.length * (type as FixedSizeList).listSize;
  const children = decodeChildren(type, undefined, name, cursor).map((child) => {
    if (child.length < items) {
      throw corrupt(`Column "${name}" has ${child.length} items, it needs ${items}.`);
    }
    return sliceData(child, 0, items);
  });
  return dataOf(type, { ...nulls, children });
}

/** The offsets of a variable-size layout: one more than rows, save that an empty column may have none. */
function decodeOffsets(
  type: DataType,
  node: ColumnNode,
  name: string,
  cursor: ColumnCursor,
): Int32Array | BigInt64Array {
  const large = type.OffsetArrayType === BigInt64Array;
  const width = large ? 8 : 4;
  const needed = node.length === 0 ? 0 : width * (node.length + 1);
  const bytes = cursor.buffer(needed, name);
  const used = bytes.length < width ? new Uint8Array(width) : bytes;
  const whole = used.subarray(0, width * (node.length + 1));
  return large ? elementsOf(BigInt64Array, whole) : elementsOf(Int32Array, whole);
}

function decodeTypeIds(node: ColumnNode, name: string, cursor: ColumnCursor): Int8Array {
  if (cursor.unionBitmaps) cursor.buffer(0, name);
  if (node.nullCount > 0) {
    throw corrupt(`Column "${name}" is a union with ${node.nullCount} nulls of its own.`);
  }
  return elementsOf(Int8Array, cursor.exact(node.length, name));
}
