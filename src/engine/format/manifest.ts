import { Schema } from 'apache-arrow';
import type { StoredFile } from '../../arrow/sealed/file-seal.ts';
import { openSealed } from '../../arrow/sealed/sealed-file.ts';
import { SealingWriter, type SealedEnd } from '../../arrow/sealed/sealing-writer.ts';
import { decodeSchema, encodeSchema } from '../../arrow/ipc/schema-encoding.ts';
import { batchOfFragments, fragmentsOfBatches, manifestFields } from './manifest-rows.ts';
import { bytesAccess } from './memory/random-access.ts';
import type { Snapshot, Fragment, FragmentIndex, IndexDefinition } from './snapshot.ts';
import { ownPath } from './layout.ts';

/** One version of a table as stored in its manifest. */
export type Manifest = Omit<Snapshot, 'tableId' | 'storage' | 'folder' | 'rows'>;

const KEYS = {
  version: 'arrowgate.version',
  timestamp: 'arrowgate.timestamp_millis',
  schema: 'arrowgate.schema',
  fieldIds: 'arrowgate.field_ids',
  nextFieldId: 'arrowgate.next_field_id',
  nextRowId: 'arrowgate.next_row_id',
  indices: 'arrowgate.indices',
} as const;

/**
 * Encodes a manifest as an Arrow file: one row per data file, and facts of the whole version in the
 * schema's metadata (the table's schema as a base64 IPC schema message).
 */
export function encodeManifest(manifest: Manifest): SealedEnd {
  const schema = new Schema(
    [...manifestFields],
    new Map([
      [KEYS.version, String(manifest.version)],
      [KEYS.timestamp, String(manifest.timestampMillis)],
      [KEYS.schema, Buffer.from(encodeSchema(manifest.schema)).toString('base64')],
      [KEYS.fieldIds, JSON.stringify(manifest.fieldIds)],
      [KEYS.nextFieldId, String(manifest.nextFieldId)],
      [KEYS.nextRowId, String(manifest.nextRowId)],
      ...indexEntries(manifest),
    ]),
  );
  const writer = new SealingWriter(schema);
  const begin = writer.begin();
  const rows = writer.batch(batchOfFragments(schema, manifest.fragments));
  const { bytes: end, seal } = writer.end();
  return { bytes: Buffer.concat([begin, ...rows, end]), seal };
}

/**
 * Decodes a manifest.
 * @param stored Where the bytes were read, and the seal that they must match.
 * @throws DamagedFile, ArrowError when the bytes are not an Arrow file, Error when they are no manifest.
 */
export async function decodeManifest(bytes: Uint8Array, stored: StoredFile): Promise<Manifest> {
  const { file } = await openSealed(bytesAccess(bytes), stored);
  const batches = await Promise.all(file.batchRows.map((_, index) => file.readBatch(index)));
  const text = (key: string): string => metadataText(file.schema, key);
  const indices = indicesOfText(file.schema.metadata.get(KEYS.indices));
  return {
    version: BigInt(text(KEYS.version)),
    timestampMillis: Number(text(KEYS.timestamp)),
    schema: decodeSchema(Buffer.from(text(KEYS.schema), 'base64')),
    fieldIds: JSON.parse(text(KEYS.fieldIds)) as number[],
    nextFieldId: Number(text(KEYS.nextFieldId)),
    nextRowId: BigInt(text(KEYS.nextRowId)),
    fragments: withIndexFiles(fragmentsOfBatches(batches), indices),
    ...(indices === undefined ? {} : { indices: indices.definitions }),
  };
}

function indexEntries(manifest: Manifest): readonly [string, string][] {
  const text = textOfIndices(manifest);
  return text === undefined ? [] : [[KEYS.indices, text]];
}

function metadataText(schema: Schema, key: string): string {
  const text = schema.metadata.get(key);
  if (text === undefined) throw new Error(`the manifest has no ${key}`);
  return text;
}

/** The indices of a version as stored in its manifest. */
interface ManifestIndices {
  readonly definitions: readonly IndexDefinition[];
  /** Index files by the position of their fragment. */
  readonly files: readonly (readonly [number, readonly FragmentIndex[]])[];
}

/** The indices of a version as JSON; undefined when it has none. */
function textOfIndices({
  indices = [],
  fragments,
}: Pick<Snapshot, 'indices' | 'fragments'>): string | undefined {
  if (indices.length === 0) return undefined;
  const files = fragments.flatMap(({ indices: known = [] }, position) =>
    known.length === 0 ? [] : [[position, known] as const],
  );
  const listed: ManifestIndices = { definitions: indices, files };
  return JSON.stringify(listed);
}

/** The inverse of `textOfIndices`. */
function indicesOfText(text: string | undefined): ManifestIndices | undefined {
  return text === undefined ? undefined : (JSON.parse(text) as ManifestIndices);
}

/** Fragments with their index files. */
function withIndexFiles(
  fragments: readonly Fragment[],
  indices: ManifestIndices | undefined,
): readonly Fragment[] {
  if (indices === undefined) return fragments;
  const files = new Map(indices.files);
  return fragments.map((fragment, position) => {
    const cached = files.get(position);
    for (const { path } of cached ?? []) ownPath(path);
    return cached === undefined ? fragment : { ...fragment, indices: cached };
  });
}
