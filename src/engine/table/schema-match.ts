import { RecordBatch, type Schema } from 'apache-arrow';
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
  try {
    conform(new RecordBatch(incoming), table);
  } catch (error) {
    throw asRefusal(error);
  }
}
