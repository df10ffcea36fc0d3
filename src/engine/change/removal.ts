import type { Flushes } from '../../storage/flushes.ts';
import { writeDeletions } from '../format/deletion-file.ts';
import type { FragmentReader } from '../query/scan/fragment-reader.ts';
import { fragmentKey, type Fragment, type Snapshot } from '../format/snapshot.ts';

/** What tells which files were written for a version that may not come to be. */
export type Wrote = (files: readonly string[]) => void;

/** The rows that leave fragments, and what is told of the files that say so. */
interface Leaving {
  readonly rows: ReadonlyMap<Fragment, Uint32Array>;
  readonly wrote: Wrote;
  readonly flushes: Flushes;
}

/** The deleted rows of a fragment as they were written for an earlier version. */
interface Written {
  readonly rows: Uint32Array;
  readonly path: string;
}

/** Takes rows out of a table. Where a change is computed again, lists that stay the same are not written again. */
export class Removal {
  readonly #reader: Pick<FragmentReader, 'deletions' | 'keepDeletions'>;
  readonly #written = new Map<string, Written>();

  constructor(reader: Pick<FragmentReader, 'deletions' | 'keepDeletions'>) {
    this.#reader = reader;
  }

  /**
   * The fragments of a table without some rows. What is deleted is written to files
   * of its own; a fragment without any row left is left out.
   * @param rows For each fragment positions in its files, ascending; of rows that are there.
   */
  async without(
    base: Snapshot,
    rows: ReadonlyMap<Fragment, Uint32Array>,
    wrote: Wrote,
    flushes: Flushes,
  ): Promise<readonly Fragment[]> {
    const left = base.fragments.filter((fragment) => sizeOf(rows, fragment) < fragment.rows);
    const touched = left.filter((fragment) => sizeOf(rows, fragment) > 0);
    await this.#write(base, touched, { rows, wrote, flushes });
    return left.map((fragment) => {
      const gone = sizeOf(rows, fragment);
      if (gone === 0) return fragment;
      const deletions = this.#written.get(keyOf(fragment))!.path;
      return { ...fragment, rows: fragment.rows - gone, deletions };
    });
  }

  async #write(
    base: Snapshot,
    touched: readonly Fragment[],
    { rows, wrote, flushes }: Leaving,
  ): Promise<void> {
    const fresh = touched.filter((fragment) => !this.#has(fragment, rows.get(fragment)!));
    const lists: Uint32Array[] = [];
    for (const fragment of fresh) {
      lists.push(merged(await this.#reader.deletions(base, fragment), rows.get(fragment)!));
    }
    const paths = await writeDeletions(base.folder, lists, flushes);
    wrote(paths);
    for (const [at, fragment] of fresh.entries()) {
      this.#reader.keepDeletions(base, paths[at]!, lists[at]!);
      this.#written.set(keyOf(fragment), { rows: rows.get(fragment)!, path: paths[at]! });
    }
  }

  #has(fragment: Fragment, rows: Uint32Array): boolean {
    const before = this.#written.get(keyOf(fragment))?.rows;
    return before?.length === rows.length && before.every((row, at) => row === rows[at]);
  }
}

/** What names a fragment together with the rows it has. */
function keyOf(fragment: Fragment): string {
  return `${fragmentKey(fragment)}|${fragment.deletions ?? ''}`;
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
