interface Entry<Value> {
  readonly value: Value;
  readonly weight: number;
}

/** Keeps what was used last, up to a total weight. Values are immutable, so nothing is ever invalidated. */
export class LruCache<Value> {
  readonly #entries = new Map<string, Entry<Value>>();
  #latest: Entry<Value> | undefined;
  readonly #capacity: number;
  readonly #evicted: (value: Value) => void;
  #weight = 0;

  /**
   * @param capacity The greatest total weight that is kept, in the unit of the weights.
   * @param evicted Called with each value that leaves.
   */
  constructor(capacity: number, evicted: (value: Value) => void = () => undefined) {
    this.#capacity = capacity;
    this.#evicted = evicted;
  }

  get(key: string): Value | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    // What is asked for again and again stands at the end already.
    if (entry !== this.#latest) this.#toEnd(key, entry);
    return entry.value;
  }

  set(key: string, value: Value, weight: number): void {
    this.#remove(key);
    this.#toEnd(key, { value, weight });
    this.#weight += weight;
    for (const oldest of this.#entries.keys()) {
      if (this.#weight <= this.#capacity) break;
      this.#remove(oldest);
    }
  }

  clear(): void {
    for (const key of this.#entries.keys()) this.#remove(key);
  }

  #toEnd(key: string, entry: Entry<Value>): void {
    this.#entries.delete(key);
    this.#entries.set(key, entry);
    this.#latest = entry;
  }

  #remove(key: string): void {
    const entry = this.#entries.get(key);
    if (entry === undefined) return;
    this.#entries.delete(key);
    if (this.#latest === entry) this.#latest = undefined;
    this.#weight -= entry.weight;
    this.#evicted(entry.value);
  }
}
