import type { Data, Field, RecordBatch, Schema, Vector } from 'apache-arrow';
import { batchOfData, sliceData } from './data.ts';
import { concatData } from './concat.ts';
import { ArrowError } from './arrow-error.ts';
import { fieldPosition } from './field-position.ts';
import { retype } from './nullability.ts';
import { schemaOf } from './nested-type.ts';
import { takeData } from './take.ts';
import { sameType, typeName } from './types.ts';

/**
 * A batch of columns that lie in `schema`'s order. The columns take the types
 * of the schema, so dictionaries of several columns never collide. Throws
 * `mismatch` if a column has another type or another number of rows.
 */
export function batchOf(schema: Schema, columns: readonly Vector[], rows: number): RecordBatch {
  const data = columns.map((column) => concatData(column.data));
  return batchOfColumns(schema, data, rows);
}

/** Like `batchOf`, for columns of one piece each. */
export function batchOfColumns(
  schema: Schema,
  columns: readonly Data[],
  rows: number,
): RecordBatch {
  if (columns.length !== schema.fields.length) {
    const found = `${columns.length} columns, the schema has ${schema.fields.length}`;
    throw new ArrowError('mismatch', `A batch would have ${found}.`);
  }
  const children = schema.fields.map((field, index) => columnOf(field, columns[index]!, rows));
  return batchOfData(schema, children, rows);
}

function columnOf(field: Field, data: Data, rows: number): Data {
  if (data.length !== rows) {
    const found = `${data.length} rows, the batch has ${rows}`;
    throw new ArrowError('mismatch', `Column "${field.name}" has ${found}.`);
  }
  if (!sameType(data.type, field.type)) {
    const found = `${typeName(data.type)}, not ${typeName(field.type)}`;
    throw new ArrowError('mismatch', `Column "${field.name}" has the type ${found}.`);
  }
  return retype(data, field.type);
}

/** Some rows of a batch in the order given. Rows may repeat; each must lie in the batch. */
export function take(batch: RecordBatch, rows: Uint32Array): RecordBatch {
  const children = batch.data.children.map((child) => takeData(child, rows));
  return batchOfData(batch.schema, children, rows.length);
}

/** Rows from `offset` on, `length` at most, sharing the batch's memory. */
export function slice(batch: RecordBatch, offset: number, length: number): RecordBatch {
  const first = Math.min(Math.max(offset, 0), batch.numRows);
  const rows = Math.min(Math.max(length, 0), batch.numRows - first);
  const children = batch.data.children.map((child) => sliceData(child, first, rows));
  return batchOfData(batch.schema, children, rows);
}

/**
 * Batches of one schema one below the other; the schema is the first one's.
 * Throws `mismatch` if their columns differ, `limit` if a joint column or
 * dictionary is too large for its type.
 */
export function concat(batches: readonly RecordBatch[]): RecordBatch {
  const [first] = batches;
  if (first === undefined)
    throw new ArrowError('mismatch', 'There are no batches to put together.');
  const { schema } = first;
  const rows = batches.reduce((sum, batch) => sum + batch.numRows, 0);
  const children = schema.fields.map((field, index) =>
    concatData(batches.map((batch) => columnAt(batch, index, field))),
  );
  return batchOfData(schema, children, rows);
}

function columnAt(batch: RecordBatch, index: number, field: Field): Data {
  const found = batch.schema.fields[index];
  const data = batch.data.children[index];
  if (found === undefined || data === undefined || found.name !== field.name) {
    throw new ArrowError('mismatch', `A batch to put together lacks the column "${field.name}".`);
  }
  return columnOf(field, data, batch.numRows);
}

/** The named columns in the order of the names. Throws `mismatch` for a name that the batch lacks. */
export function projectColumns(batch: RecordBatch, names: readonly string[]): RecordBatch {
  const indices = names.map((name) => fieldIndex(batch.schema, name));
  const fields = indices.map((index) => batch.schema.fields[index]!);
  const children = indices.map((index) => batch.data.children[index]!);
  return batchOfData(schemaOf(fields, batch.schema.metadata), children, batch.numRows);
}

/** The position of a column. Throws `mismatch` if there is none of the name. */
export function fieldIndex(schema: Schema, name: string): number {
  const index = fieldPosition(schema.fields, name);
  if (index === undefined) throw new ArrowError('mismatch', `There is no column "${name}".`);
  return index;
}

/** The batch with one more column at the end, or with the column of that name replaced. */
export function withColumn(batch: RecordBatch, field: Field, vector: Vector): RecordBatch {
  const fields = [...batch.schema.fields];
  const children = [...batch.data.children];
  const found = fields.findIndex(({ name }) => name === field.name);
  const index = found < 0 ? fields.length : found;
  fields[index] = field;
  children[index] = columnOf(field, concatData(vector.data), batch.numRows);
  return batchOfData(schemaOf(fields, batch.schema.metadata), children, batch.numRows);
}
