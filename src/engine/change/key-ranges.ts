import { DataType, type RecordBatch, type Data } from 'apache-arrow';
import { extremesOf, mergeExtremes, type Extremes } from '../../arrow/extremes.ts';
import { ordersOf } from '../../sql/compare/value-range.ts';
import { columnAt, type ColumnPath } from '../request/column-path.ts';
import { extremesRange } from '../index/keys/fragment-ranges.ts';
import { filesWhere } from '../query/scan/pruning.ts';
import type { ScanFile } from '../query/scan/scan.ts';
import type { Snapshot } from '../format/snapshot.ts';
import { isNull, wordsOf, columnData } from '../../arrow/data.ts';

/** Whether a row of a batch may have one of some keys. */
export type MayHave = (row: number) => boolean;

const always: MayHave = () => true;

/**
 * Bounds of keys that are one integer of 64 bits. Most rows of a table are outside of them, which is
 * cheaper to check than a lookup of their keys. Keys of other kinds have no bounds.
 */
export class KeyBounds {
  readonly #comparable: boolean;
  #least: bigint | undefined;
  #greatest: bigint | undefined;

  /** @param types The types of the columns that make up a key. */
  constructor(types: readonly DataType[]) {
    const [type] = types;
    this.#comparable =
      types.length === 1 && DataType.isInt(type) && type.isSigned && type.bitWidth === 64;
  }

  /** Takes in the keys of a batch. */
  add([data]: readonly Data[]): void {
    if (!this.#comparable || data === undefined) return;
    const values: BigInt64Array = data.values;
    for (let row = 0; row < data.length; row++) {
      const value = values[row]!;
      if (
        (this.#least !== undefined && value >= this.#least && value <= this.#greatest!) ||
        isNull(data, row)
      )
        continue;
      if (this.#least === undefined || value < this.#least) this.#least = value;
      if (this.#greatest === undefined || value > this.#greatest) this.#greatest = value;
    }
  }

  /** Tells of the rows of a batch; of a row that is null it may tell anything. */
  within([data]: readonly Data[]): MayHave {
    if (!this.#comparable || data === undefined) return always;
    if (this.#least === undefined) return () => false;
    // Compared by halves: as bigints it would take many times as long.
    const [leastHigh, leastLow] = halves(this.#least);
    const [greatestHigh, greatestLow] = halves(this.#greatest!);
    const words = wordsOf(data.values);
    return (row) => {
      const high = words[2 * row + 1]! | 0;
      if (high < leastHigh || high > greatestHigh) return false;
      const low = words[2 * row]!;
      return (high > leastHigh || low >= leastLow) && (high < greatestHigh || low <= greatestLow);
    };
  }
}

/** The upper half as a number with a sign, the lower as one without. */
function halves(value: bigint): readonly [number, number] {
  return [Number(value >> 32n), Number(BigInt.asUintN(32, value))];
}

/** Between which values the keys of some rows lie. */
export class KeyRanges {
  /** Only whole columns: a table has no statistics of nested values. */
  readonly #key: readonly ColumnPath[];
  #ranges: readonly (Extremes | undefined)[] | undefined;

  constructor(key: readonly ColumnPath[]) {
    this.#key = key.filter(({ formula }) => formula === null);
  }

  /** Takes in the keys of further rows. */
  add(batch: RecordBatch): void {
    const found = this.#key.map((path) => extremesOf(columnData(columnAt(batch, path))));
    const before = this.#ranges ?? found;
    this.#ranges =
      before === found ? found : before.map((extremes, at) => merged(extremes, found[at]));
  }

  /** The files of a table, and of large ones the batches, with rows that may have one of the keys. */
  filesWithMatches(base: Snapshot, files: readonly ScanFile[]): readonly ScanFile[] {
    const cached = this.#ranges;
    if (cached === undefined) return [];
    const keys = this.#key.map(({ column, field }, at) => ({
      column,
      range: extremesRange(cached[at], field.type),
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
