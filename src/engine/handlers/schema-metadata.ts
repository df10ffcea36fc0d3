import { jsonAnswer } from '../answers.ts';
import type { Handler } from '../handler.ts';
import { schemaOf } from '../../arrow/nested-type.ts';
import type { Contents } from '../table/change.ts';
import { commitSummary } from './commit-summary.ts';
import { mergedMetadata, metadataOf } from './metadata-change.ts';
import { commitSchemaChange, type ChangeBase, type SchemaParts } from './schema-change.ts';

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
