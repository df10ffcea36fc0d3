import { CatalogError } from '../../protocol/errors.ts';
import type { JsonValue } from '../../protocol/json.ts';
import type { Handler } from '../handler.ts';
import type { Contents } from '../table/change.ts';
import { fieldPlace } from '../table/field-place.ts';
import { columnsOf, withColumns } from '../table/table-columns.ts';
import { commitSchemaChange, versionAnswer, type SchemaParts } from './schema-change.ts';

/** AlterTableDropColumns: the columns' values stay where they are, for the versions before. */
export function dropColumns(parts: SchemaParts): Handler {
  return async (call) => {
    const names = namesOf(call.body['columns']);
    const committed = await commitSchemaChange(parts, call, ({ base }) => without(base, names));
    return versionAnswer(call, 'drop_columns', committed);
  };
}

function namesOf(value: JsonValue | undefined): readonly string[] {
  const names = Array.isArray(value) ? value.filter((name) => typeof name === 'string') : [];
  if (names.length > 0) return names;
  throw new CatalogError('InvalidInput', 'columns must name at least one column');
}

function without(base: Contents, names: readonly string[]): Contents {
  const dropped = new Set<number>();
  for (const name of names) {
    const position = wholeColumn(base, name);
    if (dropped.has(position)) {
      throw new CatalogError('InvalidInput', `columns names ${JSON.stringify(name)} twice`);
    }
    dropped.add(position);
  }
  if (dropped.size === base.schema.fields.length) {
    throw new CatalogError('InvalidInput', 'a table must keep at least one column');
  }
  const kept = columnsOf(base).filter((_, position) => !dropped.has(position));
  return withColumns(base, kept);
}

function wholeColumn({ schema }: Contents, name: string): number {
  const { positions } = fieldPlace(name, schema);
  if (positions.length === 1) return positions[0];
  throw new CatalogError(
    'Unsupported',
    `${JSON.stringify(name)} is a part of a column; only whole columns can be dropped`,
  );
}
