import type { RecordBatch, Schema } from 'apache-arrow';
import { take } from '../../arrow/select.ts';
import { CatalogError } from '../../protocol/errors.ts';
import type { ColumnPath } from '../request/column-path.ts';
import type { Place } from '../query/scan/place.ts';
import { GrowingWords, NONE } from './key-index.ts';
import { conditionColumns, rowsMeeting, type MergeCondition } from './merge-condition.ts';
import { KeyWriter } from './key-writer.ts';
import { describeKey, keyColumns } from './merge-key.ts';
import { WORK_OF_ROW, type MergeSource } from './merge-source.ts';

/** Effects of a merge on one batch of the table. */
export interface MatchedBatch {
  readonly place: Place;
  /** Keys of source rows that match a target row, once per target row. */
  readonly keys: Uint32Array;
  /** Updated rows, ascending, and the source row of each. */
  readonly updated: Uint32Array;
  readonly sources: Uint32Array;
  /** Deleted rows, ascending. */
  readonly removed: Uint32Array;
}

/** A merge bound to a table. */
export interface MergePlan {
  readonly table: Schema;
  readonly key: readonly ColumnPath[];
  readonly update: boolean;
  readonly updateIf: MergeCondition | null;
  readonly insert: boolean;
  readonly remove: boolean;
  readonly removeIf: MergeCondition | null;
}

/** Number of pairs that are evaluated at once. */
const PAIRS = 65_536;

/** Columns of the table that matching reads. */
export function matchNames({ key, updateIf, removeIf }: MergePlan): readonly string[] {
  const conditions = [updateIf, removeIf].filter((condition) => condition !== null);
  return [
    ...key.map(({ column }) => column),
    ...conditions.flatMap((condition) => conditionColumns(condition, 'target')),
  ];
}

/**
 * Matches the rows of one batch.
 * @throws CatalogError InvalidInput if several source rows would update the same row.
 */
export async function matchBatch(
  plan: MergePlan,
  source: MergeSource,
  place: Place,
  batch: RecordBatch,
): Promise<MatchedBatch> {
  const { budget, charge } = source.memory;
  const columns = keyColumns(plan.key, batch);
  const writer = new KeyWriter(columns);
  const mayHave = source.mayHave(columns);
  const keys = new GrowingWords(charge);
  const missing = new GrowingWords(charge);
  const pairs = new Pairs(plan, source, batch);
  /** Looks up keys until there are enough pairs. Returns the next row. */
  const stretch = (from: number): number => {
    for (let row = from; row < batch.numRows; row++) {
      budget.work(WORK_OF_ROW);
      const key = mayHave(row) && writer.write(row) ? source.find(writer) : NONE;
      if (key === NONE) {
        if (plan.remove) missing.push(row);
        continue;
      }
      keys.push(key);
      if (plan.update) pairs.add(row, key);
      if (pairs.full) return row + 1;
    }
    return batch.numRows;
  };
  for (let row = 0; row < batch.numRows;) {
    row = budget.run(() => stretch(row));
    if (pairs.full) await pairs.judge();
  }
  const { rows, sources } = await pairs.finish();
  const removed = await removedRows(plan, batch, missing.view());
  return { place, keys: keys.view().slice(), updated: rows, sources, removed };
}

async function removedRows(
  { removeIf }: MergePlan,
  batch: RecordBatch,
  missing: Uint32Array,
): Promise<Uint32Array> {
  if (removeIf === null || missing.length === 0) return missing.slice();
  const met = await rowsMeeting(removeIf, take(batch, missing));
  return met.map((at) => missing[at]!);
}

/** Pairs of target and source rows that match and pass the condition. */
class Pairs {
  readonly #plan: MergePlan;
  readonly #source: MergeSource;
  readonly #batch: RecordBatch;
  readonly #rows: GrowingWords;
  readonly #sources: GrowingWords;
  readonly #openRows: GrowingWords;
  readonly #openSources: GrowingWords;

  constructor(plan: MergePlan, source: MergeSource, batch: RecordBatch) {
    this.#plan = plan;
    this.#source = source;
    this.#batch = batch;
    const { charge } = source.memory;
    this.#rows = new GrowingWords(charge);
    this.#sources = new GrowingWords(charge);
    this.#openRows = new GrowingWords(charge);
    this.#openSources = new GrowingWords(charge);
  }

  add(row: number, key: number): void {
    if (this.#plan.updateIf === null) {
      if (this.#source.isShared(key)) this.#refuse(row);
      this.#keep(row, this.#source.firstOf(key));
      return;
    }
    for (const source of this.#source.rowsOf(key)) {
      this.#source.memory.budget.work(WORK_OF_ROW);
      this.#openRows.push(row);
      this.#openSources.push(source);
    }
  }

  /** Whether there are enough pairs to evaluate. */
  get full(): boolean {
    return this.#openRows.length >= PAIRS;
  }

  async finish(): Promise<{ readonly rows: Uint32Array; readonly sources: Uint32Array }> {
    await this.judge();
    return { rows: this.#rows.view().slice(), sources: this.#sources.view().slice() };
  }

  /** Evaluates pending pairs and keeps those that pass. */
  async judge(): Promise<void> {
    const condition: MergeCondition | null = this.#plan.updateIf;
    if (condition === null || this.#openRows.length === 0) return;
    const [allRows, allSources] = [this.#openRows.view(), this.#openSources.view()];
    for (let from = 0; from < allRows.length; from += PAIRS) {
      await this.#judgeSome(
        condition,
        allRows.subarray(from, from + PAIRS),
        allSources.subarray(from, from + PAIRS),
      );
    }
    this.#openRows.clear();
    this.#openSources.clear();
  }

  async #judgeSome(
    condition: MergeCondition,
    rows: Uint32Array,
    sources: Uint32Array,
  ): Promise<void> {
    const reads = conditionColumns(condition, 'source').length > 0;
    const sent = reads ? this.#source.take(sources) : undefined;
    for (const at of await rowsMeeting(condition, take(this.#batch, rows), sent)) {
      this.#keep(rows[at]!, sources[at]!);
    }
  }

  #keep(row: number, source: number): void {
    const count = this.#rows.length;
    if (count > 0 && this.#rows.at(count - 1) === row) this.#refuse(row);
    this.#rows.push(row);
    this.#sources.push(source);
  }

  #refuse(row: number): never {
    const key = describeKey(this.#plan.key, this.#batch, row);
    throw new CatalogError(
      'InvalidInput',
      `several of the rows sent have ${key} and match the same row`,
    );
  }
}
