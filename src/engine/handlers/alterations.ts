import type { DataType } from 'apache-arrow';
import { CatalogError } from '../../protocol/errors.ts';
import { isJsonObject } from '../../protocol/json.ts';
import { flagField, textField, type Fields } from '../query/fields.ts';
import { checkFieldName } from '../table/incoming.ts';
import { typeField } from './type-field.ts';

/** What is to become of one column or field; null leaves a thing as it is. */
export interface Alteration {
  readonly path: string;
  readonly rename: string | null;
  readonly nullable: boolean | null;
  readonly type: DataType | null;
}

/**
 * The field `alterations` (wire contract, section 5.2).
 * @throws CatalogError InvalidInput for an entry that changes nothing,
 * TableSchemaValidationError for a name or a type that a column cannot have,
 * Unsupported for code that this service does not run.
 */
export function alterationsField(body: Fields): readonly Alteration[] {
  const value = body['alterations'];
  const entries = Array.isArray(value) ? value.filter(isJsonObject) : [];
  if (entries.length === 0) {
    throw new CatalogError('InvalidInput', 'alterations must have at least one entry');
  }
  return entries.map(alteration);
}

function alteration(entry: Fields): Alteration {
  const path = textField(entry, 'path') ?? '';
  refuseVirtual(entry, path);
  const rename = textField(entry, 'rename');
  if (rename !== null) checkFieldName(rename);
  const nullable = entry['nullable'] === undefined ? null : nullableOf(entry);
  const type = entry['data_type'] ?? null;
  if (rename === null && nullable === null && type === null) {
    throw new CatalogError(
      'InvalidInput',
      `the alteration of ${JSON.stringify(path)} changes nothing: it has no rename, nullable or data_type`,
    );
  }
  const where = `alterations.${path}.data_type`;
  return { path, rename, nullable, type: type === null ? null : typeField(type, where) };
}

function nullableOf(entry: Fields): boolean | null {
  return entry['nullable'] === null ? null : flagField(entry, 'nullable', true);
}

function refuseVirtual(entry: Fields, path: string): void {
  if ((entry['virtual_column'] ?? null) === null) return;
  throw new CatalogError(
    'Unsupported',
    `the column ${JSON.stringify(path)} cannot be virtual: this service cannot run the code that computes it`,
  );
}
