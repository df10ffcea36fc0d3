import type { RecordBatch } from 'apache-arrow';
import { extremesOf, mergeExtremes, type Extremes } from '../../arrow/extremes.ts';
import { ordersOf } from '../../sql/value-range.ts';
import { columnAt, type ColumnPath } from '../query/column-path.ts';
import { rangeOf } from '../query/fragment-ranges.ts';
import { filesWhere } from '../query/pruning.ts';
import type { ScanFile } from '../query/scan.ts';
import type { Snapshot } from '../table/snapshot.ts';

/** Between which values the keys of some rows lie. */
export class KeyRanges {
  /** Only whole columns: of what lies inside them a table knows nothing. */
  readonly #key: readonly ColumnPath[];
  #known: readonly (Extremes | undefined)[] | undefined;

  constructor(key: readonly ColumnPath[]) {
    this.#key = key.filter(({ formula }) => formula === null);
  }

  /** Takes in the keys of further rows. */
  add(batch: RecordBatch): void {
    const found = this.#key.map((path) => extremesOf(columnAt(batch, path).data[0]!));
    const before = this.#known ?? found;
    this.#known =
      before === found ? found : before.map((extremes, at) => merged(extremes, found[at]));
  }

  /** The files of a table, and of large ones the batches, with rows that may have one of the keys. */
  filesWithMatches(base: Snapshot, files: readonly ScanFile[]): readonly ScanFile[] {
    const known = this.#known;
    if (known === undefined) return [];
    const keys = this.#key.map(({ column, field }, at) => ({
      column,
      range: rangeOf(known[at], field.type),
    }));
    const names = keys.map(({ column }) => column);
    return filesWhere(base, files, names, (ranges) => {
      const fits = keys.every(
        ({ column, range }) => ordersOf(ranges(column), range, [1n, 1n]).equal,
      );
      return fits ? 'each' : 'none';
    });
  }
}

function merged(left: Extremes | undefined, right: Extremes | undefined): Extremes | undefined {
  return left === undefined || right === undefined ? undefined : mergeExtremes(left, right);
}
