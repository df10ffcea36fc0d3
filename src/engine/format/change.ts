import type { Schema } from 'apache-arrow';
import type { WrittenFile } from './fragment-writer.ts';
import type { Manifest } from './manifest.ts';
import type { Fragment, Snapshot } from './snapshot.ts';
import type { Storage } from '../../storage/storage.ts';
import type { MaybePromise } from '../../protocol/maybe-promise.ts';

/** Snapshots of manifests, one object per manifest, so that caches can be attached to it. */
export class ManifestSnapshots {
  readonly #cache = new WeakMap<Manifest, Snapshot>();
  readonly #storage: Storage;

  constructor(storage: Storage) {
    this.#storage = storage;
  }

  of(manifest: Manifest, tableId: string, folder: string): Snapshot {
    const cached = this.#cache.get(manifest);
    if (cached?.tableId === tableId && cached.folder === folder) return cached;
    const snapshot = {
      tableId,
      storage: this.#storage,
      folder,
      rows: liveRowTotal(manifest),
      ...manifest,
    };
    this.#cache.set(manifest, snapshot);
    return snapshot;
  }
}

/** The contents of a version: everything but its number and time. */
export type Contents = Omit<Manifest, 'version' | 'timestampMillis'>;

/**
 * Computes a table's next version from its newest. Runs again if another writer commits first;
 * other commits of the table in this process wait.
 */
export type ContentsChange = (base: Manifest) => MaybePromise<Contents>;

/** The contents of a table without rows. Its columns get new ids. */
export function empty(schema: Schema): Contents {
  return withSchema({ nextFieldId: 0, nextRowId: 0n }, schema);
}

/** Appends files that hold all columns. */
export function appended(base: Contents, files: readonly WrittenFile[]): Contents {
  let { nextRowId } = base;
  const added: Fragment[] = [];
  for (const file of files) {
    added.push(newFragment(file, base.fieldIds, nextRowId));
    nextRowId += BigInt(file.rows);
  }
  return { ...base, fragments: [...base.fragments, ...added], nextRowId };
}

/** Replaces all rows by files with the same columns. Ids of rows are never reused. */
export function rowsReplaced(base: Contents, files: readonly WrittenFile[]): Contents {
  return appended({ ...base, fragments: [] }, files);
}

/** Replaces all rows and columns by those of files. Ids of rows and columns are never reused. */
export function overwritten(
  base: Contents,
  schema: Schema,
  files: readonly WrittenFile[],
): Contents {
  return appended(withSchema(base, schema), files);
}

/** Number of rows of a version, without deleted ones. */
export function liveRowTotal(contents: Pick<Contents, 'fragments'>): bigint {
  return contents.fragments.reduce((sum, fragment) => sum + BigInt(fragment.rows), 0n);
}

/** A fragment of one new file. */
export function newFragment(
  { file, rows, bytes, statistics, seal }: WrittenFile,
  fields: readonly number[],
  firstRowId: bigint,
): Fragment {
  return {
    files: [{ path: file, bytes, fields, statistics, seal }],
    physicalRows: rows,
    rows,
    firstRowId,
    storedRowIds: false,
    deletions: null,
  };
}

function withSchema(
  { nextFieldId, nextRowId }: Pick<Contents, 'nextFieldId' | 'nextRowId'>,
  schema: Schema,
): Contents {
  const fieldIds = schema.fields.map((_, index) => nextFieldId + index);
  const next = nextFieldId + fieldIds.length;
  return { schema, fieldIds, nextFieldId: next, fragments: [], nextRowId };
}
