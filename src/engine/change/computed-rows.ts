import type { Field, RecordBatch, Schema } from 'apache-arrow';
import { batchOfData } from '../../arrow/data.ts';
import { schemaOf } from '../../arrow/nested-type.ts';
import { conform } from '../../arrow/types.ts';
import type { Statement } from '../base/statement.ts';
import { expressionOf, ComputedColumns } from './computed-values.ts';
import { checkConforms, type Incoming } from '../format/incoming.ts';

/**
 * Rows that a client sends for a table. Missing computed columns are filled; columns that are sent
 * keep their values.
 * @throws CatalogError TableSchemaValidationError for rows that do not fit the table.
 */
export function incomingRows(
  incoming: Incoming,
  table: Schema,
  statement?: Statement,
): AsyncIterable<RecordBatch> {
  const sent = new Set(incoming.schema.fields.map(({ name }) => name));
  const open = withoutComputed(table, sent);
  checkConforms(incoming.schema, open);
  if (open === table) return incoming.batches;
  const computed = new ComputedColumns(table, ({ field }) => sent.has(field.name), statement);
  return filledRows(incoming.batches, open, table, computed);
}

/**
 * Schema of rows sent without some columns: computed columns may be missing even if they are not
 * nullable.
 */
export function withoutComputed(table: Schema, sent: ReadonlySet<string>): Schema {
  const isLeftOut = (field: Field) => expressionOf(field) !== undefined && !sent.has(field.name);
  if (!table.fields.some(isLeftOut)) return table;
  const fields = table.fields.map((field) =>
    isLeftOut(field) ? field.clone({ nullable: true }) : field,
  );
  return schemaOf(fields, table.metadata);
}

async function* filledRows(
  batches: AsyncIterable<RecordBatch>,
  open: Schema,
  table: Schema,
  computed: ComputedColumns,
): AsyncGenerator<RecordBatch> {
  for await (const batch of batches) {
    const { data, numRows } = conform(batch, open);
    yield batchOfData(table, await computed.filled(data.children, numRows), numRows);
  }
}
