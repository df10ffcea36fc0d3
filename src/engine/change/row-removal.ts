import type { Flushes } from '../../storage/flushes.ts';
import { writeDeletions, type WrittenDeletions } from '../format/deletion-file.ts';
import type { FragmentReader } from '../query/scan/fragment-reader.ts';
import { fragmentKey, type Fragment, type Snapshot } from '../format/snapshot.ts';
import { pairs } from '../base/items.ts';

/** Called with files written for a version that may not be committed. */
export type Wrote = (files: readonly string[]) => void;

/** Collects written files and their flushes. */
interface Leaving {
  readonly wrote: Wrote;
  readonly flushes: Flushes;
}

/** A fragment that stays, and its rows that leave. */
interface Touched {
  readonly fragment: Fragment;
  readonly deleted: Uint32Array;
}

/** Deleted rows of a fragment that were written for an earlier attempt. */
interface KnownDeletions {
  readonly rows: Uint32Array;
  readonly file: WrittenDeletions;
}

/** Removes rows from a table. Unchanged lists are not written again when a change is recomputed. */
export class RowRemoval {
  readonly #reader: Pick<FragmentReader, 'deletions' | 'keepDeletions'>;
  readonly #written = new Map<string, KnownDeletions>();

  constructor(reader: Pick<FragmentReader, 'deletions' | 'keepDeletions'>) {
    this.#reader = reader;
  }

  /**
   * Removes rows from fragments. Deleted rows are written to deletion files; empty fragments are
   * dropped.
   * @param rows Live rows to remove: positions in the files of each fragment, ascending.
   */
  async without(
    base: Snapshot,
    rows: ReadonlyMap<Fragment, Uint32Array>,
    wrote: Wrote,
    flushes: Flushes,
  ): Promise<readonly Fragment[]> {
    const left = base.fragments.filter((fragment) => sizeOf(rows, fragment) < fragment.rows);
    const touched = left.flatMap((fragment) => {
      const deleted = rows.get(fragment);
      return deleted === undefined || deleted.length === 0 ? [] : [{ fragment, deleted }];
    });
    await this.#write(base, touched, { wrote, flushes });
    return left.map((fragment) => {
      const deletedCount = sizeOf(rows, fragment);
      if (deletedCount === 0) return fragment;
      const file = this.#written.get(keyOf(fragment))?.file;
      if (file === undefined) throw new Error('the deleted rows of a fragment were not written');
      const { path: deletions, seal: deletionsSeal } = file;
      return { ...fragment, rows: fragment.rows - deletedCount, deletions, deletionsSeal };
    });
  }

  async #write(
    base: Snapshot,
    touched: readonly Touched[],
    { wrote, flushes }: Leaving,
  ): Promise<void> {
    const fresh = touched.filter(({ fragment, deleted }) => !this.#has(fragment, deleted));
    const lists: Uint32Array[] = [];
    for (const { fragment, deleted } of fresh) {
      lists.push(merged(await this.#reader.deletions(base, fragment), deleted));
    }
    const files = await writeDeletions(base, lists, flushes);
    wrote(files.map(({ path }) => path));
    for (const [{ path }, list] of pairs(files, lists)) {
      this.#reader.keepDeletions(base, path, list);
    }
    for (const [file, { fragment, deleted }] of pairs(files, fresh)) {
      this.#written.set(keyOf(fragment), { rows: deleted, file });
    }
  }

  #has(fragment: Fragment, rows: Uint32Array): boolean {
    const before = this.#written.get(keyOf(fragment))?.rows;
    return before?.length === rows.length && before.every((row, at) => row === rows[at]);
  }
}

/** Identifies a fragment with its live rows. */
function keyOf(fragment: Fragment): string {
  return `${fragmentKey(fragment)}|${fragment.deletions ?? ''}`;
}

function sizeOf(rows: ReadonlyMap<Fragment, Uint32Array>, fragment: Fragment): number {
  return rows.get(fragment)?.length ?? 0;
}

/** Merges two disjoint ascending lists. Rows that are deleted together mostly lie between two that were before. */
function merged(left: Uint32Array, right: Uint32Array): Uint32Array {
  const all = new Uint32Array(left.length + right.length);
  const before = countBelow(left, right[0]!);
  all.set(left.subarray(0, before));
  if (before === left.length || right.at(-1)! < left[before]!) {
    all.set(right, before);
    all.set(left.subarray(before), before + right.length);
    return all;
  }
  let [a, b] = [before, 0];
  for (let at = before; at < all.length; at++) {
    const takesLeft = b === right.length || (a < left.length && left[a]! < right[b]!);
    all[at] = takesLeft ? left[a++]! : right[b++]!;
  }
  return all;
}

/** How many values of an ascending list are less than a value. */
function countBelow(list: Uint32Array, value: number): number {
  let [low, high] = [0, list.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (list[middle]! < value) low = middle + 1;
    else high = middle;
  }
  return low;
}
