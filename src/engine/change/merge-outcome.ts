import type { Fragment } from '../format/snapshot.ts';
import { NONE } from './key-index.ts';
import type { MatchedBatch, MergePlan } from './merge-match.ts';
import type { MergeSource } from './merge-source.ts';
import { physicalRows, type FoundRows } from './row-finder.ts';

/** A row of the table that takes the values of a row sent. */
interface UpdatedRow {
  /** The position of its batch among the matched ones. */
  readonly batch: number;
  readonly row: number;
  /** The row sent. */
  readonly source: number;
}

/** Bytes of three words: of a row sent where its updated rows begin and the inserted ones, of an updated row its places. */
const WORDS = 12;

/** What a merge does, put together from all batches of the table. */
export class MergeOutcome {
  readonly batches: readonly MatchedBatch[];
  readonly updated: number;
  readonly removed: number;
  readonly inserted: number;
  readonly #source: MergeSource;
  readonly #insert: boolean;
  /** Whether a key matches a row of the table. */
  readonly #matched: Uint8Array;
  /** For each row sent where its updated rows begin in the lists below. */
  readonly #starts: Uint32Array;
  readonly #places: Uint32Array;
  readonly #rows: Uint32Array;
  readonly #sources: Uint32Array;

  constructor({ insert }: MergePlan, source: MergeSource, batches: readonly MatchedBatch[]) {
    const { charge } = source.memory;
    charge(source.keyCount + WORDS * source.count);
    this.batches = batches;
    this.#source = source;
    this.#insert = insert;
    this.#matched = new Uint8Array(source.keyCount);
    for (const { keys } of batches) for (const key of keys) this.#matched[key] = 1;
    this.updated = batches.reduce((sum, { updated }) => sum + updated.length, 0);
    this.removed = batches.reduce((sum, { removed }) => sum + removed.length, 0);
    charge(WORDS * this.updated);
    this.inserted = this.insertedIn(0, source.count).length;
    this.#starts = startsOf(source.count, batches);
    this.#places = new Uint32Array(this.updated);
    this.#rows = new Uint32Array(this.updated);
    this.#sources = new Uint32Array(this.updated);
    this.#fill();
  }

  /** The rows sent that are inserted, of `count` from `start` on. */
  insertedIn(start: number, count: number): Uint32Array {
    if (!this.#insert) return new Uint32Array(0);
    const rows = new Uint32Array(count);
    let found = 0;
    for (let row = start; row < start + count; row++) {
      const key = this.#source.keyOf(row);
      if (key === NONE || this.#matched[key] === 0) rows[found++] = row;
    }
    return rows.subarray(0, found);
  }

  /** How many rows of the table take the values of rows sent that come before one. */
  updatedBefore(row: number): number {
    return this.#starts[row]!;
  }

  /** An updated row, by the order of the rows sent. */
  updatedAt(index: number): UpdatedRow {
    return {
      batch: this.#places[index]!,
      row: this.#rows[index]!,
      source: this.#sources[index]!,
    };
  }

  /** The rows that leave a fragment's files: the deleted ones and the old forms of updated ones. */
  goneOf(): ReadonlyMap<Fragment, Uint32Array> {
    const found = new Map<Fragment, FoundRows[]>();
    for (const { place, updated, removed } of this.batches) {
      const rows = new Uint32Array(updated.length + removed.length);
      rows.set(updated);
      rows.set(removed, updated.length);
      const list = found.get(place.fragment) ?? [];
      list.push({ place, rows: { kind: 'list', rows: rows.sort() } });
      found.set(place.fragment, list);
    }
    return new Map([...found].map(([fragment, rows]) => [fragment, physicalRows(rows)]));
  }

  /** Sorts the updated rows by the row sent, in linear time. */
  #fill(): void {
    const next = this.#starts.slice();
    for (const [place, { updated, sources }] of this.batches.entries()) {
      for (let at = 0; at < updated.length; at++) {
        const index = next[sources[at]!]!++;
        this.#places[index] = place;
        this.#rows[index] = updated[at]!;
        this.#sources[index] = sources[at]!;
      }
    }
  }
}

function startsOf(count: number, batches: readonly MatchedBatch[]): Uint32Array {
  const starts = new Uint32Array(count + 1);
  for (const { sources } of batches) for (const source of sources) starts[source + 1]!++;
  for (let row = 0; row < count; row++) starts[row + 1]! += starts[row]!;
  return starts;
}
