import type { JsonValue } from '../../protocol/json.ts';
import { describe, fieldError } from '../query/fields.ts';

/** Values to set by key; null takes the key away. */
export type MetadataChange = readonly (readonly [string, string | null])[];

/**
 * A map of a request.
 * @param where Its name, for refusals.
 * @throws CatalogError InvalidInput for a value that is neither text nor null.
 */
export function metadataOf(
  map: Readonly<Record<string, JsonValue>>,
  where: string,
): MetadataChange {
  return Object.entries(map).map(([key, value]) => {
    if (value !== null && typeof value !== 'string') {
      throw fieldError(`${where}.${key}`, 'a string or null', describe(value));
    }
    return [key, value];
  });
}

/** Metadata with a change made to it; keys that the change does not name stay. */
export function mergedMetadata(
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
