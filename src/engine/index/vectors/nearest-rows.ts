/** The rows that a search keeps: the nearest first, of equals the one that lies first in the table. */
export interface FoundRows {
  /** Positions of the rows in the table. */
  readonly positions: Float64Array;
  readonly distances: Float32Array;
}

/** Which distances count: from the lower bound on, below the upper. Null for no bound. */
export interface DistanceBounds {
  readonly lower: number | null;
  readonly upper: number | null;
}

/** Memory of a row that is kept: its distance, its position, and its place once they are in order. */
const KEPT_BYTES = 24;

/**
 * Collects the nearest rows of a scan in memory that is bounded by how many are
 * wanted: a heap whose root is the farthest. Rows are offered in the order of
 * the table, so one that is as far as the root never takes its place.
 */
export class NearestRows {
  readonly #capacity: number;
  readonly #lower: number;
  readonly #upper: number | null;
  #distances = new Float32Array(64);
  #positions = new Float64Array(64);
  #size = 0;
  readonly #charge: (bytes: number) => void;

  /** @param charge Is told of memory before it is taken, in bytes. */
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

  /** How many rows are kept. */
  get size(): number {
    return this.#size;
  }

  /** Distances that are not below it are not kept any more. */
  get limit(): number {
    const upper = this.#upper ?? Infinity;
    return this.#size < this.#capacity ? upper : Math.min(upper, this.#distances[0] ?? -Infinity);
  }

  /**
   * Offers the next rows of the table.
   * @param distances NaN for a row that has none: it is never kept.
   * @param rows Where the rows lie behind `first`; null when they follow each other.
   * @param first Position in the table of row 0.
   */
  offer(distances: Float32Array, rows: Uint32Array | null, first: number): void {
    for (let at = 0; at < distances.length; at++) {
      this.#offer(distances[at]!, first + (rows === null ? at : rows[at]!));
    }
  }

  /** What was kept. Nothing can be offered afterwards. */
  found(): FoundRows {
    const order = Uint32Array.from({ length: this.#size }, (_, at) => at);
    order.sort((left, right) => (this.#farther(left, right) ? 1 : -1));
    return {
      positions: Float64Array.from(order, (at) => this.#positions[at]!),
      distances: Float32Array.from(order, (at) => this.#distances[at]!),
    };
  }

  #offer(distance: number, position: number): void {
    if (!(distance >= this.#lower)) return;
    if (this.#upper !== null && distance >= this.#upper) return;
    if (this.#size < this.#capacity) this.#add(distance, position);
    else if (distance < this.#distances[0]!) this.#replace(distance, position);
  }

  #add(distance: number, position: number): void {
    if (this.#size === this.#distances.length) this.#grow();
    this.#put(this.#size++, distance, position);
    // A heap is needed only once there is something to push out.
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
