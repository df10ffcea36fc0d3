import type { DataType, Schema } from 'apache-arrow';
import { typeToJson } from '../../arrow/json-schema.ts';
import { childrenOf } from '../../arrow/nested-type.ts';
import { typeName } from '../../arrow/types.ts';
import type { ColumnFacts, TableState } from '../../rules/commit-facts.ts';
import type { Manifest } from '../format/manifest.ts';
import { fragmentKey } from '../format/snapshot.ts';
import { itemAt } from '../base/items.ts';

/** State of an engine table's version for rules. */
export function engineState({
  schema,
  fieldIds,
  fragments,
}: Pick<Manifest, 'schema' | 'fieldIds' | 'fragments'>): TableState {
  return {
    columns: columnFacts(schema, (at) => [itemAt(fieldIds, at)]),
    fragments: fragments.map((fragment) => ({
      key: fragmentKey(fragment),
      rows: BigInt(fragment.rows),
      files: fragment.files.map(({ path, bytes, fields }) => ({
        path,
        bytes: BigInt(bytes),
        ids: fields,
      })),
      deletions: fragment.deletions,
    })),
  };
}

/** The columns of a schema for rules. @param idsOf The ids of the column at a position. */
export function columnFacts(
  schema: Pick<Schema, 'fields'>,
  idsOf: (at: number) => readonly number[],
): readonly ColumnFacts[] {
  return schema.fields.map(({ name, type, nullable }, at) => ({
    name,
    exact: exactType(type),
    plain: typeToJson(type, 'namespace'),
    nullable,
    ids: idsOf(at),
  }));
}

/** Name of a type, with its non-nullable nested fields. */
function exactType(type: DataType): string {
  const strict = notNull(type, '');
  return strict.length === 0
    ? typeName(type)
    : `${typeName(type)} with no null in ${strict.join(', ')}`;
}

function notNull(type: DataType, prefix: string): readonly string[] {
  return childrenOf(type).flatMap((child) => {
    const name = `${prefix}${child.name}`;
    return [...(child.nullable ? [] : [name]), ...notNull(child.type, `${name}.`)];
  });
}
