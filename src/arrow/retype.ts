import { type Data, type DataType, type Dictionary, Vector } from 'apache-arrow';
import { retyped } from './data.ts';
import { childrenOf } from './nested-type.ts';

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

/** One vector per dictionary and type, so that columns that shared one still do. */
function retypeDictionary(dictionary: Vector | undefined, type: DataType): Vector | undefined {
  if (dictionary === undefined) return undefined;
  const values = (type as Dictionary).dictionary;
  if (dictionary.type === values) return dictionary;
  const known = retypedDictionaries.get(dictionary)?.get(values);
  if (known !== undefined) return known;
  const vector = new Vector(dictionary.data.map((chunk) => retype(chunk, values)));
  const byType = retypedDictionaries.get(dictionary) ?? new WeakMap<DataType, Vector>();
  retypedDictionaries.set(dictionary, byType.set(values, vector));
  return vector;
}
