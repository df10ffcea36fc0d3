import type { Schema } from 'apache-arrow';
import type { WrittenFile } from './fragment-writer.ts';
import type { Manifest } from './manifest.ts';
import type { Fragment, Snapshot } from './snapshot.ts';

/** Tables at the versions of manifests: the same object for one, so that what is made of it can be kept beside it. */
export class ManifestSnapshots {
  readonly #known = new WeakMap<Manifest, Snapshot>();

  of(manifest: Manifest, tableId: string, folder: string): Snapshot {
    const known = this.#known.get(manifest);
    if (known?.tableId === tableId && known.folder === folder) return known;
    const snapshot = { tableId, folder, rows: rowsOf(manifest), ...manifest };
    this.#known.set(manifest, snapshot);
    return snapshot;
  }
}

/** What a version says beside its number and time. */
export type Contents = Omit<Manifest, 'version' | 'timestampMillis'>;

/**
 * The next version of a table, computed from the newest one; computed again when
 * another writer was first. Other commits of the table in this process wait for it.
 */
export type Change = (base: Manifest) => Contents | Promise<Contents>;

/** A table without rows. Its columns get ids of their own. */
export function empty(schema: Schema): Contents {
  return withSchema({ nextFieldId: 0, nextRowId: 0n }, schema);
}

/** Adds files, which hold all columns, to whatever rows are there. */
export function appended(base: Contents, files: readonly WrittenFile[]): Contents {
  let { nextRowId } = base;
  const added: Fragment[] = [];
  for (const file of files) {
    added.push(newFragment(file, base.fieldIds, nextRowId));
    nextRowId += BigInt(file.rows);
  }
  return { ...base, fragments: [...base.fragments, ...added], nextRowId };
}

/** Puts files in the place of all rows. Row ids are never used twice, nor are the ids of columns. */
export function overwritten(
  base: Contents,
  schema: Schema,
  files: readonly WrittenFile[],
): Contents {
  const emptied = schema === base.schema ? { ...base, fragments: [] } : withSchema(base, schema);
  return appended(emptied, files);
}

/** How many rows a version has that are not deleted. */
export function rowsOf(contents: Pick<Contents, 'fragments'>): bigint {
  return contents.fragments.reduce((sum, fragment) => sum + BigInt(fragment.rows), 0n);
}

/** A fragment of one new file. */
export function newFragment(
  { file, rows, bytes, statistics }: WrittenFile,
  fields: readonly number[],
  firstRowId: bigint,
): Fragment {
  return {
    files: [{ path: file, bytes, fields, statistics }],
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
