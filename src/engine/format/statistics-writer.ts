import type { RecordBatch, Schema } from 'apache-arrow';
import { extremesOf, mergeExtremes, type Extremes } from '../../arrow/extremes.ts';
import { StatisticsBytes } from './statistics-bytes.ts';

/** Number of columns with statistics: the first ones of the file. */
const MAX_COLUMNS = 128;
/** Most zones of a file, and most values in all of its zones. */
const MAX_ZONES = 64;
const MAX_CELLS = 4096;

/** Consecutive batches of a file. */
interface Zone {
  readonly batches: number;
  readonly rows: number;
  /** For each column; undefined without statistics. */
  readonly columns: readonly (Extremes | undefined)[];
}

/**
 * Computes statistics of a data file while it is written: for each column the number of nulls and
 * the least and greatest value, of the whole file and of each zone. A zone is one batch; in files
 * of many batches it is 2, 4, … batches, so that statistics stay small beside the rest of the
 * manifest.
 */
export class StatisticsWriter {
  readonly #columns: number;
  readonly #maxZones: number;
  /** Number of batches per zone; the last zone may have fewer. */
  #size = 1;
  #zones: Zone[] = [];

  constructor(schema: Schema) {
    this.#columns = Math.min(schema.fields.length, MAX_COLUMNS);
    const fitting = Math.floor(MAX_CELLS / Math.max(1, this.#columns));
    this.#maxZones = Math.min(MAX_ZONES, fitting);
  }

  /** Adds the next batch of the file. */
  add(batch: RecordBatch): void {
    const columns = batch.data.children.slice(0, this.#columns).map(extremesOf);
    const zone = { batches: 1, rows: batch.numRows, columns };
    const last = this.#zones.at(-1);
    if (last !== undefined && last.batches < this.#size) {
      this.#zones[this.#zones.length - 1] = merged(last, zone);
      return;
    }
    if (this.#zones.length === this.#maxZones) this.#halve();
    this.#zones.push(zone);
  }

  /** The statistics in the format of `FileStatistics`; undefined for a file without batches. */
  finish(): Uint8Array | undefined {
    const [first, ...rest] = this.#zones;
    if (first === undefined) return undefined;
    const whole = rest.reduce(merged, first);
    const zones = rest.length === 0 ? [] : this.#zones;
    const bytes = new StatisticsBytes();
    bytes.putCount(whole.batches);
    bytes.putCount(zones.length);
    for (const { batches, rows } of zones) {
      bytes.putCount(batches);
      bytes.putCount(rows);
    }
    bytes.putCount(this.#columns);
    for (const [column, extremes] of whole.columns.entries()) {
      bytes.putSized(() => {
        if (extremes === undefined) return;
        bytes.putExtremes(extremes);
        for (const zone of zones) bytes.putExtremes(zone.columns[column] ?? extremes);
      });
    }
    return bytes.finish();
  }

  #halve(): void {
    this.#size *= 2;
    const halves: Zone[] = [];
    for (const [at, left] of this.#zones.entries()) {
      if (at % 2 === 1) continue;
      const right = this.#zones[at + 1];
      halves.push(right === undefined ? left : merged(left, right));
    }
    this.#zones = halves;
  }
}

function merged(left: Zone, right: Zone): Zone {
  return {
    batches: left.batches + right.batches,
    rows: left.rows + right.rows,
    columns: left.columns.map((one, column) => {
      const other = right.columns[column];
      return one === undefined || other === undefined ? undefined : mergeExtremes(one, other);
    }),
  };
}
