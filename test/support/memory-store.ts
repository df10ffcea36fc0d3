import { StoreError } from '../../src/store/store-error.ts';
import type {
  StoreChange,
  Check,
  CommitResult,
  KeyRange,
  Store,
  StoreEntry,
  Write,
} from '../../src/store/store.ts';

/** A store in memory, for properties that need thousands of them. Nothing survives it. */
export class MemoryStore implements Store {
  readonly #values = new Map<string, Uint8Array>();
  #order: string[] | undefined;
  #sequence = 0n;
  readonly #changes: StoreChange[] = [];

  async get(key: string): Promise<Uint8Array | undefined> {
    return this.#values.get(key);
  }

  async getMany(keys: readonly string[]): Promise<readonly (Uint8Array | undefined)[]> {
    return keys.map((key) => this.#values.get(key));
  }

  async range(range: KeyRange): Promise<readonly StoreEntry[]> {
    const keys = this.#between(range.start, range.end);
    const ordered = range.reverse === true ? keys.toReversed() : keys;
    return ordered.slice(0, range.limit).map((key) => ({ key, value: this.#values.get(key)! }));
  }

  async commit(checks: readonly Check[], writes: readonly Write[]): Promise<CommitResult> {
    const failed = checks.findIndex((check) => !this.#holds(check));
    if (failed >= 0) return { kind: 'conflict', check: failed };
    for (const write of writes) this.#apply(write);
    this.#sequence += 1n;
    this.#changes.push({ sequence: this.#sequence, writes });
    return { kind: 'committed', sequence: this.#sequence };
  }

  async changes(limit: number): Promise<readonly StoreChange[]> {
    return this.#changes.slice(0, limit);
  }

  async forget(sequences: readonly bigint[]): Promise<void> {
    const kept = this.#changes.filter((change) => !sequences.includes(change.sequence));
    this.#changes.splice(0, this.#changes.length, ...kept);
  }

  async sequence(): Promise<bigint> {
    return this.#sequence;
  }

  async restore(entries: AsyncIterable<StoreEntry>, sequence: bigint): Promise<void> {
    const all: StoreEntry[] = [];
    for await (const entry of entries) all.push(entry);
    if (this.#values.size > 0 || this.#changes.length > 0) {
      throw new StoreError('occupied', 'the store is not empty');
    }
    for (const entry of all) this.#apply(entry);
    if (sequence > this.#sequence) this.#sequence = sequence;
  }

  async replay(changes: readonly StoreChange[]): Promise<void> {
    const last = this.#sequence;
    for (const { sequence, writes } of changes.filter((change) => change.sequence > last)) {
      for (const write of writes) this.#apply(write);
      if (sequence > this.#sequence) this.#sequence = sequence;
    }
  }

  /** It never becomes another, so nobody has to look. */
  guard(): void {}

  async weakness(): Promise<undefined> {}

  async close(): Promise<void> {}

  /** Everything that is stored, to see that nothing changed. */
  contents(): ReadonlyMap<string, string> {
    return new Map(
      this.#keys().map((key) => [key, Buffer.from(this.#values.get(key)!).toString()]),
    );
  }

  #holds(check: Check): boolean {
    if (check.kind === 'sequence') return this.#sequence >= check.atLeast;
    if (check.kind === 'count') return this.#between(check.start, check.end).length === check.count;
    const value = this.#values.get(check.key);
    if (value === undefined || check.value === null)
      return value === undefined && check.value === null;
    return Buffer.from(value).equals(check.value);
  }

  #apply({ key, value }: Write): void {
    if (value === null ? this.#values.delete(key) : !this.#values.has(key)) this.#order = undefined;
    if (value !== null) this.#values.set(key, value);
  }

  #between(start: string, end: string): readonly string[] {
    const keys = this.#keys();
    return keys.slice(place(keys, start), place(keys, end));
  }

  #keys(): readonly string[] {
    this.#order ??= [...this.#values.keys()].toSorted(byBytes);
    return this.#order;
  }
}

/** Where a key stands or would stand. */
function place(keys: readonly string[], key: string): number {
  let low = 0;
  let high = keys.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (byBytes(keys[middle]!, key) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
}

function byBytes(left: string, right: string): number {
  return Buffer.compare(Buffer.from(left), Buffer.from(right));
}
