import type { TableFolder } from '../format/snapshot.ts';
import type { Data, RecordBatch, Schema } from 'apache-arrow';
import { concat, project, take } from '../../arrow/select.ts';
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

/** Bytes of work that it is to look up the key of a row, about. */
export const WORK_OF_ROW = 64;

/** How to read the rows of a merge. */
interface SourceOptions {
  /** The table's folder. */
  readonly table: TableFolder;
  readonly schema: Schema;
  readonly key: readonly ColumnPath[];
  /** The columns that are needed of any row at any time. */
  readonly atHand: readonly string[];
  /** Throws when the time that the merge may take is over. */
  readonly checkTime: () => void;
  /** Charged for what is held. */
  readonly budget: RequestBudget;
  /** How many bytes of the rows are held in memory before they go to a file. */
  readonly inMemory: number | undefined;
}

/** A stretch of the rows of a merge. */
export interface SourcePiece {
  readonly batch: RecordBatch;
  /** The number of its first row. */
  readonly start: number;
}

/**
 * The rows of a merge, numbered as they came. In memory are their keys and the columns
 * that a condition reads; the rows themselves only while they are few.
 */
export class MergeSource {
  readonly schema: Schema;
  /** What the merge holds of its budget, until it is closed. */
  readonly memory: Holding;
  readonly #rows: SpilledRows;
  readonly #options: SourceOptions;
  readonly #index: KeyIndex;
  readonly #bounds: KeyBounds;
  /** The key of each row. */
  readonly #keys: GrowingWords;
  /** For each key its first and its last row. */
  readonly #first: GrowingWords;
  readonly #last: GrowingWords;
  /** For each row the next one with its key. */
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

  /** Between which values the rows' keys lie. */
  get ranges(): KeyRanges {
    return this.#ranges;
  }

  /** The rows' keys, to be looked up in indices. */
  get values(): KeyValues {
    return this.#values;
  }

  /** How many rows there are. */
  get count(): number {
    return this.#keys.length;
  }

  /** How many different keys they have. */
  get keyCount(): number {
    return this.#index.size;
  }

  /**
   * Takes in all rows.
   * @throws CatalogError for a stream that is damaged or has rows that the table cannot hold.
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

  /** Tells quickly of rows with these columns as their key whether `find` may find anything; not of a row whose key is null. */
  mayHave(columns: readonly Data[]): MayHave {
    return this.#bounds.within(columns);
  }

  /** The number of a row's key, `NONE` when it is null. */
  keyOf(row: number): number {
    return this.#keys.at(row);
  }

  /** The rows with a key. */
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

  /** The columns that are at hand, of some rows. */
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
      const columns = project(batch, atHand);
      // They are put in one piece before the first of them is used.
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

/** Columns in memory of their own, so that they do not hold that of the whole batch. */
function copyOf(batch: RecordBatch): RecordBatch {
  return take(
    batch,
    Uint32Array.from({ length: batch.numRows }, (_, row) => row),
  );
}
