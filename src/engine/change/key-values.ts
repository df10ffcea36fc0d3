import type { Data, RecordBatch } from 'apache-arrow';
import { concatData } from '../../arrow/concat.ts';
import { takeData } from '../../arrow/take.ts';
import { columnAt, type ColumnPath } from '../request/column-path.ts';
import { pairs } from '../base/items.ts';
import { columnData } from '../../arrow/data.ts';

/** Maximum number of rows whose keys are held: beyond it reading the table is cheaper. */
const MOST_ROWS = 16_384;

/** The keys of rows, column by column, as long as they are few. */
export class KeyValues {
  /** Only whole columns: indices are made of these. */
  readonly #key: readonly ColumnPath[];
  #parts: Data[][] | null;
  #rows = 0;

  constructor(key: readonly ColumnPath[]) {
    this.#key = key.filter(({ formula }) => formula === null);
    this.#parts = this.#key.map(() => []);
  }

  get rows(): number {
    return this.#rows;
  }

  /** Adds the keys of further rows. */
  add(batch: RecordBatch): void {
    this.#rows += batch.numRows;
    if (this.#rows > MOST_ROWS) this.#parts = null;
    if (this.#parts === null) return;
    // Copies, since a slice would keep the whole batch in memory.
    const rows = Uint32Array.from({ length: batch.numRows }, (_, row) => row);
    for (const [parts, path] of pairs(this.#parts, this.#key)) {
      parts.push(takeData(columnData(columnAt(batch, path)), rows));
    }
  }

  /** Values of the rows in each key column; null if there are too many. */
  columns(): readonly { readonly path: ColumnPath; readonly values: Data }[] | null {
    if (this.#parts === null || this.#rows === 0) return null;
    const columns = this.#parts.map((parts) => concatData(parts));
    this.#parts = columns.map((values) => [values]);
    return pairs(this.#key, columns).map(([path, values]) => ({ path, values }));
  }
}
