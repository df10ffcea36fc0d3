import type { TableFolder } from '../format/snapshot.ts';
import type { Data, RecordBatch, Schema } from 'apache-arrow';
import { concat, projectColumns, take } from '../../arrow/select.ts';
import { conform } from '../../arrow/types.ts';
import type { ColumnPath } from '../request/column-path.ts';
import { Pace } from '../base/pace.ts';
import { eachOf, asRefusal } from '../format/incoming.ts';
import { batchBytes } from '../format/small-batches.ts';
import { Holding } from '../format/memory/request-memory.ts';
import type { RequestBudget } from '../../protocol/budget.ts';
import { pieces } from '../format/ingest.ts';
import { GrowingWords, KeyIndex, NONE } from './key-index.ts';
import { KeyBounds, KeyRanges, type MayHave } from './key-ranges.ts';
import { KeyValues } from './key-values.ts';
import { KeyWriter } from './key-writer.ts';
import { keyColumns } from './merge-key.ts';
import { SpilledRows } from './spilled-rows.ts';

/** Approximate cost of looking up a row's key, in bytes. */
export const WORK_OF_ROW = 64;

/** Options of a merge's source rows. */
interface SourceOptions {
  readonly table: TableFolder;
  readonly schema: Schema;
  readonly key: readonly ColumnPath[];
  /** Columns held in memory for all rows. */
  readonly atHand: readonly string[];
  /** Throws after the timeout of the merge. */
  readonly checkTime: () => void;
  /** Charged for held memory. */
  readonly budget: RequestBudget;
  /** Bytes of rows held in memory before they are written to a file. */
  readonly inMemory: number | undefined;
}

/** A range of source rows. */
export interface SourcePiece {
  readonly batch: RecordBatch;
  /** Number of its first row. */
  readonly start: number;
}

/**
 * Source rows of a merge, numbered in order. Keys and condition columns are held in memory; whole
 * rows only while they are few.
 */
export class MergeSource {
  readonly schema: Schema;
  /** Memory held by the merge until it is closed. */
  readonly memory: Holding;
  readonly #rows: SpilledRows;
  readonly #options: SourceOptions;
  readonly #index: KeyIndex;
  readonly #bounds: KeyBounds;
  /** The key of each row. */
  readonly #keys: GrowingWords;
  /** First and last row of each key. */
  readonly #first: GrowingWords;
  readonly #last: GrowingWords;
  /** Next row with the same key, for each row. */
  readonly #next: GrowingWords;
  #atHand: RecordBatch[] = [];
  readonly #ranges: KeyRanges;
  readonly #values: KeyValues;

  constructor(options: SourceOptions) {
    this.schema = options.schema;
    this.#options = options;
    this.memory = new Holding(options.budget);
    const { charge } = this.memory;
    this.#index = new KeyIndex(charge);
    this.#keys = new GrowingWords(charge);
    this.#first = new GrowingWords(charge);
    this.#last = new GrowingWords(charge);
    this.#next = new GrowingWords(charge);
    this.#bounds = new KeyBounds(options.key.map(({ field }) => field.type));
    this.#ranges = new KeyRanges(options.key);
    this.#values = new KeyValues(options.key);
    this.#rows = new SpilledRows(options.table, options.schema, this.memory, options.inMemory);
  }

  get ranges(): KeyRanges {
    return this.#ranges;
  }

  /** Keys for index lookups. */
  get values(): KeyValues {
    return this.#values;
  }

  /** Number of rows. */
  get count(): number {
    return this.#keys.length;
  }

  /** Number of distinct keys. */
  get keyCount(): number {
    return this.#index.size;
  }

  /**
   * Reads all rows.
   * @throws CatalogError for a damaged stream and for rows that the table cannot hold.
   */
  async read(batches: AsyncIterable<RecordBatch>): Promise<void> {
    const pace = new Pace();
    try {
      await eachOf(batches, async (batch) => {
        for (const piece of pieces(conform(batch, this.schema))) {
          this.#options.checkTime();
          await this.#add(piece);
          await pace.turn();
        }
      });
      await this.#rows.finish();
    } catch (error) {
      throw asRefusal(error);
    }
  }

  /** The number of a key among those of the rows, `NONE` when no row has it. */
  find(key: KeyWriter): number {
    return this.#index.find(key);
  }

  /**
   * A quick test whether `find` may find rows with these key columns; undefined for rows with a
   * null key.
   */
  mayHave(columns: readonly Data[]): MayHave {
    return this.#bounds.within(columns);
  }

  /** The number of a row's key, `NONE` when it is null. */
  keyOf(row: number): number {
    return this.#keys.at(row);
  }

  *rowsOf(key: number): Generator<number> {
    for (let row = this.#first.at(key); row !== NONE; row = this.#next.at(row)) yield row;
  }

  /** The first row with a key. */
  firstOf(key: number): number {
    return this.#first.at(key);
  }

  /** Whether several rows have a key. */
  isShared(key: number): boolean {
    return this.#first.at(key) !== this.#last.at(key);
  }

  /** In-memory columns of some rows. */
  take(rows: Uint32Array): RecordBatch {
    const [first, second] = this.#atHand;
    if (first === undefined) throw new Error('the merge has no rows');
    if (second === undefined) return take(first, rows);
    const whole = concat(this.#atHand);
    this.#atHand = [whole];
    return take(whole, rows);
  }

  /** All rows in their order. */
  async *pieces(): AsyncGenerator<SourcePiece> {
    let start = 0;
    for await (const batch of this.#rows.batches()) {
      yield { batch, start };
      start += batch.numRows;
    }
  }

  async close(): Promise<void> {
    this.memory.close();
    await this.#rows.close();
  }

  async #add(batch: RecordBatch): Promise<void> {
    const columns = keyColumns(this.#options.key, batch);
    this.#bounds.add(columns);
    const keys = new KeyWriter(columns);
    this.#ranges.add(batch);
    this.#values.add(batch);
    this.#options.budget.run(() => {
      for (let row = 0; row < batch.numRows; row++) {
        this.#addKey(keys.write(row) ? this.#index.add(keys) : NONE);
        this.#options.budget.work(WORK_OF_ROW);
      }
    });
    const { atHand } = this.#options;
    if (atHand.length > 0) {
      const columns = projectColumns(batch, atHand);
      // They are joined before first use.
      this.memory.charge(2 * batchBytes(columns));
      this.#atHand.push(copyOf(columns));
    }
    await this.#rows.add(batch);
  }

  #addKey(key: number): void {
    const row = this.#keys.length;
    this.#keys.push(key);
    this.#next.push(NONE);
    if (key === NONE) return;
    if (key === this.#first.length) {
      this.#first.push(row);
      this.#last.push(row);
      return;
    }
    this.#next.set(this.#last.at(key), row);
    this.#last.set(key, row);
  }
}

/** Copies columns, so that the whole batch is not kept in memory. */
function copyOf(batch: RecordBatch): RecordBatch {
  return take(
    batch,
    Uint32Array.from({ length: batch.numRows }, (_, row) => row),
  );
}
