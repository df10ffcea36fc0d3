import type { Field } from 'apache-arrow';
import type { Answer } from '../../protocol/backend.ts';
import { CatalogError } from '../../protocol/errors.ts';
import { isJsonObject } from '../../protocol/json.ts';
import type { Call, Handler } from '../handler.ts';
import { flagField, textField, type Fields } from '../query/fields.ts';
import type { Contents } from '../table/change.ts';
import { changedAt, fieldAt, fieldPlace } from '../table/field-place.ts';
import { columnsOf, withColumns } from '../table/table-columns.ts';
import type { Committed } from '../table/version-commits.ts';
import { mergedMetadata, metadataOf, type MetadataChange } from './metadata-change.ts';
import {
  commitSchemaChange,
  versionAnswer,
  type ChangeBase,
  type SchemaParts,
} from './schema-change.ts';

/** What is to become of the metadata of one field. */
interface FieldUpdate {
  readonly path: string;
  readonly metadata: MetadataChange;
  /** Whether what is not named goes. */
  readonly replace: boolean;
}

/** UpdateFieldMetadata: answers what each field that was named has now, by the path that named it. */
export function updateFieldMetadata(parts: SchemaParts): Handler {
  return async (call) => {
    const updates = updatesField(call.body);
    const change = ({ base }: ChangeBase) => updated(base, updates);
    return commitSchemaChange(parts, call, change, (made) => answer(call, updates, made));
  };
}

function answer(call: Call, updates: readonly FieldUpdate[], made: Committed): Answer {
  const { schema } = made.manifest;
  const fields = updates.map(({ path }) => {
    const { metadata } = fieldAt(fieldPlace(path, schema));
    return [path, Object.fromEntries(metadata)] as const;
  });
  const more = { fields: Object.fromEntries(fields) };
  return versionAnswer(call, 'update_field_metadata', made, more);
}

function updatesField(body: Fields): readonly FieldUpdate[] {
  const value = body['updates'];
  const entries = Array.isArray(value) ? value.filter(isJsonObject) : [];
  if (entries.length === 0) {
    throw new CatalogError('InvalidInput', 'updates must have at least one entry');
  }
  return entries.map((entry) => {
    const metadata = entry['metadata'];
    return {
      path: textField(entry, 'path') ?? '',
      metadata: metadataOf(isJsonObject(metadata) ? metadata : {}, 'metadata'),
      replace: flagField(entry, 'replace', false),
    };
  });
}

function updated(base: Contents, updates: readonly FieldUpdate[]): Contents {
  const fields = updates.reduce<readonly Field[]>((changed, { path, metadata, replace }) => {
    const { positions } = fieldPlace(path, base.schema);
    return changedAt(changed, positions, (field) =>
      field.clone({ metadata: mergedMetadata(replace ? new Map() : field.metadata, metadata) }),
    );
  }, base.schema.fields);
  return withColumns(
    base,
    columnsOf(base).map(({ id }, position) => ({ id, field: fields[position]! })),
  );
}
