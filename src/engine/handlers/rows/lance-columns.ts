import { Field } from 'apache-arrow';
import { FileWriter } from '../../../arrow/ipc/file-writer.ts';
import { typeToJson } from '../../../arrow/json-schema.ts';
import { schemaOf } from '../../../arrow/nested-type.ts';
import { CatalogError } from '../../../protocol/errors.ts';
import type { OperationName } from '../../../protocol/operations/operation-name.ts';
import type { Fields } from '../../base/fields.ts';
import { fieldAt, fieldPlace } from '../../format/field-place.ts';
import { arrowFields } from '../../format/lance/lance-schema.ts';
import { noRows } from '../../query/plan/answer.ts';
import { heldFile } from '../../versions/managed/lance-library.ts';
import { droppedColumns } from '../columns/drop-columns.ts';
import { fieldUpdates } from '../columns/field-metadata.ts';
import { newColumnsField } from '../columns/new-columns.ts';
import { alterationsField, type Alteration } from '../columns/type-field.ts';
import type { ChangeOf, TableChange } from './library-changes.ts';

/** Changes of the columns of Lance tables. */
export const columnChanges: Readonly<Partial<Record<OperationName, ChangeOf>>> = {
  AlterTableAddColumns: ({ body }) => addition(body),
  AlterTableAlterColumns: ({ body }) => ({
    change: { kind: 'alter_columns', alterations: alterationsField(body).map(alteration) },
    rows: null,
  }),
  AlterTableDropColumns: ({ body }) => ({
    change: { kind: 'drop_columns', columns: droppedColumns(body) },
    rows: null,
  }),
  UpdateFieldMetadata: ({ body }) => metadataUpdate(body),
  UpdateTableSchemaMetadata: () => {
    throw new CatalogError(
      'Unsupported',
      'the Lance library for Node sets no metadata of a schema: set it with a Lance client, such as pylance, or set metadata of fields',
    );
  },
};

/** Columns of expressions, or of nulls: the library adds each sort by a commit of its own. */
function addition(body: Fields): TableChange {
  const entries = newColumnsField(body);
  const expressions = entries.flatMap((entry): (readonly [string, string])[] =>
    entry.kind === 'expression' ? [[entry.name, entry.text]] : [],
  );
  const nulls = entries.flatMap((entry) =>
    entry.kind === 'nulls' ? [new Field(entry.name, entry.type, true)] : [],
  );
  if (expressions.length + nulls.length < entries.length) {
    const why =
      'a Lance table has no computed columns: send an expression, whose values are stored';
    throw new CatalogError('Unsupported', why);
  }
  if (expressions.length > 0 && nulls.length > 0) {
    const why = 'columns of nulls are added to a Lance table by a request of their own';
    throw new CatalogError('Unsupported', why);
  }
  const rows = nulls.length === 0 ? null : heldFile(fileOfColumns(nulls));
  return { change: { kind: 'add_columns', expressions }, rows };
}

/** An Arrow file of columns without rows. */
function fileOfColumns(fields: readonly Field[]): Uint8Array {
  const schema = schemaOf(fields, new Map());
  const writer = new FileWriter(schema);
  return Buffer.concat([writer.begin(), ...writer.batch(noRows(schema)), writer.end()]);
}

function alteration({ type, ...others }: Alteration) {
  return { ...others, type: type && JSON.stringify(typeToJson(type, 'lance')) };
}

function metadataUpdate(body: Fields): TableChange {
  const updates = fieldUpdates(body);
  const change = updates.map(({ metadata, ...update }) => ({
    ...update,
    metadata: Object.fromEntries(metadata),
  }));
  return {
    change: { kind: 'update_field_metadata', updates: change },
    rows: null,
    body: ({ manifest }) => {
      const schema = schemaOf(arrowFields(manifest.fields), new Map());
      const fields = updates.map(({ path }) => {
        const { metadata } = fieldAt(fieldPlace(path, schema));
        return [path, Object.fromEntries(metadata)] as const;
      });
      return { fields: Object.fromEntries(fields) };
    },
  };
}
