import type { RecordBatch } from 'apache-arrow';
import { concat, take } from '../../../arrow/select.ts';
import type { ColumnNeed } from '../../request/computed-columns.ts';
import { sortByWords } from './radix-order.ts';
import { listed } from './rows.ts';
import type { Place } from './place.ts';
import type { Scanner } from './scan.ts';
import { fragmentDataBytes, type Snapshot } from '../../format/snapshot.ts';
import { itemAt, onlyItem } from '../../base/items.ts';

/** Places of the batches of a scan, for fetching rows by position. */
export class BatchPlaces {
  readonly #places: Place[] = [];

  /** Adds the next batch of the scan. */
  add(place: Place): void {
    this.#places.push(place);
  }

  /** The index of the place that holds a position. */
  find(position: number): number {
    let low = 0;
    let high = this.#places.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.#places[middle]!.offset <= position) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  at(index: number): Place {
    return itemAt(this.#places, index);
  }

  /** The only place; undefined if there are several. */
  get only(): Place | undefined {
    return onlyItem(this.#places);
  }
}

/** Fetches rows by position, in the given order. Each batch is read once. */
export async function gather(
  scanner: Scanner,
  places: BatchPlaces,
  positions: Float64Array,
  need: ColumnNeed,
): Promise<RecordBatch> {
  const kept = keptRows(scanner, places, positions, need);
  if (kept !== undefined) return kept;
  const order = ascending(positions);
  const parts: RecordBatch[] = [];
  for (let start = 0; start < order.length;) {
    const place = places.at(places.find(positions[order[start]!]!));
    const end = endOf(place, positions, order, start);
    const rows = order.subarray(start, end).map((at) => positions[at]! - place.offset);
    parts.push(await scanner.read(place, need, listed(rows, place.rows)));
    start = end;
  }
  return take(concat(parts), inverse(order));
}

/** Rows of the only place, if their columns are kept. */
function keptRows(
  scanner: Scanner,
  { only }: BatchPlaces,
  positions: Float64Array,
  need: ColumnNeed,
): RecordBatch | undefined {
  if (only?.retained === undefined) return undefined;
  const rows = Uint32Array.from(positions, (position) => position - only.offset);
  return scanner.kept(only, need, rows);
}

/** The order that sorts positions. */
export function ascending(positions: Float64Array): Uint32Array {
  const order = Uint32Array.from(positions, (_, at) => at);
  const low = Uint32Array.from(positions);
  const high = Uint32Array.from(positions, (position) => position / 2 ** 32);
  sortByWords(order, high.some((word) => word > 0) ? high : null, low);
  return order;
}

/** The end of the sorted positions within a place. */
function endOf(place: Place, positions: Float64Array, order: Uint32Array, start: number): number {
  const behind = place.offset + place.rows;
  let end = start;
  while (end < order.length && positions[order[end]!]! < behind) end++;
  return end;
}

function inverse(order: Uint32Array): Uint32Array {
  const ranks = new Uint32Array(order.length);
  order.forEach((at, rank) => {
    ranks[at] = rank;
  });
  return ranks;
}

/** Approximate size of a portion of fetched rows. */
export const PORTION_BYTES = 16 * 2 ** 20;

/** Default limit of rows that are fetched at once. */
const PORTION_ROWS = 2 ** 16;

/** Number of rows to fetch at once, by their size. */
export function rowsAtOnce(snapshot: Snapshot, most = PORTION_ROWS): number {
  const bytes = snapshot.fragments.reduce((sum, fragment) => sum + fragmentDataBytes(fragment), 0);
  const rows = snapshot.fragments.reduce((sum, fragment) => sum + fragment.rows, 0);
  const portion = Math.floor((PORTION_BYTES * rows) / Math.max(1, bytes));
  return Math.min(Math.max(portion, 64), most);
}
