import type { Place } from '../query/scan/place.ts';
import type { ScanFile } from '../query/scan/scan.ts';
import { sameSchema } from '../format/incoming.ts';
import type { Fragment, Snapshot } from '../format/snapshot.ts';

/**
 * What was found in the fragments of a table. A change that is computed again on
 * a newer version looks only at fragments that are not as they were.
 */
export class FragmentMemo<Entry extends { readonly place: Place }> {
  #base: Snapshot | undefined;
  #columns = 0;
  /** Their places are counted from the beginning of the fragment. */
  #entries = new Map<string, Entry[]>();
  #files = new Map<Fragment, { readonly key: string; readonly offset: number }>();

  /**
   * Begins a pass over a version. Nothing is known in a table whose columns changed.
   * @param byOffset Whether what is found depends on how many rows lie before a fragment.
   * @returns The files in which nothing was looked for yet.
   */
  begin(base: Snapshot, files: readonly ScanFile[], byOffset: boolean): readonly ScanFile[] {
    const same = this.#base !== undefined && sameColumns(this.#base, base);
    const previous = this.#entries;
    if (!same) this.#columns++;
    this.#base = base;
    this.#entries = new Map();
    this.#files = new Map();
    return files.filter((file) => {
      const key = `${this.#columns}|${keyOf(file, byOffset)}`;
      const entries = previous.get(key);
      this.#entries.set(key, entries ?? []);
      this.#files.set(file.fragment, { key, offset: file.offset });
      return entries === undefined;
    });
  }

  /** Remembers something found in a fragment of the pass. */
  add(entry: Entry): void {
    const { place } = entry;
    const { key, offset } = this.#file(place.fragment);
    const inside = { ...place, offset: place.offset - offset };
    this.#entries.get(key)?.push({ ...entry, place: inside });
  }

  /** Results in a fragment of the pass, in row order, with current positions. */
  of(fragment: Fragment): readonly Entry[] {
    const { key, offset } = this.#file(fragment);
    const entries = this.#entries.get(key) ?? [];
    return entries.map((entry) => {
      const { place } = entry;
      return { ...entry, place: { ...place, fragment, offset: place.offset + offset } };
    });
  }

  /** Identifies a fragment of the pass with its live rows. */
  key(fragment: Fragment): string {
    return this.#file(fragment).key;
  }

  #file(fragment: Fragment): { readonly key: string; readonly offset: number } {
    const file = this.#files.get(fragment);
    if (file === undefined) throw new Error('the fragment is not part of the pass');
    return file;
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
