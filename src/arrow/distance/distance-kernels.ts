import { readFileSync } from 'node:fs';
import type { Metric } from './distance.ts';

/** Addresses, numbers of rows and of dimensions, address of the results; then limit, error bound and query length. 0 means no list. */
type Kernel = (
  query: number,
  at: number,
  list: number,
  rows: number,
  size: number,
  out: number,
  limit: number,
  error: number,
  length: number,
) => number;

/** The exports of `kernels/distance.ts`. */
type Kernels = Readonly<Record<Metric, Kernel>> & {
  readonly memory: { readonly buffer: ArrayBuffer };
};

/** The used part of the WebAssembly JavaScript Interface (sections 5.1 and 5.2), for which Node has no types. */
declare const WebAssembly: {
  readonly Module: new (bytes: Uint8Array) => object;
  readonly Instance: new (module: object) => { readonly exports: Kernels };
};

// How the memory is used, in bytes: first the query, then the places found, the places to look at, the rows.
const QUERY_BYTES = 2 ** 16;
const PLACE_BYTES = 2 ** 16;
/** Rows are copied in portions that fit into the processor cache. */
const ROW_BYTES = 2 ** 18;
const PLACES = QUERY_BYTES;
const LIST = PLACES + PLACE_BYTES;
const ROWS = LIST + PLACE_BYTES;

/** Half the distance between 1 and the next float of 32 bits: the error of one step. */
const STEP_ERROR = 2 ** -24;

/**
 * The kernels in WebAssembly that tell which vectors may be near another, and
 * the memory that they work in. Rows are copied there: to have all columns there
 * would save a third of the time, but such memory never shrinks, and none of it
 * could be given up while somebody might look at it.
 */
export class DistanceKernels {
  readonly #kernels: Kernels;
  readonly #query: Float32Array;
  readonly #places: Uint32Array;
  readonly #list: Uint32Array;
  readonly #rows: Float32Array;

  private constructor(kernels: Kernels) {
    const { buffer } = kernels.memory;
    this.#kernels = kernels;
    this.#query = new Float32Array(buffer, 0, QUERY_BYTES / 4);
    this.#places = new Uint32Array(buffer, PLACES, PLACE_BYTES / 4);
    this.#list = new Uint32Array(buffer, LIST, PLACE_BYTES / 4);
    this.#rows = new Float32Array(buffer, ROWS, ROW_BYTES / 4);
  }

  /** The kernels as the build compiled them; null before a build, and where the processor lacks the instructions. */
  static open(): DistanceKernels | null {
    try {
      const bytes = readFileSync(new URL('../../../dist/kernels/distance.wasm', import.meta.url));
      return new DistanceKernels(new WebAssembly.Instance(new WebAssembly.Module(bytes)).exports);
    } catch {
      return null;
    }
  }

  /** Whether vectors of this dimension fit. */
  fits(size: number): boolean {
    return size > 0 && size <= this.#query.length;
  }

  /** Number of rows of a dimension that can be copied at once. */
  rowsAtOnce(size: number): number {
    return Math.min(this.#places.length, Math.floor(this.#rows.length / size));
  }

  /** Brings values; the first row that is brought begins at 0. */
  bring(values: Float32Array, at = 0): void {
    this.#rows.set(values, at);
  }

  /** Says which of the rows brought are to be looked at: the first of them lies at 0. */
  choose(rows: Uint32Array, first: number): void {
    for (let at = 0; at < rows.length; at++) this.#list[at] = rows[at]! - first;
  }

  /**
   * Begins a search. The returned function takes a number of rows, loaded or chosen before, and a
   * limit. It returns the positions, ascending, of the rows whose distance to the query may be below
   * the limit. The result is valid until the next call, the function until the next search begins.
   */
  search(
    metric: Metric,
    query: Float32Array,
  ): (rows: number, chosen: boolean, limit: number) => Uint32Array {
    const { length: size } = query;
    this.#query.set(query);
    const kernel = this.#kernels[metric];
    const error = STEP_ERROR * (size / 16 + 16);
    const length = Math.sqrt(query.reduce((sum, value) => sum + value * value, 0));
    return (rows, chosen, limit) => {
      // The distance that counts is rounded to 32 bits.
      const beyond = limit + Math.abs(limit) * 4 * STEP_ERROR + 1e-38;
      const list = chosen ? LIST : 0;
      const found = kernel(0, ROWS, list, rows, size, PLACES, beyond, error, length);
      return this.#places.subarray(0, found);
    };
  }
}
