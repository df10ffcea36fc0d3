/**
 * Keeps the most recently used values, at most as many as its limit. There are two halves: a used value
 * moves to the newer one, and when that is full the older one is dropped. So the most frequent case, another
 * hit in the newer half, changes nothing.
 */
export class BoundedCache<Key, Value> {
  #newer = new Map<Key, Value>();
  #older = new Map<Key, Value>();
  readonly #half: number;

  constructor(limit: number) {
    this.#half = Math.ceil(limit / 2);
  }

  /** The value of a key, if it is there. */
  find(key: Key): Value | undefined {
    const cached = this.#newer.get(key);
    if (cached !== undefined || this.#older.size === 0) return cached;
    const before = this.#older.get(key);
    if (before !== undefined) this.keep(key, before);
    return before;
  }

  keep(key: Key, value: Value): void {
    if (this.#newer.size >= this.#half && !this.#newer.has(key)) {
      this.#older = this.#newer;
      this.#newer = new Map();
    }
    this.#newer.set(key, value);
  }

  /** The value of a key, made if it is not there. */
  get(key: Key, make: () => Value): Value {
    const cached = this.find(key);
    if (cached !== undefined) return cached;
    const value = make();
    this.keep(key, value);
    return value;
  }
}
