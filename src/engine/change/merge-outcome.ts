import type { Fragment } from '../format/snapshot.ts';
import { NONE } from './key-index.ts';
import type { MatchedBatch, MergePlan } from './merge-match.ts';
import type { MergeSource } from './merge-source.ts';
import { physicalRows, type BatchRows } from './row-finder.ts';

/** A target row updated from a source row. */
interface UpdatedRow {
  /** Position of its batch among the matched ones. */
  readonly batch: number;
  readonly row: number;
  /** The source row. */
  readonly source: number;
}

/** Bytes per row of the lists below: three words. */
const WORDS = 12;

/** Effects of a merge over all batches of the table. */
export class MergeOutcome {
  readonly batches: readonly MatchedBatch[];
  readonly updated: number;
  readonly removed: number;
  readonly inserted: number;
  readonly #source: MergeSource;
  readonly #insert: boolean;
  /** Whether a key matches a target row. */
  readonly #matched: Uint8Array;
  /** Start of each source row's updated rows in the lists below. */
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

  /** Inserted source rows among `count` rows from `start` on. */
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

  /** Number of target rows updated from source rows before a given one. */
  updatedBefore(row: number): number {
    return this.#starts[row]!;
  }

  /** An updated row by the order of source rows. */
  updatedAt(index: number): UpdatedRow {
    return {
      batch: this.#places[index]!,
      row: this.#rows[index]!,
      source: this.#sources[index]!,
    };
  }

  /** Rows that leave each fragment: deleted rows and old forms of updated ones. */
  goneOf(): ReadonlyMap<Fragment, Uint32Array> {
    const found = new Map<Fragment, BatchRows[]>();
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

  /** Sorts updated rows by source row in linear time. */
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
