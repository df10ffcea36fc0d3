import {
  DataType,
  Dictionary,
  Field,
  FixedSizeList,
  LargeList,
  List,
  Map_,
  Schema,
  Struct,
  Union,
} from 'apache-arrow';
import { layoutOf } from './layout.ts';

/** A map type over its entries field, a struct of key and value, which keep their names. */
export function mapType(entries: Field, keysSorted: boolean): Map_ {
  // The package's constructor renames the fields it is given, so it gets copies.
  const spare = Field.new('entries', new Struct(childrenOf(entries.type).map(copyOf)));
  const type = new Map_(spare, keysSorted);
  type.children[0] = entries;
  return type;
}

function copyOf(field: Field): Field {
  return Field.new(field.name, field.type, field.nullable, field.metadata);
}

/** The child fields of a type; none for a type without children and for a dictionary. */
export function childrenOf(type: DataType): readonly Field[] {
  return DataType.isDictionary(type) ? [] : (type.children ?? []);
}

/** Whether values of a type, or of one inside it, lie in a dictionary. */
export function hasDictionary(type: DataType): boolean {
  return DataType.isDictionary(type) || childrenOf(type).some((child) => hasDictionary(child.type));
}

/** Whether a column of a type has views, whose buffers vary in number. */
export function hasViews(type: DataType): boolean {
  return layoutOf(type) === 'view' || childrenOf(type).some((child) => hasViews(child.type));
}

/** The same kind of nested type over other child fields. */
export function withChildren(type: DataType, children: readonly Field[]): DataType {
  const [first] = children;
  if (first !== undefined) {
    if (DataType.isList(type)) return new List(first);
    if (DataType.isLargeList(type)) return new LargeList(first);
    if (DataType.isFixedSizeList(type)) return new FixedSizeList(type.listSize, first);
    if (DataType.isMap(type)) return mapType(first, type.keysSorted);
  }
  if (DataType.isStruct(type)) return new Struct([...children]);
  if (DataType.isUnion(type)) return new Union(type.mode, type.typeIds, [...children]);
  return type;
}

/**
 * A schema. Unlike the package's constructor it takes fields whose dictionary
 * types were made separately and carry the same id.
 */
export function schemaOf(
  fields: readonly Field[],
  metadata: ReadonlyMap<string, string> = new Map(),
): Schema {
  const dictionaries = new Map<number, DataType>();
  for (const field of fields) collectDictionaries(field.type, dictionaries);
  return new Schema([...fields], new Map(metadata), dictionaries);
}

function collectDictionaries(type: DataType, found: Map<number, DataType>): void {
  if (DataType.isDictionary(type)) {
    if (!found.has(type.id)) found.set(type.id, type.dictionary);
    collectDictionaries(type.dictionary, found);
  }
  for (const child of childrenOf(type)) collectDictionaries(child.type, found);
}

/** A dictionary type over the same indices with another value type; it gets a new id unless one is given. */
export function dictionaryOf(type: Dictionary, values: DataType, id?: number): Dictionary {
  return new Dictionary(values, type.indices, id ?? null, type.isOrdered);
}
