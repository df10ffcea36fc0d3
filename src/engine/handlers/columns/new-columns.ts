import type { DataType } from 'apache-arrow';
import { CatalogError } from '../../../protocol/errors.ts';
import { isJsonObject, type JsonValue } from '../../../protocol/json.ts';
import { flagField, textField, type Fields } from '../../base/fields.ts';
import { checkColumnName } from '../../format/incoming.ts';
import { typeField } from './type-field.ts';

/**
 * A column to add: values of an expression, computed at once or by a backfill, or nulls of a type.
 */
export type NewColumn =
  | { readonly kind: 'expression' | 'computed'; readonly name: string; readonly text: string }
  | { readonly kind: 'nulls'; readonly name: string; readonly type: DataType };

/**
 * The field `new_columns` (wire contract, section 5.2).
 * @throws CatalogError InvalidInput for an entry that says nothing or too much,
 * TableSchemaValidationError for a name that no column may have, Unsupported for
 * columns that need code which this service does not run.
 */
export function newColumnsField(body: Fields): readonly NewColumn[] {
  refuseFunction(body);
  const value = body['new_columns'];
  const entries = Array.isArray(value) ? value.filter(isJsonObject) : [];
  if (entries.length === 0) {
    throw new CatalogError('InvalidInput', 'new_columns must have at least one column');
  }
  return entries.map(newColumn);
}

function newColumn(entry: Fields): NewColumn {
  const name = textField(entry, 'name') ?? '';
  checkColumnName(name);
  refuseCode(entry, name);
  const text = textField(entry, 'expression');
  const computed = textField(entry, 'computed');
  const nulls = flagField(entry, 'all_null', false);
  if ([text !== null, computed !== null, nulls].filter(Boolean).length !== 1) {
    throw new CatalogError(
      'InvalidInput',
      `the new column ${JSON.stringify(name)} must have either an expression, computed or all_null`,
    );
  }
  if (text !== null) return { kind: 'expression', name, text };
  if (computed !== null) return { kind: 'computed', name, text: computed };
  return { kind: 'nulls', name, type: typeOf(entry, name) };
}

function typeOf(entry: Fields, name: string): DataType {
  const type: JsonValue | undefined = entry['data_type'] ?? entry['type'];
  if (type !== undefined && type !== null) return typeField(type, `new_columns.${name}.data_type`);
  throw new CatalogError(
    'InvalidInput',
    `the new column ${JSON.stringify(name)} of nulls must have a data_type`,
  );
}

function refuseFunction(body: Fields): void {
  const value = body['function'];
  if (value === undefined || value === null) return;
  throw new CatalogError(
    'Unsupported',
    'this service runs no functions of clients: columns that a function fills cannot be added',
  );
}

function refuseCode(entry: Fields, name: string): void {
  if (present(entry['virtual_column'])) {
    throw new CatalogError(
      'Unsupported',
      `the column ${JSON.stringify(name)} is virtual: this service cannot run the code that computes it; a computed column takes SQL`,
    );
  }
}

function present(value: JsonValue | undefined): boolean {
  return value !== undefined && value !== null;
}
