import type { DataType } from 'apache-arrow';
import { hasBounds, type Extremes } from '../../../arrow/extremes.ts';
import type { RangeOf } from '../../../sql/possible.ts';
import { anyValue, onlyNull, type ValueRange } from '../../../sql/compare/value-range.ts';
import { statisticsOf, type FileStatistics, type FileZone } from '../../format/file-statistics.ts';
import type { Fragment, Snapshot } from '../../format/snapshot.ts';
import { ROW_ID, ROW_OFFSET } from '../../request/computed-columns.ts';

/** A fragment, and the number of rows of the table before it. */
interface PlacedFragment {
  readonly fragment: Fragment;
  readonly offset: number;
}

/** Ranges of a fragment's values that are known without reading rows. Deleted rows count. */
export class FragmentRanges {
  readonly #snapshot: Snapshot;
  readonly #fragment: Fragment;
  readonly #offset: number;

  constructor(snapshot: Snapshot, { fragment, offset }: PlacedFragment) {
    this.#snapshot = snapshot;
    this.#fragment = fragment;
    this.#offset = offset;
  }

  /**
   * Zones whose statistics of some columns are narrower than those of the whole fragment, in order.
   */
  zonesOf(columns: readonly string[]): readonly FileZone[] {
    const files = new Set(columns.map((name) => this.#placeOf(name).file));
    const zones = [...files, 0].map((file) => this.#statistics(file)?.zones ?? []);
    return zones.reduce((most, each) => (each.length > most.length ? each : most));
  }

  /** Ranges of the columns in all rows or in a zone. */
  rangeOf(zone?: FileZone): RangeOf {
    return (name) => {
      const at = this.#snapshot.schema.fields.findIndex((field) => field.name === name);
      const field = this.#snapshot.schema.fields[at];
      if (field !== undefined) return this.#stored(name, field.type, zone);
      if (name === ROW_ID.name) return this.#rowIds(zone);
      return name === ROW_OFFSET.name ? this.#offsets(zone) : anyValue;
    };
  }

  #stored(name: string, type: DataType, zone: FileZone | undefined): ValueRange {
    const { file, at } = this.#placeOf(name);
    if (file < 0) return onlyNull;
    return extremesRange(this.#extremes(file, at, zone), type);
  }

  #rowIds(zone: FileZone | undefined): ValueRange {
    const { firstRowId, physicalRows, storedRowIds, files } = this.#fragment;
    if (!storedRowIds) {
      const first = firstRowId + BigInt(zone?.firstRow ?? 0);
      return between(first, first + BigInt(zone?.rows ?? physicalRows) - 1n);
    }
    const at = files[0]?.fields.length ?? 0;
    return extremesRange(this.#extremes(0, at, zone), ROW_ID.type);
  }

  /** Offsets shift by the deleted rows before them, whose positions are unknown here. */
  #offsets(zone: FileZone | undefined): ValueRange {
    const { physicalRows, rows } = this.#fragment;
    const first = Math.max(0, (zone?.firstRow ?? 0) - (physicalRows - rows));
    const end = Math.min(rows, zone === undefined ? rows : zone.firstRow + zone.rows);
    return between(BigInt(this.#offset + first), BigInt(this.#offset + end) - 1n);
  }

  #extremes(file: number, at: number, zone: FileZone | undefined): Extremes | undefined {
    const statistics = this.#statistics(file);
    if (zone === undefined) return statistics?.whole(at);
    return statistics?.part(at, zone.firstBatch, zone.batches);
  }

  #statistics(file: number): FileStatistics | undefined {
    const found = this.#fragment.files[file];
    return found && statisticsOf(found, this.#fragment.physicalRows);
  }

  #placeOf(name: string): { readonly file: number; readonly at: number } {
    const { schema, fieldIds } = this.#snapshot;
    const id = fieldIds[schema.fields.findIndex((field) => field.name === name)];
    const { files } = this.#fragment;
    const file = id === undefined ? -1 : files.findIndex(({ fields }) => fields.includes(id));
    return { file, at: id === undefined ? -1 : (files[file]?.fields.indexOf(id) ?? -1) };
  }
}

function between(least: bigint, greatest: bigint): ValueRange {
  return { null: false, nan: false, values: least > greatest ? 'none' : { least, greatest } };
}

/** Extremes of a column as a range; of types without an order only nulls are known. */
export function extremesRange(extremes: Extremes | undefined, type: DataType): ValueRange {
  if (extremes === undefined) return anyValue;
  const { rows, nulls, nan, bounds } = extremes;
  const hasNull = nulls > 0;
  if (nulls >= rows) return { null: hasNull, nan: false, values: 'none' };
  if (!hasBounds(type)) return { null: hasNull, nan: true, values: 'any' };
  return { null: hasNull, nan, values: bounds ?? 'none' };
}
