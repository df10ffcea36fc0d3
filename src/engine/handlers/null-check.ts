import { DataType } from 'apache-arrow';
import { CatalogError } from '../../protocol/errors.ts';
import { bindPredicate, rowsWhere } from '../query/formula.ts';
import type { FieldPlace } from '../table/field-place.ts';
import type { ChangeBase } from './schema-change.ts';

/**
 * Refuses a field that is to hold no nulls and has some. Where the struct that
 * holds it is itself null, the field is not looked at.
 * @throws CatalogError TableSchemaValidationError with their number.
 */
export async function refuseNulls(
  { snapshot, reader }: ChangeBase,
  place: FieldPlace,
): Promise<void> {
  const [column] = place.fields;
  if (place.fields.slice(0, -1).some((field) => !DataType.isStruct(field.type))) {
    throw new CatalogError(
      'Unsupported',
      `${JSON.stringify(place.text)} lies in a list or map, where nulls are always allowed`,
    );
  }
  const predicate = bindPredicate(place.text, nullTest(place), snapshot.schema.fields);
  let nulls = 0;
  for (const fragment of snapshot.fragments) {
    for await (const { batch } of reader.batches(snapshot, fragment, [column.name])) {
      nulls += rowsWhere(predicate, batch).length;
    }
  }
  if (nulls === 0) return;
  throw new CatalogError(
    'TableSchemaValidationError',
    `the column ${JSON.stringify(place.text)} has ${nulls} ${nulls === 1 ? 'null' : 'nulls'}, so it must stay nullable`,
  );
}

function nullTest({ fields }: FieldPlace): string {
  const names = fields.map(({ name }) => `\`${name.replaceAll('`', '``')}\``);
  const itself = `${names.join('.')} IS NULL`;
  return names.length === 1 ? itself : `${itself} AND ${names.slice(0, -1).join('.')} IS NOT NULL`;
}
