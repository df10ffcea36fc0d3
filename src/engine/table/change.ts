import type { Schema } from 'apache-arrow';
import type { WrittenFile } from './fragment-writer.ts';
import type { Manifest } from './manifest.ts';
import type { Fragment } from './snapshot.ts';

/** What a version says beside its number and time. */
export type Contents = Pick<Manifest, 'schema' | 'fragments' | 'nextRowId'>;

/** The next version of a table, computed from the newest one; computed again when another writer was first. */
export type Change = (base: Manifest) => Contents;

/** A table without rows. */
export function empty(schema: Schema): Contents {
  return { schema, fragments: [], nextRowId: 0n };
}

/** Adds files to whatever rows are there. */
export function appended(base: Contents, files: readonly WrittenFile[]): Contents {
  let { nextRowId } = base;
  const added: Fragment[] = [];
  for (const file of files) {
    added.push({ ...file, firstRowId: nextRowId });
    nextRowId += BigInt(file.rows);
  }
  return { schema: base.schema, fragments: [...base.fragments, ...added], nextRowId };
}

/** Puts files in the place of all rows. Row ids are never used twice. */
export function overwritten(
  base: Contents,
  schema: Schema,
  files: readonly WrittenFile[],
): Contents {
  return appended({ schema, fragments: [], nextRowId: base.nextRowId }, files);
}

/** How many rows a version has. */
export function rowsOf(contents: Pick<Contents, 'fragments'>): bigint {
  return contents.fragments.reduce((sum, fragment) => sum + BigInt(fragment.rows), 0n);
}
