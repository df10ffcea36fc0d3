import type { Data, Field, RecordBatch, Schema } from 'apache-arrow';
import { typeName } from '../../arrow/types.ts';
import { CatalogError } from '../../protocol/errors.ts';
import { columnAt, columnPath, type ColumnPath } from '../request/column-path.ts';
import { isKeyType } from './key-writer.ts';
import { columnData } from '../../arrow/data.ts';

/**
 * Resolves the key columns of a merge in the table and in the source rows.
 * @param sent The schema of the source rows, with the table's types.
 * @throws CatalogError TableColumnNotFound, TableSchemaValidationError for a column that was not
 * sent, InvalidInput for one that is named twice or of a type without equality.
 */
export function mergeKey(
  on: readonly string[],
  table: Schema,
  sent: Schema,
): readonly ColumnPath[] {
  const sentNames = new Set(sent.fields.map(({ name }) => name));
  const seen = new Set<string>();
  return on.map((text) => {
    const path = columnPath(text, table.fields);
    checkKey(text, path.field);
    if (!sentNames.has(path.column)) {
      throw new CatalogError(
        'TableSchemaValidationError',
        `the rows have no column "${path.column}" to be matched on`,
      );
    }
    const name = path.formula?.text ?? path.column;
    if (seen.has(name)) throw new CatalogError('InvalidInput', `on names ${text} twice`);
    seen.add(name);
    return path;
  });
}

function checkKey(text: string, { type }: Field): void {
  if (isKeyType(type)) return;
  throw new CatalogError(
    'InvalidInput',
    `rows cannot be matched on ${text}, which is of type ${typeName(type)}`,
  );
}

export function keyColumns(key: readonly ColumnPath[], batch: RecordBatch): readonly Data[] {
  return key.map((path) => columnData(columnAt(batch, path)));
}

/** Greatest length of a value in an error, in characters. */
const LONGEST = 60;

/** Describes the key of a row for an error, as `id = 1 and name = "a"`. */
export function describeKey(key: readonly ColumnPath[], batch: RecordBatch, row: number): string {
  return key
    .map((path) => {
      const value: unknown = columnAt(batch, path).get(row);
      return `${path.text} = ${shown(value)}`;
    })
    .join(' and ');
}

function shown(value: unknown): string {
  if (value instanceof Uint8Array)
    return `X'${Buffer.from(value).toString('hex', 0, LONGEST / 2)}'`;
  const text = typeof value === 'string' ? JSON.stringify(value) : String(value);
  return text.length > LONGEST ? `${text.slice(0, LONGEST)}...` : text;
}
