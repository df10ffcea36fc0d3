import { Field, Uint64, type Data, type RecordBatch, type Schema } from 'apache-arrow';
import { batchOfData } from '../../arrow/data.ts';
import { schemaOf } from '../../arrow/nested-type.ts';
import { STORED_ROW_ID } from '../query/scan/batch-source.ts';
import type { WrittenFile } from '../format/fragment-writer.ts';
import type { Fragment } from '../format/snapshot.ts';
import { pairs } from '../base/items.ts';

const ROW_IDS = new Field(STORED_ROW_ID, new Uint64(), false);

/** The schema of a file whose rows keep the ids that they have. */
export function keptSchema(schema: Schema): Schema {
  return schemaOf([...schema.fields, ROW_IDS], schema.metadata);
}

/** Rows of a table with the ids that they keep. */
export function keptBatch(schema: Schema, columns: readonly Data[], ids: Data): RecordBatch {
  const fields = [...retypedFields(schema, columns), ROW_IDS];
  return batchOfData(schemaOf(fields), [...columns, ids], ids.length);
}

/** The first fields of a schema with the types of some columns: a column may have a dictionary of its own. */
export function retypedFields(schema: Schema, columns: readonly Data[]): Field[] {
  return pairs(columns, schema.fields).map(([{ type }, field]) => field.clone({ type }));
}

/** The fragment of a file whose rows keep their ids. */
export function keptFragment(
  { file, rows, bytes, statistics, seal }: WrittenFile,
  fieldIds: readonly number[],
): Fragment {
  return {
    files: [{ path: file, bytes, fields: fieldIds, statistics, seal }],
    physicalRows: rows,
    rows,
    firstRowId: 0n,
    storedRowIds: true,
    deletions: null,
  };
}

/**
 * Waits for two pieces of work that continue at the same time. When one fails, the other
 * is still waited for: only then is it known what it wrote.
 */
export async function both<Left, Right>(
  left: Promise<Left>,
  right: Promise<Right>,
): Promise<readonly [Left, Right]> {
  await Promise.allSettled([left, right]);
  return [await left, await right];
}
