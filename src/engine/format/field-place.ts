import type { Field, Schema } from 'apache-arrow';
import { childrenOf, withChildren } from '../../arrow/nested-type.ts';
import { CatalogError } from '../../protocol/errors.ts';
import { SqlError } from '../../sql/values/sql-error.ts';
import { parsePath } from '../../sql/parse/path.ts';

/** The location of a field in a schema. */
export interface FieldPlace {
  /** The path in the spelling of the request. */
  readonly text: string;
  /** The fields along the path: the top-level column first, the field itself last. */
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
  const at = schema.fields.findIndex(({ name }) => name === text);
  const exact = schema.fields[at];
  if (exact !== undefined) return { text, fields: [exact], positions: [at] };
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

/** The field at a location. */
export function fieldAt({ fields }: FieldPlace): Field {
  return fields.at(-1) ?? fields[0];
}

/** The fields with one of them replaced, at any depth. */
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
