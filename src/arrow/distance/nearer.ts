import type { Vector } from 'apache-arrow';
import { concatData } from '../concat.ts';
import { DistanceKernels } from './distance-kernels.ts';
import { distances, type Metric } from './distance.ts';

/** Collects the nearest vectors. */
export interface NearestSink {
  /** Distances that are not below it are of no use. */
  readonly limit: number;
  /** Takes some rows, ascending, all when null. NaN for a row that has no distance. */
  offer(distances: Float32Array, rows: Uint32Array | null): void;
}

/** The query, and the rows of a column to search; null means all. */
interface Search {
  readonly metric: Metric;
  readonly query: Float32Array;
  readonly column: Vector;
  readonly rows: Uint32Array | null;
}

/** Below one wanted row in this many, rows are copied one by one. */
const SPARSE = 20;
/** Number of rows that are offered first; it doubles until there is a limit. */
const FIRST_ROWS = 256;
const MOST_ROWS = 2 ** 14;

const kernels = DistanceKernels.open();

/**
 * Offers the rows of a vector column whose distance to `query` is below the
 * sink's limit, as `distances` has it, and may offer more.
 * @param rows The rows to look at, ascending; null for all.
 * @throws ArrowError as `distances` does.
 */
export function offerNearer(
  metric: Metric,
  query: Float32Array,
  column: Vector,
  rows: Uint32Array | null,
  sink: NearestSink,
): void {
  const search = { metric, query, column, rows };
  const values = valuesOf(column);
  const few = (rows?.length ?? column.length) <= FIRST_ROWS;
  if (few || kernels === null || values === null || !kernels.fits(query.length)) {
    sink.offer(distances(metric, query, column, rows), rows);
    return;
  }
  const start = offerWithoutLimit(search, sink);
  offerByKernel(kernels, values, search, start, sink);
}

/** The numbers of a column of vectors of 32-bit floats, in one piece; null for any other column. */
function valuesOf(column: Vector): Float32Array | null {
  const values: unknown = concatData(column.data).children[0]?.values;
  return values instanceof Float32Array ? values : null;
}

/** Offers rows until there is a limit; returns their number. */
function offerWithoutLimit({ metric, query, column, rows }: Search, sink: NearestSink): number {
  const count = rows?.length ?? column.length;
  let at = 0;
  for (let step = FIRST_ROWS; at < count && sink.limit === Infinity; step *= 2) {
    const end = Math.min(count, at + Math.min(step, MOST_ROWS));
    const some = rows === null ? range(at, end) : rows.subarray(at, end);
    sink.offer(distances(metric, query, column, some), some);
    at = end;
  }
  return at;
}

function offerByKernel(
  kernels: DistanceKernels,
  values: Float32Array,
  { metric, query, column, rows }: Search,
  start: number,
  sink: NearestSink,
): void {
  const portions = new Portions(kernels, values, query.length);
  const nearer = kernels.search(metric, query);
  const count = rows?.length ?? column.length;
  const next = portions.of(rows, count);
  for (let at = start; at < count;) {
    const portion = next(at);
    const places = nearer(portion.count, portion.chosen, sink.limit);
    const found = portion.rowsAt(places);
    if (found.length > 0) sink.offer(distances(metric, query, column, found), found);
    at = portion.end;
  }
}

/** Rows that were copied to the kernels. */
interface Portion {
  /** How many of them are to be looked at, and whether these were chosen. */
  readonly count: number;
  readonly chosen: boolean;
  /** The first of the rows to search that comes after it. */
  readonly end: number;
  /** The rows at some places of those brought. */
  rowsAt(places: Uint32Array): Uint32Array;
}

/** Copies rows to the kernels. */
class Portions {
  readonly #kernels: DistanceKernels;
  readonly #values: Float32Array;
  readonly #size: number;
  readonly #most: number;

  constructor(kernels: DistanceKernels, values: Float32Array, size: number) {
    this.#kernels = kernels;
    this.#values = values;
    this.#size = size;
    this.#most = kernels.rowsAtOnce(size);
  }

  /** Brings the next rows, from one of those to search on. */
  of(rows: Uint32Array | null, count: number): (at: number) => Portion {
    if (rows === null) return (at) => this.#stretch(at, count);
    const isSparse = count * SPARSE < rows[count - 1]! - rows[0]! + 1;
    return (at) => (isSparse ? this.#scattered(rows, at) : this.#list(rows, at));
  }

  /** The next rows of all. */
  #stretch(at: number, count: number): Portion {
    const end = Math.min(count, at + this.#most);
    this.#bring(at, end, 0);
    const rowsAt = (places: Uint32Array) => places.map((place) => at + place);
    return { count: end - at, chosen: false, end, rowsAt };
  }

  /** The next rows of a list and those between them, of which the list is chosen. */
  #list(rows: Uint32Array, at: number): Portion {
    const first = rows[at]!;
    const near = lowerBound(rows, at, first + this.#most);
    const span = rows[near - 1]! - first + 1;
    this.#bring(first, first + span, 0);
    this.#kernels.choose(rows.subarray(at, near), first);
    const rowsAt = (places: Uint32Array) => places.map((place) => first + place);
    return { count: near - at, chosen: true, end: near, rowsAt };
  }

  #scattered(rows: Uint32Array, at: number): Portion {
    const end = Math.min(rows.length, at + this.#most);
    for (let one = at; one < end; one++) this.#bring(rows[one]!, rows[one]! + 1, one - at);
    const rowsAt = (places: Uint32Array) => places.map((place) => rows[at + place]!);
    return { count: end - at, chosen: false, end, rowsAt };
  }

  #bring(from: number, to: number, place: number): void {
    const values = this.#values.subarray(from * this.#size, to * this.#size);
    this.#kernels.bring(values, place * this.#size);
  }
}

/** The first place from `start` on with a value that is not below another. */
function lowerBound(sorted: Uint32Array, start: number, value: number): number {
  let low = start;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle]! < value) low = middle + 1;
    else high = middle;
  }
  return low;
}

function range(start: number, end: number): Uint32Array {
  return Uint32Array.from({ length: end - start }, (_, at) => start + at);
}
