/** The rows of a search, nearest first; equal distances in table order. */
export interface RowsByDistance {
  /** Positions of the rows in the table. */
  readonly positions: Float64Array;
  readonly distances: Float32Array;
}

/** Bounds of distances: lower inclusive, upper exclusive; null for none. */
export interface DistanceBounds {
  readonly lower: number | null;
  readonly upper: number | null;
}

/** Bytes of a kept row: distance, position, and place in the order. */
const KEPT_BYTES = 24;

/**
 * Collects the nearest rows of a scan: a heap of bounded size whose root is the farthest row. Of
 * rows equally far the first of the table are kept, in whatever order rows are offered.
 */
export class NearestRows {
  readonly #capacity: number;
  readonly #lower: number;
  readonly #upper: number | null;
  #distances = new Float32Array(64);
  #positions = new Float64Array(64);
  #size = 0;
  readonly #charge: (bytes: number) => void;

  /**
   * @param charge Called before memory is allocated, in bytes.
   * @param charge Called with the bytes of memory before they are taken.
   */
  constructor(
    capacity: number,
    bounds: DistanceBounds,
    charge: (bytes: number) => void = () => undefined,
  ) {
    this.#charge = charge;
    this.#capacity = capacity;
    this.#lower = Math.fround(bounds.lower ?? -Infinity);
    this.#upper = bounds.upper === null ? null : Math.fround(bounds.upper);
  }

  /** Number of kept rows. */
  get size(): number {
    return this.#size;
  }

  /** Distances must be below this to be kept; or equal, for a row before the farthest. */
  get limit(): number {
    const upper = this.#upper ?? Infinity;
    return this.#size < this.#capacity ? upper : Math.min(upper, this.#distances[0] ?? -Infinity);
  }

  /**
   * Offers rows of the table.
   * @param distances NaN for rows without a distance, which are never kept.
   * @param rows Positions of the rows relative to `first`; null for consecutive rows.
   * @param first Position in the table of row 0.
   */
  offer(distances: Float32Array, rows: Uint32Array | null, first: number): void {
    for (let at = 0; at < distances.length; at++) {
      this.offerRow(distances[at]!, first + (rows === null ? at : rows[at]!));
    }
  }

  /** Offers one row. @param distance A 32-bit float. */
  offerRow(distance: number, position: number): void {
    if (!(distance >= this.#lower)) return;
    if (this.#upper !== null && distance >= this.#upper) return;
    if (this.#size < this.#capacity) this.#add(distance, position);
    else if (this.#isNearer(distance, position)) this.#replace(distance, position);
  }

  /** Whether a row is nearer than the farthest kept one. */
  #isNearer(distance: number, position: number): boolean {
    const farthest = this.#distances[0]!;
    return distance < farthest || (distance === farthest && position < this.#positions[0]!);
  }

  /** Returns the kept rows. No more rows may be offered. */
  found(): RowsByDistance {
    const size = this.#size;
    const order = new Uint32Array(size);
    for (let at = 0; at < size; at++) order[at] = at;
    order.sort((left, right) => (this.#farther(left, right) ? 1 : -1));
    const [positions, distances] = [new Float64Array(size), new Float32Array(size)];
    for (let at = 0; at < size; at++) {
      positions[at] = this.#positions[order[at]!]!;
      distances[at] = this.#distances[order[at]!]!;
    }
    return { positions, distances };
  }

  #add(distance: number, position: number): void {
    if (this.#size === this.#distances.length) this.#grow();
    this.#put(this.#size++, distance, position);
    // The heap is built once it is full.
    if (this.#size === this.#capacity) this.#heapify();
  }

  #grow(): void {
    const length = Math.min(this.#capacity, this.#distances.length * 2);
    this.#charge((length - this.#distances.length) * KEPT_BYTES);
    const distances = new Float32Array(length);
    const positions = new Float64Array(length);
    distances.set(this.#distances);
    positions.set(this.#positions);
    this.#distances = distances;
    this.#positions = positions;
  }

  #heapify(): void {
    for (let at = (this.#size >> 1) - 1; at >= 0; at--) this.#sink(at);
  }

  #replace(distance: number, position: number): void {
    this.#put(0, distance, position);
    this.#sink(0);
  }

  #put(at: number, distance: number, position: number): void {
    this.#distances[at] = distance;
    this.#positions[at] = position;
  }

  #sink(start: number): void {
    let at = start;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= this.#size) return;
      if (child + 1 < this.#size && this.#farther(child + 1, child)) child++;
      if (!this.#farther(child, at)) return;
      this.#swap(at, child);
      at = child;
    }
  }

  #farther(left: number, right: number): boolean {
    const [one, other] = [this.#distances[left]!, this.#distances[right]!];
    return one === other ? this.#positions[left]! > this.#positions[right]! : one > other;
  }

  #swap(left: number, right: number): void {
    const [distance, position] = [this.#distances[left]!, this.#positions[left]!];
    this.#put(left, this.#distances[right]!, this.#positions[right]!);
    this.#put(right, distance, position);
  }
}
