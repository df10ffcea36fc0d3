import { Vector, type Data, type RecordBatch, type Schema } from 'apache-arrow';
import { batchesIn } from '../../../arrow/ipc/held-file.ts';
import { batchOfData } from '../../../arrow/data.ts';
import { batchOfColumns } from '../../../arrow/select.ts';
import { sameType } from '../../../arrow/types.ts';
import { CatalogError } from '../../../protocol/errors.ts';
import { canonicalPath, type ObjectPath } from '../../../protocol/identifier.ts';

/** Rows of a Lance table, and the ids by which the library knows them. */
export interface IdentifiedRows {
  readonly batch: RecordBatch;
  readonly ids: BigUint64Array;
}

/**
 * Rows that the library delivers, with their ids as their last column.
 * @param read Begins a read. Each batch is an Arrow file.
 * @param schema Of the other columns.
 * @throws CatalogError Unsupported for a column that the library delivers in another type
 */
export async function* identifiedRows(
  read: () => Promise<AsyncGenerator<Uint8Array>>,
  schema: Schema,
  table: ObjectPath,
): AsyncGenerator<IdentifiedRows> {
  for await (const file of await read()) {
    for await (const { data, numRows } of batchesIn(file)) {
      const columns = data.children.slice(0, -1);
      requireTypes(columns, schema, table);
      const batch =
        columns.length === 0
          ? batchOfData(schema, [], numRows)
          : batchOfColumns(schema, columns, numRows);
      yield { batch, ids: new Vector([data.children.at(-1)!]).toArray() as BigUint64Array };
    }
  }
}

function requireTypes(columns: readonly Data[], { fields }: Schema, table: ObjectPath): void {
  const at = fields.findIndex(({ type }, index) => {
    const column = columns[index];
    return column === undefined || !sameType(column.type, type);
  });
  const field = fields[at];
  if (field === undefined) return;
  throw new CatalogError(
    'Unsupported',
    `the column ${JSON.stringify(field.name)} of ${canonicalPath(table)} has a type of Lance that restrictions are not applied to: leave it out of the request`,
  );
}
