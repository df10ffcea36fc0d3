import type { Field, Schema } from 'apache-arrow';
import { fits } from '../../arrow/types.ts';
import { incomingRows, withoutComputed } from '../change/computed-rows.ts';
import type { Call } from '../handler.ts';
import { statementOf } from '../query/statement.ts';
import { checkColumns, type Incoming } from '../table/incoming.ts';

/**
 * The rows that an overwrite puts into a table, and the schema that it has with them. Rows that have its columns stand in its
 * schema, and what the table says of its columns stays; with other rows the
 * table gets the schema of the stream and all its columns are new, as LanceDB
 * has it. That asks for the right to change schemas too.
 * @throws CatalogError PermissionDenied; TableSchemaValidationError for a name
 * that no column may have.
 */
export function overwriting(
  call: Call,
  branch: string,
  incoming: Incoming,
  table: Schema,
): Incoming {
  if (hasColumnsOf(incoming.schema, table)) {
    return { schema: table, batches: incomingRows(incoming, table, statementOf(call)) };
  }
  call.permit.require('schema', call.request.object, branch);
  checkColumns(incoming.schema);
  return incoming;
}

/** Whether rows have the columns of a table, in their order; those that the table computes may be missing. */
function hasColumnsOf(incoming: Schema, table: Schema): boolean {
  const sent = new Set(incoming.fields.map(({ name }) => name));
  const open = withoutComputed(table, sent);
  const asked = table.fields.filter(
    (field, at) => sent.has(field.name) || open.fields[at] === field,
  );
  return (
    incoming.fields.length === asked.length &&
    incoming.fields.every((field, at) => isAlike(field, asked[at]!))
  );
}

function isAlike(left: Field, right: Field): boolean {
  return (
    left.name === right.name && left.nullable === right.nullable && fits(left.type, right.type)
  );
}
