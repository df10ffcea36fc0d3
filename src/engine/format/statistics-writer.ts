import type { RecordBatch, Schema } from 'apache-arrow';
import { extremesOf, mergeExtremes, type Extremes } from '../../arrow/extremes.ts';
import { StatisticsBytes } from './statistics-bytes.ts';

/** Of so many columns of a file something is known, the first ones. */
const MAX_COLUMNS = 128;
/** A file has at most so many zones, and so many values in all of them. */
const MAX_ZONES = 64;
const MAX_CELLS = 4096;

/** Some batches of a file that follow each other. */
interface Zone {
  readonly batches: number;
  readonly rows: number;
  /** For each column; undefined where nothing is known. */
  readonly columns: readonly (Extremes | undefined)[];
}

/**
 * Gathers what is known of a data file's values while it is written: for each
 * column how many nulls, and the least and the greatest value, of the whole file
 * and of its zones. A zone is one batch; in files of many batches it is two,
 * four and so on, so that what is known stays small beside the manifest's rest.
 */
export class StatisticsWriter {
  readonly #columns: number;
  readonly #maxZones: number;
  /** Zones of so many batches each, save the last. */
  #size = 1;
  #zones: Zone[] = [];

  constructor(schema: Schema) {
    this.#columns = Math.min(schema.fields.length, MAX_COLUMNS);
    const fitting = Math.floor(MAX_CELLS / Math.max(1, this.#columns));
    this.#maxZones = Math.min(MAX_ZONES, fitting);
  }

  /** Takes in the next batch of the file. */
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

  /** All of it, as `FileStatistics` reads it; undefined of no batch. */
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
        for (const zone of zones) bytes.putExtremes(zone.columns[column]!);
      });
    }
    return bytes.finish();
  }

  #halve(): void {
    this.#size *= 2;
    const halves: Zone[] = [];
    for (let at = 0; at < this.#zones.length; at += 2) {
      const [left, right] = [this.#zones[at]!, this.#zones[at + 1]];
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
