import type { ScanFile } from '../query/scan.ts';
import { sameSchema } from '../table/schema-match.ts';
import type { Fragment, Snapshot } from '../table/snapshot.ts';

/**
 * What was found in the fragments of a table. A change that is computed again on
 * a newer version looks only at fragments that are not as they were.
 */
export class FragmentMemo<Entry> {
  #base: Snapshot | undefined;
  #columns = 0;
  #entries = new Map<string, Entry[]>();
  #keys = new Map<Fragment, string>();

  /**
   * Begins a pass over a version. Nothing is known in a table whose columns changed.
   * @param byOffset Whether what is found depends on how many rows lie before a fragment.
   * @returns The files in which nothing was looked for yet.
   */
  begin(base: Snapshot, files: readonly ScanFile[], byOffset: boolean): readonly ScanFile[] {
    const same = this.#base !== undefined && sameColumns(this.#base, base);
    const known = this.#entries;
    if (!same) this.#columns++;
    this.#base = base;
    this.#entries = new Map();
    this.#keys = new Map();
    return files.filter((file) => {
      const key = `${this.#columns}|${keyOf(file, byOffset)}`;
      const entries = known.get(key);
      this.#entries.set(key, entries ?? []);
      this.#keys.set(file.fragment, key);
      return entries === undefined;
    });
  }

  /** Remembers something found in a fragment of the pass. */
  add(fragment: Fragment, entry: Entry): void {
    this.#entries.get(this.key(fragment))?.push(entry);
  }

  /** What was found in a fragment of the pass, in the order of its rows. */
  of(fragment: Fragment): readonly Entry[] {
    return this.#entries.get(this.key(fragment)) ?? [];
  }

  /** What names a fragment of the pass together with the rows it has. */
  key(fragment: Fragment): string {
    const key = this.#keys.get(fragment);
    if (key === undefined) throw new Error('the fragment is not part of the pass');
    return key;
  }
}

function keyOf({ fragment, offset }: ScanFile, byOffset: boolean): string {
  const place = byOffset ? String(offset) : '';
  const files = fragment.files.map(({ path }) => path);
  return [...files, fragment.deletions ?? '', place].join('|');
}

function sameColumns(left: Snapshot, right: Snapshot): boolean {
  const ids = left.fieldIds.length === right.fieldIds.length;
  return (
    ids &&
    left.fieldIds.every((id, at) => id === right.fieldIds[at]) &&
    sameSchema(left.schema, right.schema)
  );
}
