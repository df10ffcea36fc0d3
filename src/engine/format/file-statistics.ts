import { mergeExtremes, type Extremes } from '../../arrow/extremes.ts';
import type { DataFile } from './snapshot.ts';
import { StatisticsCursor } from './statistics-bytes.ts';
import { pairs } from '../base/items.ts';

/** Consecutive batches of a data file. */
export interface FileZone {
  readonly firstBatch: number;
  readonly batches: number;
  readonly firstRow: number;
  readonly rows: number;
}

interface ColumnStatistics {
  readonly whole: Extremes;
  /** One entry per zone of the file; empty if the file has one zone. */
  readonly zones: readonly Extremes[];
}

/** Statistics of a data file's values. Each column is decoded when it is first requested. */
export class FileStatistics {
  readonly batches: number;
  /** In order; empty if there are no statistics of parts of the file. */
  readonly zones: readonly FileZone[];
  readonly #bytes: Uint8Array;
  readonly #rows: number;
  /** Offsets of the columns. */
  readonly #starts: readonly number[];
  readonly #columns = new Map<number, ColumnStatistics | undefined>();

  /** @param rows How many rows the file has. */
  constructor(bytes: Uint8Array, rows: number) {
    const cursor = new StatisticsCursor(bytes);
    this.#bytes = bytes;
    this.#rows = rows;
    this.batches = cursor.count();
    this.zones = readZones(cursor, cursor.count());
    this.#starts = readStarts(cursor, cursor.count());
  }

  /** Statistics of a whole column by its position in the file; undefined if there are none. */
  whole(column: number): Extremes | undefined {
    return this.#column(column)?.whole;
  }

  /** Statistics of some batches; they may include other batches of the same zones. */
  part(column: number, firstBatch: number, batches: number): Extremes | undefined {
    const cached = this.#column(column);
    if (cached === undefined || cached.zones.length === 0) return cached?.whole;
    const end = firstBatch + batches;
    const inside = pairs(cached.zones, this.zones)
      .filter(([, zone]) => zone.firstBatch < end && firstBatch < zone.firstBatch + zone.batches)
      .map(([extremes]) => extremes);
    return inside.length === 0 ? cached.whole : inside.reduce(mergeExtremes);
  }

  #column(column: number): ColumnStatistics | undefined {
    if (!this.#columns.has(column)) this.#columns.set(column, this.#read(column));
    return this.#columns.get(column);
  }

  #read(column: number): ColumnStatistics | undefined {
    const start = this.#starts[column];
    if (start === undefined || start < 0) return undefined;
    const cursor = new StatisticsCursor(this.#bytes, start);
    const whole = cursor.extremes(this.#rows);
    return { whole, zones: this.zones.map(({ rows }) => cursor.extremes(rows)) };
  }
}

function readZones(cursor: StatisticsCursor, count: number): readonly FileZone[] {
  const zones: FileZone[] = [];
  let [firstBatch, firstRow] = [0, 0];
  for (let at = 0; at < count; at++) {
    const [batches, rows] = [cursor.count(), cursor.count()];
    zones.push({ firstBatch, batches, firstRow, rows });
    firstBatch += batches;
    firstRow += rows;
  }
  return zones;
}

/** The offset of each column; -1 for a column without statistics. */
function readStarts(cursor: StatisticsCursor, count: number): readonly number[] {
  return Array.from({ length: count }, () => {
    const start = cursor.position + 4;
    return cursor.skip() === 0 ? -1 : start;
  });
}

const cache = new WeakMap<Uint8Array, FileStatistics>();

/**
 * The statistics of a data file; undefined if it was written without any.
 * @param rows How many rows the file has.
 */
export function statisticsOf({ statistics }: DataFile, rows: number): FileStatistics | undefined {
  if (statistics === undefined) return undefined;
  const found = cache.get(statistics) ?? new FileStatistics(statistics, rows);
  cache.set(statistics, found);
  return found;
}
