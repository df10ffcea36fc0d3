import type { Field, Schema } from 'apache-arrow';
import { childrenOf, withChildren } from '../../arrow/nested-type.ts';
import { CatalogError } from '../../protocol/errors.ts';
import { SqlError } from '../../sql/values/sql-error.ts';
import { parsePath } from '../../sql/parse/path.ts';

/** Where a field lies in a schema. */
export interface FieldPlace {
  /** The path as the request wrote it. */
  readonly text: string;
  /** The fields on the way, the top-level column first, the field itself last. */
  readonly fields: readonly [Field, ...Field[]];
  /** The position of each of them among the children of the one before. */
  readonly positions: readonly [number, ...number[]];
}

/**
 * Finds a field by the path that a request gives it: the exact name of a column,
 * or a dotted path whose segments may stand in backticks.
 * @throws CatalogError TableColumnNotFound.
 */
export function fieldPlace(text: string, schema: Schema): FieldPlace {
  const exact = schema.fields.findIndex(({ name }) => name === text);
  if (exact >= 0) return { text, fields: [schema.fields[exact]!], positions: [exact] };
  const fields: Field[] = [];
  const positions: number[] = [];
  let siblings: readonly Field[] = schema.fields;
  for (const name of segmentsOf(text)) {
    const position = siblings.findIndex((field) => field.name === name);
    const field = siblings[position];
    if (field === undefined) throw unknown(text);
    fields.push(field);
    positions.push(position);
    siblings = childrenOf(field.type);
  }
  const [[field, ...inner], [position, ...others]] = [fields, positions];
  if (field === undefined || position === undefined) throw unknown(text);
  return { text, fields: [field, ...inner], positions: [position, ...others] };
}

/** The field that a place leads to. */
export function fieldAt({ fields }: FieldPlace): Field {
  return fields.at(-1) ?? fields[0];
}

/** The same fields with one of them changed, however deep it lies. */
export function changedAt(
  fields: readonly Field[],
  [position, ...inner]: readonly number[],
  change: (field: Field) => Field,
): readonly Field[] {
  return fields.map((field, at) => {
    if (at !== position) return field;
    if (inner.length === 0) return change(field);
    const children = changedAt(childrenOf(field.type), inner, change);
    return field.clone({ type: withChildren(field.type, children) });
  });
}

function segmentsOf(text: string): readonly string[] {
  try {
    return parsePath(text);
  } catch (error) {
    throw error instanceof SqlError ? unknown(text) : error;
  }
}

function unknown(text: string): CatalogError {
  return new CatalogError('TableColumnNotFound', `the table has no column ${JSON.stringify(text)}`);
}
