import { DataType, type Data, type Field, type RecordBatch, type Vector } from 'apache-arrow';
import { concatData } from '../../arrow/concat.ts';
import { fieldPosition } from '../../arrow/field-position.ts';
import { CatalogError } from '../../protocol/errors.ts';
import { SqlError } from '../../sql/values/sql-error.ts';
import { parsePath } from '../../sql/parse/path.ts';
import { bindFormula, valuesOf } from './formula.ts';
import type { Formula } from '../base/statement.ts';
import { itemAt } from '../base/items.ts';

/** A column or a nested field. */
export interface ColumnPath {
  /** Its path in the request. */
  readonly text: string;
  /** Its top-level column. */
  readonly column: string;
  /** The field at the path, nullable if one of its parents is. */
  readonly field: Field;
  /** Formula that extracts the field; null if the path is the column itself. */
  readonly formula: Formula | null;
}

/**
 * Finds a column by its name or by a dotted path, whose segments may be quoted in backticks.
 * @throws CatalogError TableColumnNotFound.
 */
export function columnPath(text: string, fields: readonly Field[]): ColumnPath {
  const position = fieldPosition(fields, text);
  if (position !== undefined) return topLevel(itemAt(fields, position));
  const names = segmentsOf(text);
  const field = fieldAt(names, fields);
  if (field === undefined) throw unknownColumn(text);
  if (names.length === 1) return topLevel(field);
  const formula = bindFormula(text, names.map(quoted).join('.'), fields);
  return { text, column: itemAt(names, 0), field, formula };
}

export function topLevel(field: Field): ColumnPath {
  return { text: field.name, column: field.name, field, formula: null };
}

/** Values at a path for some rows. A value inside a null is null. */
export function columnAt(batch: RecordBatch, path: ColumnPath): Vector {
  if (path.formula !== null) return valuesOf(path.formula, batch);
  const position = fieldPosition(batch.schema.fields, path.column);
  const column = position === undefined ? null : batch.getChildAt(position);
  if (column === null) throw new Error(`the plan did not read the column ${path.column}`);
  return column;
}

/** Values at a path in one piece. */
export function columnDataAt(batch: RecordBatch, path: ColumnPath): Data {
  if (path.formula !== null) return concatData(valuesOf(path.formula, batch).data);
  const position = fieldPosition(batch.schema.fields, path.column);
  const column = position === undefined ? undefined : batch.data.children[position];
  if (column === undefined) throw new Error(`the plan did not read the column ${path.column}`);
  return column;
}

function segmentsOf(text: string): readonly string[] {
  try {
    return parsePath(text);
  } catch (error) {
    throw error instanceof SqlError ? unknownColumn(text) : error;
  }
}

function quoted(segment: string): string {
  return `\`${segment.replaceAll('`', '``')}\``;
}

function unknownColumn(text: string): CatalogError {
  return new CatalogError('TableColumnNotFound', `the table has no column ${JSON.stringify(text)}`);
}

function fieldAt(names: readonly string[], fields: readonly Field[]): Field | undefined {
  const [first, ...inner] = names;
  const field = fields.find(({ name }) => name === first);
  if (field === undefined || inner.length === 0) return field;
  const type: DataType = field.type;
  const found = DataType.isStruct(type) ? fieldAt(inner, type.children) : undefined;
  return found === undefined || !field.nullable ? found : found.clone({ nullable: true });
}
