import type { Field } from 'apache-arrow';
import { schemaOf } from '../../../arrow/nested-type.ts';
import type { Answer } from '../../../protocol/backend.ts';
import { CatalogError } from '../../../protocol/errors.ts';
import { isJsonObject, type JsonValue } from '../../../protocol/json.ts';
import { pairs } from '../../base/items.ts';
import { describe, fieldError, flagField, textField, type Fields } from '../../base/fields.ts';
import type { Contents } from '../../format/change.ts';
import { changedAt, fieldAt, fieldPlace } from '../../format/field-place.ts';
import { tableColumns, withColumns } from '../../format/table-columns.ts';
import { commitSummary } from '../../once/commit-summary.ts';
import type { Committed } from '../../versions/lines/version-commits.ts';
import { jsonAnswer } from '../call/answers.ts';
import type { Call, Handler } from '../call/handler.ts';
import {
  commitSchemaChange,
  versionAnswer,
  type ChangeBase,
  type SchemaParts,
} from './schema-change.ts';

/**
 * UpdateTableSchemaMetadata: the body is the map itself, and so is the answer:
 * all that the schema has then.
 *
 * Keys that the body does not name stay, null takes one away. The namespace
 * specification speaks of replacing and of key-value pairs to set; its reference
 * server merges, as an update of a field's metadata does, and clients keep what
 * they must not lose in other keys (the LanceDB client its embedding functions).
 */
export function updateSchemaMetadata(parts: SchemaParts): Handler {
  return async (call) => {
    const change = metadataOf(call.body, 'metadata');
    const changed = ({ base }: ChangeBase): Contents => ({
      ...base,
      schema: schemaOf(base.schema.fields, mergedMetadata(base.schema.metadata, change)),
    });
    return commitSchemaChange(parts, call, changed, (made) =>
      jsonAnswer(call, Object.fromEntries(made.manifest.schema.metadata), {
        commit: commitSummary('update_schema_metadata', made),
      }),
    );
  };
}

/** Values to set by key; null takes the key away. */
type MetadataChange = readonly (readonly [string, string | null])[];

/**
 * A map of a request.
 * @param where Its name, for refusals.
 * @throws CatalogError InvalidInput for a value that is neither text nor null.
 */
function metadataOf(map: Readonly<Record<string, JsonValue>>, where: string): MetadataChange {
  return Object.entries(map).map(([key, value]) => {
    if (value !== null && typeof value !== 'string') {
      throw fieldError(`${where}.${key}`, 'a string or null', describe(value));
    }
    return [key, value];
  });
}

/** Metadata with a change made to it; keys that the change does not name stay. */
function mergedMetadata(
  metadata: ReadonlyMap<string, string>,
  change: MetadataChange,
): Map<string, string> {
  const merged = new Map(metadata);
  for (const [key, value] of change) {
    if (value === null) merged.delete(key);
    else merged.set(key, value);
  }
  return merged;
}

/** A change of one field's metadata. */
export interface FieldUpdate {
  readonly path: string;
  readonly metadata: MetadataChange;
  /** Whether unnamed keys are removed. */
  readonly replace: boolean;
}

/** UpdateFieldMetadata: answers the new metadata of each field by the path in the request. */
export function updateFieldMetadata(parts: SchemaParts): Handler {
  return async (call) => {
    const updates = fieldUpdates(call.body);
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

/** The field `updates`. @throws CatalogError InvalidInput. */
export function fieldUpdates(body: Fields): readonly FieldUpdate[] {
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
    pairs(tableColumns(base), fields).map(([{ id }, field]) => ({ id, field })),
  );
}
