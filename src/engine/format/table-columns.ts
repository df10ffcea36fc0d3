import type { Field } from 'apache-arrow';
import { checkSupported } from '../../arrow/types.ts';
import { schemaOf } from '../../arrow/nested-type.ts';
import { CatalogError } from '../../protocol/errors.ts';
import type { Contents } from './change.ts';
import { asRefusal } from './incoming.ts';
import type { DataFile, Fragment } from './snapshot.ts';
import { pairs } from '../base/items.ts';

/** A column of a table and its id in data files. */
export interface TableColumn {
  readonly field: Field;
  readonly id: number;
}

/** The columns of a version, in order. */
export function tableColumns({ schema, fieldIds }: Contents): readonly TableColumn[] {
  return pairs(schema.fields, fieldIds).map(([field, id]) => ({ field, id }));
}

/**
 * A version with other columns over the same rows. Data files without any of the columns are no
 * longer named, except the first of each fragment, which defines its rows.
 * @throws CatalogError TableSchemaValidationError for two columns of one name, and for a type that
 * is not kept.
 */
export function withColumns(base: Contents, columns: readonly TableColumn[]): Contents {
  const fields = columns.map(({ field }) => field);
  checkNames(fields);
  const schema = schemaOf(fields, base.schema.metadata);
  try {
    checkSupported(schema);
  } catch (error) {
    throw asRefusal(error);
  }
  const ids = new Set(columns.map(({ id }) => id));
  return {
    ...base,
    schema,
    fieldIds: columns.map(({ id }) => id),
    nextFieldId: Math.max(base.nextFieldId, ...columns.map(({ id }) => id + 1)),
    fragments: base.fragments.map((fragment) => withoutIdleFiles(fragment, ids)),
  };
}

function checkNames(fields: readonly Field[]): void {
  const seen = new Set<string>();
  for (const { name } of fields) {
    if (seen.has(name)) {
      throw new CatalogError(
        'TableSchemaValidationError',
        `the table would have two columns called ${JSON.stringify(name)}`,
      );
    }
    seen.add(name);
  }
}

function withoutIdleFiles(fragment: Fragment, ids: ReadonlySet<number>): Fragment {
  const isUsed = (file: DataFile, position: number) =>
    position === 0 || file.fields.some((id) => ids.has(id));
  return fragment.files.every(isUsed)
    ? fragment
    : { ...fragment, files: fragment.files.filter(isUsed) };
}
