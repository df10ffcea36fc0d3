import type { Data, RecordBatch } from 'apache-arrow';
import { concatData } from '../../arrow/concat.ts';
import { takeData } from '../../arrow/take.ts';
import { columnAt, type ColumnPath } from '../request/column-path.ts';

/** The keys of more rows than this are not kept: so many are better matched by reading a table. */
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

  /** How many rows there are. */
  get rows(): number {
    return this.#rows;
  }

  /** Takes in the keys of further rows. */
  add(batch: RecordBatch): void {
    this.#rows += batch.numRows;
    if (this.#rows > MOST_ROWS) this.#parts = null;
    if (this.#parts === null) return;
    // Copies, since a slice would keep the whole batch in memory.
    const rows = Uint32Array.from({ length: batch.numRows }, (_, row) => row);
    for (const [at, path] of this.#key.entries()) {
      this.#parts[at]!.push(takeData(columnAt(batch, path).data[0]!, rows));
    }
  }

  /** What the rows have in each column of their key; null when they are too many. */
  columns(): readonly { readonly path: ColumnPath; readonly values: Data }[] | null {
    if (this.#parts === null || this.#rows === 0) return null;
    this.#parts = this.#parts.map((parts) => [concatData(parts)]);
    return this.#parts.map(([values], at) => ({ path: this.#key[at]!, values: values! }));
  }
}
