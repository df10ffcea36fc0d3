import type { Flushes } from '../../store/flushes.ts';
import { writeDeletions } from '../table/deletion-file.ts';
import type { FragmentReader } from '../table/fragment-reader.ts';
import type { Fragment, Snapshot } from '../table/snapshot.ts';

/** What tells which files were written for a version that may not come to be. */
export type Wrote = (files: readonly string[]) => void;

/**
 * The fragments of a table without some rows. What is deleted is written to files
 * of its own; a fragment without any row left is left out.
 * @param rows For each fragment positions in its files, ascending; of rows that are there.
 */
export async function withoutRows(
  reader: Pick<FragmentReader, 'deletions' | 'keepDeletions'>,
  base: Snapshot,
  rows: ReadonlyMap<Fragment, Uint32Array>,
  wrote: Wrote,
  flushes: Flushes,
): Promise<readonly Fragment[]> {
  const left = base.fragments.filter((fragment) => sizeOf(rows, fragment) < fragment.rows);
  const touched = left.filter((fragment) => sizeOf(rows, fragment) > 0);
  const lists: Uint32Array[] = [];
  for (const fragment of touched) {
    lists.push(merged(await reader.deletions(base, fragment), rows.get(fragment)!));
  }
  const paths = await writeDeletions(base.folder, lists, flushes);
  wrote(paths);
  for (const [at, path] of paths.entries()) reader.keepDeletions(base, path, lists[at]!);
  const pathOf = new Map(touched.map((fragment, index) => [fragment, paths[index]!]));
  return left.map((fragment) => {
    const deletions = pathOf.get(fragment);
    if (deletions === undefined) return fragment;
    return { ...fragment, rows: fragment.rows - sizeOf(rows, fragment), deletions };
  });
}

function sizeOf(rows: ReadonlyMap<Fragment, Uint32Array>, fragment: Fragment): number {
  return rows.get(fragment)?.length ?? 0;
}

/** Two ascending lists without a row in common, as one. */
function merged(left: Uint32Array, right: Uint32Array): Uint32Array {
  if (left.length === 0) return right;
  const all = new Uint32Array(left.length + right.length);
  let [a, b] = [0, 0];
  for (let at = 0; at < all.length; at++) {
    const takesLeft = b === right.length || (a < left.length && left[a]! < right[b]!);
    all[at] = takesLeft ? left[a++]! : right[b++]!;
  }
  return all;
}
