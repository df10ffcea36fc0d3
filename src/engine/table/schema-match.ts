import type { Schema } from 'apache-arrow';
import { batchOfData } from '../../arrow/batch.ts';
import { nullsOf } from '../../arrow/nulls.ts';
import { encodeSchema } from '../../arrow/schema-bytes.ts';
import { conform } from '../../arrow/types.ts';
import { asRefusal } from './incoming.ts';

/** Whether two schemas agree in everything: names, types, nullability and metadata. */
export function sameSchema(left: Schema, right: Schema): boolean {
  return left === right || Buffer.from(encodeSchema(left)).equals(encodeSchema(right));
}

/**
 * Refuses a stream whose rows could not stand in a table, before any of them is read.
 * @throws CatalogError TableSchemaValidationError that names the column.
 */
export function checkConforms(incoming: Schema, table: Schema): void {
  const columns = incoming.fields.map((field) => nullsOf(field.type, 0));
  try {
    conform(batchOfData(incoming, columns, 0), table);
  } catch (error) {
    throw asRefusal(error);
  }
}
