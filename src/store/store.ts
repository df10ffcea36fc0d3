/** A length that no value has: the key was removed. */
const REMOVED = 0xffffffff;
const LENGTH_BYTES = 4;

/**
 * The writes of a change as bytes: for each, the length of its key and of its
 * value (32 bits each, big endian; all ones for a removal), then both.
 */
export function encodeWrites(writes: readonly Write[]): Buffer {
  return Buffer.concat(writes.flatMap(({ key, value }) => encodeWrite(Buffer.from(key), value)));
}

function encodeWrite(key: Buffer, value: Uint8Array | null): Uint8Array[] {
  const lengths = Buffer.alloc(2 * LENGTH_BYTES);
  lengths.writeUInt32BE(key.length);
  lengths.writeUInt32BE(value === null ? REMOVED : value.byteLength, LENGTH_BYTES);
  return value === null ? [lengths, key] : [lengths, key, value];
}

/** The writes that were encoded. Values share the memory of the bytes. */
export function decodeWrites(bytes: Buffer): readonly Write[] {
  const writes: Write[] = [];
  for (let at = 0; at < bytes.length;) {
    const keyStart = at + 2 * LENGTH_BYTES;
    const valueStart = keyStart + bytes.readUInt32BE(at);
    const length = bytes.readUInt32BE(at + LENGTH_BYTES);
    const valueEnd = valueStart + (length === REMOVED ? 0 : length);
    const key = bytes.toString('utf8', keyStart, valueStart);
    writes.push({ key, value: length === REMOVED ? null : bytes.subarray(valueStart, valueEnd) });
    at = valueEnd;
  }
  return writes;
}

/** A key and its value. Keys are ordered by their UTF-8 bytes. */
export interface StoreEntry {
  readonly key: string;
  readonly value: Uint8Array;
}

/** Something that must still hold when a commit is applied. */
export type Check =
  /** The key has exactly this value, or is absent when the value is null. */
  | { readonly kind: 'value'; readonly key: string; readonly value: Uint8Array | null }
  /** As many keys lie in `[start, end)` as were counted before. */
  | {
      readonly kind: 'count';
      readonly start: string;
      readonly end: string;
      readonly count: number;
    }
  /** The store has not gone back: the number of its last change is no lower. */
  | { readonly kind: 'sequence'; readonly atLeast: bigint };

/** Something that was read: what a key has, or how many there are. */
export type ReadCheck = Exclude<Check, { readonly kind: 'sequence' }>;

/** A key set to a value, or removed when the value is null. */
export interface Write {
  readonly key: string;
  readonly value: Uint8Array | null;
}

/** A range of keys: from `start` (included) up to `end` (excluded). */
export interface KeyRange {
  readonly start: string;
  readonly end: string;
  /** At most so many entries. */
  readonly limit: number;
  /** From the end backwards. */
  readonly reverse?: boolean;
  /** The values are not asked for, and may be empty: some stores then answer with less work. */
  readonly keysOnly?: boolean;
}

/** One applied commit, in the order in which they took effect. */
export interface StoreChange {
  readonly sequence: bigint;
  readonly writes: readonly Write[];
}

/** What became of a commit. "Unknown" is an outcome: the caller reads back. */
export type CommitResult =
  | { readonly kind: 'committed'; readonly sequence: bigint }
  /** The check at this index of the list no longer held; nothing was written. */
  | { readonly kind: 'conflict'; readonly check: number }
  | { readonly kind: 'unknown'; readonly reason: string };

/** Something that was read, to be looked at again. */
export interface StoreWatch {
  /** Whether all of it holds still, at one moment; undefined where only a read can tell. */
  holds(): boolean | undefined | Promise<boolean>;
}

/**
 * Looks at a store that may have become another, through a view of it that works
 * meanwhile. While this throws, everything that is asked of the store throws the same.
 */
export type StoreGuard = (store: Store) => Promise<void>;

/**
 * A small ordered key-value store: the coordinator of versions and names. All
 * writes of a commit take effect or none, if every check still holds, and the
 * change gets the next sequence number. A committed change is on stable storage.
 */
export interface Store {
  get(key: string): Promise<Uint8Array | undefined>;
  /** The values of several keys, read at one moment. */
  getMany(keys: readonly string[]): Promise<readonly (Uint8Array | undefined)[]>;
  range(range: KeyRange): Promise<readonly StoreEntry[]>;
  /**
   * Keeps an eye on what was read, which costs a fraction of reading it: for a store that
   * answers without waiting. Absent, or undefined, where it cannot.
   */
  watch?(seen: readonly ReadCheck[]): StoreWatch | undefined;
  commit(checks: readonly Check[], writes: readonly Write[]): Promise<CommitResult>;
  /** Changes that are not yet forgotten, oldest first: what the catalog journal has still to write down. */
  changes(limit: number): Promise<readonly StoreChange[]>;
  /** Forgets changes that the journal holds. */
  forget(sequences: readonly bigint[]): Promise<void>;
  /** Whether it costs next to nothing to forget changes right before a commit, since both are one step. */
  readonly forgetsBeside?: boolean;
  /** The number of the last change; 0 before the first. */
  sequence(): Promise<bigint>;
  /**
   * Fills an empty store, all at once: whatever cuts it off, the store is empty or
   * has everything. Changes number on from the number given.
   * @throws StoreError occupied when the store is not empty.
   */
  restore(entries: AsyncIterable<StoreEntry>, sequence: bigint): Promise<void>;
  /**
   * Applies changes that were committed before and that the store lost, in order
   * and with their numbers; those that it has are passed over. All or none.
   * They are in the journal already, so `changes` does not tell them.
   */
  replay(changes: readonly StoreChange[]): Promise<void>;
  /**
   * Has someone look at the store before it is used: now, and again whenever it
   * may have become another, since its server was restarted or replaced or its file was.
   */
  guard(look: StoreGuard): void;
  /** Why changes that were acknowledged could be lost; undefined when they cannot. */
  weakness(): Promise<string | undefined>;
  close(): Promise<void>;
}
