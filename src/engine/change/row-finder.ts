import { needOf, NO_COLUMNS, ROW_OFFSET, type ColumnNeed } from '../request/computed-columns.ts';
import { rowsInThread } from '../request/formula.ts';
import type { Formula } from '../base/statement.ts';
import { Pace } from '../base/pace.ts';
import { allFiles } from '../query/plan/plan.ts';
import { prunedFiles } from '../query/scan/pruning.ts';
import { readAhead } from '../query/scan/meters.ts';
import { countOf, listed, rowAt, stretch, type Rows } from '../query/scan/rows.ts';
import type { Place } from '../query/scan/place.ts';
import { Scanner, type PlacedBatch, type ScanFile } from '../query/scan/scan.ts';
import type { BatchSource } from '../query/scan/batch-source.ts';
import type { Fragment, Snapshot } from '../format/snapshot.ts';
import { FragmentMemo } from './fragment-memo.ts';

/** Rows of one batch of a table. */
export interface BatchRows {
  readonly place: Place;
  readonly rows: Rows;
}

export interface FoundFragment {
  readonly fragment: Fragment;
  /** Identifies the fragment with its live rows. */
  readonly key: string;
  readonly found: readonly BatchRows[];
}

/** Finds the rows of a change. Results are reused for the next version. */
export class RowFinder {
  readonly #source: BatchSource;
  readonly #memo = new FragmentMemo<BatchRows>();

  constructor(source: BatchSource) {
    this.#source = source;
  }

  /**
   * Finds rows that pass a predicate, by fragment; all rows without one.
   * @throws CatalogError InvalidInput if the predicate fails on a row.
   */
  async find(base: Snapshot, predicate: Formula | null): Promise<readonly FoundFragment[]> {
    const files = allFiles(base);
    const need = needOf(base.schema, predicate?.columns ?? []);
    const unknown = this.#memo.begin(base, files, need.placed.includes(ROW_OFFSET));
    const fresh = predicate === null ? unknown : prunedFiles(base, unknown, predicate);
    const pace = new Pace();
    for await (const { place, batch, certain, release } of readAhead(
      this.#scan(base, fresh, need),
    )) {
      const rows =
        predicate === null || certain === true
          ? stretch(0, place.rows)
          : listed(await rowsInThread(predicate, batch), place.rows);
      release?.();
      if (countOf(rows) > 0) this.#memo.add({ place, rows });
      await pace.turn();
    }
    return files
      .map(({ fragment }) => ({
        fragment,
        key: this.#memo.key(fragment),
        found: this.#memo.of(fragment),
      }))
      .filter(({ found }) => found.length > 0);
  }

  /** No column is read if all rows are known to pass. */
  async *#scan(
    base: Snapshot,
    files: readonly ScanFile[],
    need: ColumnNeed,
  ): AsyncGenerator<PlacedBatch> {
    const scanner = new Scanner(this.#source, base);
    for (let start = 0, end = 0; start < files.length; start = end) {
      const certain = files[start]?.certain === true;
      while (end < files.length && (files[end]?.certain === true) === certain) end++;
      const read = certain ? NO_COLUMNS : need;
      yield* scanner.scan(files.slice(start, end), read, 0, NO_COLUMNS);
    }
  }
}

/** Positions of rows in their fragment's files, ascending like the batches. */
export function physicalRows(found: readonly BatchRows[]): Uint32Array {
  const all = new Uint32Array(found.reduce((sum, { rows }) => sum + countOf(rows), 0));
  let at = 0;
  for (const { place, rows } of found) {
    const count = countOf(rows);
    const row = rowAt(rows);
    for (let index = 0; index < count; index++) {
      all[at++] = place.start + (place.live?.[row(index)] ?? row(index));
    }
  }
  return all;
}
