import { join } from 'node:path';
import type { LanceFragment } from '../../format/lance/lance-manifest.ts';
import { LANCE_DATA, LANCE_DELETIONS } from '../../format/lance/versions.ts';

/** A file that a manifest names. */
export interface ListedFile {
  /** Absolute path. */
  readonly file: string;
  /** Null if the manifest does not say. */
  readonly bytes: bigint | null;
}

/**
 * The files of a fragment that lie in the folder of its own branch.
 * @param line The folder of the branch.
 */
export function filesOfFragment(
  line: string,
  { id, files, deletions }: LanceFragment,
): readonly ListedFile[] {
  const data = files
    .filter(({ base }) => base === undefined)
    .map(({ path, bytes }) => ({ file: join(line, LANCE_DATA, path), bytes }));
  if (deletions === null || deletions.base !== undefined) return data;
  return [...data, { file: join(line, LANCE_DELETIONS, `${id}-${deletions.name}`), bytes: null }];
}
