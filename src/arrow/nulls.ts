import {
  type Data,
  DataType,
  type Dictionary,
  type FixedSizeList,
  type Union,
  Vector,
} from 'apache-arrow';
import { bitmapBytes } from './bitmap.ts';
import { type DataParts, dataOf } from './data.ts';
import { ArrowError } from './errors.ts';
import { type Layout, layoutOf, viewWidth, widthOf } from './layout.ts';
import { childrenOf } from './nested-type.ts';

type Nulls = (type: DataType, length: number) => Partial<DataParts>;

const parts: Readonly<Record<Layout, Nulls>> = {
  null: () => ({}),
  bool: (_, length) => ({ values: new Uint8Array(bitmapBytes(length)) }),
  fixed: (type, length) => ({ values: zeros(type, length) }),
  bytes: (_, length) => ({ offsets: new Int32Array(length + 1), values: new Uint8Array(0) }),
  'large-bytes': (_, length) => ({
    offsets: new BigInt64Array(length + 1),
    values: new Uint8Array(0),
  }),
  view: (_, length) => ({ values: new Uint8Array(viewWidth * length) }),
  list: (type, length) => ({
    offsets: new Int32Array(length + 1),
    children: nullChildren(type, 0),
  }),
  'large-list': (type, length) => ({
    offsets: new BigInt64Array(length + 1),
    children: nullChildren(type, 0),
  }),
  'fixed-list': (type, length) => ({
    children: nullChildren(type, length * (type as FixedSizeList).listSize),
  }),
  struct: (type, length) => ({ children: nullChildren(type, length) }),
  'sparse-union': (type, length) => ({
    typeIds: new Int8Array(length).fill((type as Union).typeIds[0] ?? 0),
    children: nullChildren(type, length),
  }),
  'dense-union': (type, length) => ({
    typeIds: new Int8Array(length).fill((type as Union).typeIds[0] ?? 0),
    offsets: Int32Array.from({ length }, (_, row) => row),
    children: childrenOf(type).map((child, index) => nullsOf(child.type, index === 0 ? length : 0)),
  }),
  dictionary: (type, length) => {
    const { indices, dictionary } = type as Dictionary;
    return { values: zeros(indices, length), dictionary: new Vector([nullsOf(dictionary, 0)]) };
  },
};

/** A column of `length` nulls. Throws `mismatch` for a union without children, which has no null. */
export function nullsOf(type: DataType, length: number): Data {
  if (DataType.isUnion(type)) {
    if (length > 0 && type.children.length === 0) {
      throw new ArrowError('mismatch', 'A union without children has no value at all.');
    }
    return dataOf(type, { ...parts[layoutOf(type)](type, length), length, nullCount: 0 });
  }
  const validity = new Uint8Array(bitmapBytes(length));
  return dataOf(type, {
    ...parts[layoutOf(type)](type, length),
    length,
    nullCount: length,
    validity,
  });
}

function zeros(type: DataType, length: number): DataParts['values'] & object {
  const { ArrayType } = type;
  return new ArrayType((length * widthOf(type)) / ArrayType.BYTES_PER_ELEMENT);
}

function nullChildren(type: DataType, length: number): Data[] {
  return childrenOf(type).map((child) => nullsOf(child.type, length));
}
