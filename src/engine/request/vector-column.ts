import { DataType, type Field, type FixedSizeList } from 'apache-arrow';
import { typeName } from '../../arrow/types.ts';
import { CatalogError } from '../../protocol/errors.ts';
import { columnPath, topLevel, type ColumnPath } from './column-path.ts';
import { onlyItem } from '../base/items.ts';

/**
 * The column that a search runs over: the one named, or the table's only vector
 * column, or the only one whose vectors are as long as the query's.
 * @throws CatalogError TableColumnNotFound; InvalidInput when the choice is not clear, when the column holds no
 * vectors, and when the lengths differ.
 */
export function vectorColumn(
  name: string | null,
  lengths: readonly number[],
  fields: readonly Field[],
): ColumnPath {
  const path = name === null ? onlyVector(lengths[0] ?? 0, fields) : namedVector(name, fields);
  checkLengths(path, lengths);
  return path;
}

function namedVector(name: string, fields: readonly Field[]): ColumnPath {
  const path = columnPath(name, fields);
  if (vectorType(path.field.type) !== null) return path;
  throw new CatalogError(
    'InvalidInput',
    `the column ${JSON.stringify(name)} holds no vectors: its type is ${typeName(path.field.type)}`,
  );
}

function onlyVector(length: number, fields: readonly Field[]): ColumnPath {
  const vectors = fields.filter((field) => vectorType(field.type) !== null);
  const [first, second] = vectors;
  if (first === undefined) {
    throw new CatalogError('InvalidInput', 'the table has no vector column');
  }
  if (second === undefined) return topLevel(first);
  const fitting = vectors.filter((field) => lengthOf(field.type) === length);
  const only = onlyItem(fitting);
  if (only !== undefined) return topLevel(only);
  const names = vectors.map((field) => JSON.stringify(field.name)).join(', ');
  throw new CatalogError(
    'InvalidInput',
    `the table has several vector columns, so vector_column must name one of ${names}`,
  );
}

function checkLengths({ text, field }: ColumnPath, lengths: readonly number[]): void {
  const own = lengthOf(field.type);
  const wrong = lengths.find((length) => length !== own);
  if (wrong === undefined) return;
  throw new CatalogError(
    'InvalidInput',
    `the vectors of ${JSON.stringify(text)} have ${own} values, the query has ${wrong}`,
  );
}

/** Vector type of a column: its own, or that of its list's items; null if it holds no vectors. */
export function vectorType(type: DataType): FixedSizeList | null {
  const own: DataType = DataType.isList(type) ? type.valueType : type;
  if (!DataType.isFixedSizeList(own)) return null;
  const item: DataType = own.valueType;
  const isVector = DataType.isFloat(item) || (DataType.isInt(item) && item.bitWidth === 8);
  return isVector ? own : null;
}

function lengthOf(type: DataType): number {
  return vectorType(type)?.listSize ?? 0;
}
