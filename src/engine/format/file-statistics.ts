import { mergeExtremes, type Extremes } from '../../arrow/extremes.ts';
import type { DataFile } from './snapshot.ts';
import { StatisticsCursor } from './statistics-bytes.ts';

/** Some batches of a data file that follow each other. */
export interface FileZone {
  readonly firstBatch: number;
  readonly batches: number;
  readonly firstRow: number;
  readonly rows: number;
}

/** What is known of one column. */
interface ColumnStatistics {
  readonly whole: Extremes;
  /** As many as the file has zones; none when the file is one. */
  readonly zones: readonly Extremes[];
}

/** What is known of a data file's values. A column is read when it is asked for. */
export class FileStatistics {
  /** How many batches the file has. */
  readonly batches: number;
  /** In order; empty when nothing is known of parts of the file. */
  readonly zones: readonly FileZone[];
  readonly #bytes: Uint8Array;
  readonly #rows: number;
  /** Where the columns begin. */
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

  /** What is known of a column, by its place in the file; undefined when nothing is. */
  whole(column: number): Extremes | undefined {
    return this.#column(column)?.whole;
  }

  /** The same of some batches, and of those that share a zone with them. */
  part(column: number, firstBatch: number, batches: number): Extremes | undefined {
    const known = this.#column(column);
    if (known === undefined || known.zones.length === 0) return known?.whole;
    const inside = known.zones.filter((_, at) => {
      const zone = this.zones[at]!;
      return zone.firstBatch < firstBatch + batches && firstBatch < zone.firstBatch + zone.batches;
    });
    return inside.length === 0 ? known.whole : inside.reduce(mergeExtremes);
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

/** The place of each column; -1 of one of which nothing is known. */
function readStarts(cursor: StatisticsCursor, count: number): readonly number[] {
  return Array.from({ length: count }, () => {
    const start = cursor.position + 4;
    return cursor.skip() === 0 ? -1 : start;
  });
}

const known = new WeakMap<Uint8Array, FileStatistics>();

/**
 * What is known of a data file; undefined for one that was written without.
 * @param rows How many rows the file has.
 */
export function statisticsOf({ statistics }: DataFile, rows: number): FileStatistics | undefined {
  if (statistics === undefined) return undefined;
  const found = known.get(statistics) ?? new FileStatistics(statistics, rows);
  known.set(statistics, found);
  return found;
}
