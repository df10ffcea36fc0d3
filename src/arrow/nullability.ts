import {
  Vector,
  DataType,
  type Data,
  type Field,
  type Dictionary,
  type FixedSizeList,
  type Union,
} from 'apache-arrow';
import { isNull, nullCountOf, retyped, dataOf, type DataParts } from './data.ts';
import { ArrowError } from './arrow-error.ts';
import { layoutOf, viewWidth, widthOf, type Layout } from './layout.ts';
import { childrenOf } from './nested-type.ts';
import { bitmapBytes } from './bitmap.ts';

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

/**
 * The same column, at every level under the types of an equal type (see
 * `sameType`), which may differ in names of list items, nullability, metadata
 * and ids. Memory is shared.
 */
export function retype(data: Data, type: DataType): Data {
  if (data.type === type) return data;
  const fields = childrenOf(type);
  const children =
    fields.length === 0
      ? data.children
      : data.children.map((child, index) => retype(child, fields[index]!.type));
  return retyped(data, type, children, retypeDictionary(data.dictionary, type));
}

const retypedDictionaries = new WeakMap<Vector, WeakMap<DataType, Vector>>();

/** One vector per dictionary and type, so that columns continue to share it. */
function retypeDictionary(dictionary: Vector | undefined, type: DataType): Vector | undefined {
  if (dictionary === undefined) return undefined;
  const values = (type as Dictionary).dictionary;
  if (dictionary.type === values) return dictionary;
  const cached = retypedDictionaries.get(dictionary)?.get(values);
  if (cached !== undefined) return cached;
  const vector = new Vector(dictionary.data.map((chunk) => retype(chunk, values)));
  const byType = retypedDictionaries.get(dictionary) ?? new WeakMap<DataType, Vector>();
  retypedDictionaries.set(dictionary, byType.set(values, vector));
  return vector;
}

/**
 * Checks that fields which are not nullable have no nulls, at every level.
 * Where a struct or fixed-size list is itself null, its children may be null
 * (Arrow columnar format, "Struct Layout"). Throws `mismatch`.
 */
export function checkNullable(field: Field, data: Data, name: string, parent?: Data): void {
  if (!field.nullable && nullCountOf(data) > 0) checkMasked(data, name, parent);
  const layout = layoutOf(data.type);
  const mask = layout === 'struct' || layout === 'fixed-list' ? data : undefined;
  childrenOf(field.type).forEach((child, index) => {
    checkNullable(child, data.children[index]!, `${name}.${child.name}`, mask);
  });
}

function checkMasked(data: Data, name: string, parent: Data | undefined): void {
  const perRow = parent === undefined || parent.length === 0 ? 1 : data.length / parent.length;
  for (let row = 0; row < data.length; row++) {
    const hidden = parent !== undefined && isNull(parent, Math.floor(row / perRow));
    if (!hidden && isNull(data, row)) {
      throw new ArrowError('mismatch', `Column "${name}" is not nullable, but has nulls.`);
    }
  }
}
