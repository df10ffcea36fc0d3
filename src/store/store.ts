import type { KeyCheck } from './key-digest.ts';

/** Length that marks a removed key. */
const REMOVED = 0xffffffff;
const LENGTH_BYTES = 4;

/**
 * Encodes the writes of a change: for each the lengths of key and value (32 bits each,
 * big endian; all ones for a removal), then both.
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

/** Decodes the writes of a change. Values share the memory of the bytes. */
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

/** A condition of a commit. */
export type Check =
  /** The key has exactly this value, or is absent when the value is null. */
  | { readonly kind: 'value'; readonly key: string; readonly value: Uint8Array | null }
  /** The range `[start, end)` has this number of keys. */
  | {
      readonly kind: 'count';
      readonly start: string;
      readonly end: string;
      readonly count: number;
    }
  /** The sequence number of the last change is not lower: the store was not reset. */
  | { readonly kind: 'sequence'; readonly atLeast: bigint };

/** A value or a count that was read. */
export type ReadCheck = Exclude<Check, { readonly kind: 'sequence' }>;

/** A key set to a value, or removed when the value is null. */
export interface Write {
  readonly key: string;
  readonly value: Uint8Array | null;
}

/** A range of keys from `start` (inclusive) to `end` (exclusive). */
export interface KeyRange {
  readonly start: string;
  readonly end: string;
  /** Maximum number of entries. */
  readonly limit: number;
  /** Descending order, from the end. */
  readonly reverse?: boolean;
  /** Values are not needed and may be empty. */
  readonly keysOnly?: boolean;
}

/** An applied commit. Sequence numbers are in the order in which commits took effect. */
export interface StoreChange {
  readonly sequence: bigint;
  readonly writes: readonly Write[];
}

/** Result of a commit. If it is unknown, the caller reads back. */
export type CommitResult =
  | { readonly kind: 'committed'; readonly sequence: bigint }
  /** The check at this index failed; nothing was written. */
  | { readonly kind: 'conflict'; readonly check: number }
  | { readonly kind: 'unknown'; readonly reason: string };

/** Watches values and counts that were read. */
export interface StoreWatch {
  /** Whether all are unchanged, at one moment; undefined if only a read can tell. */
  holds(): boolean | undefined | Promise<boolean>;
}

/** Waits of this process for its turn to write to a store. */
export interface WriteWaits {
  /** Number of waits that ended without a turn. */
  readonly timeouts: number;
  /** Duration of the present wait, in ms; 0 if there is none. */
  readonly presentMillis: number;
  /** Why commits are refused now; undefined if they are not. */
  fault(): string | undefined;
}

/**
 * Checks a store that may have been replaced, through a view that works meanwhile. While
 * this throws, every operation of the store throws the same error.
 */
export type StoreGuard = (store: Store) => Promise<void>;

/**
 * A small ordered key-value store, which coordinates versions and names. The writes of a
 * commit take effect together if every check holds, and the change gets the next sequence
 * number. A committed change is on stable storage.
 */
export interface Store {
  get(key: string): Promise<Uint8Array | undefined>;
  /** The values of several keys, read at one moment. */
  getMany(keys: readonly string[]): Promise<readonly (Uint8Array | undefined)[]>;
  range(range: KeyRange): Promise<readonly StoreEntry[]>;
  /**
   * Watches what was read, at a fraction of the cost of reading it. Absent, or undefined, if
   * the store does not support it.
   */
  watch?(seen: readonly ReadCheck[]): StoreWatch | undefined;
  commit(checks: readonly Check[], writes: readonly Write[]): Promise<CommitResult>;
  /** Changes that the journal does not have yet, oldest first. */
  changes(limit: number): Promise<readonly StoreChange[]>;
  /** Removes changes that the journal has. */
  forget(sequences: readonly bigint[]): Promise<void>;
  /** Whether `forget` right before a commit is part of the same step and costs almost nothing. */
  readonly forgetsBeside?: boolean;
  /** Sequence number of the last change; 0 before the first. */
  sequence(): Promise<bigint>;
  /**
   * Milliseconds since 1970 on the clock that all processes of the store share. Absent if they
   * share the clock of their machine.
   */
  time?(): Promise<number>;
  /**
   * Fills an empty store atomically. Later changes are numbered from the given number on.
   * @throws StoreError occupied if the store is not empty.
   */
  restore(entries: AsyncIterable<StoreEntry>, sequence: bigint): Promise<void>;
  /**
   * Applies committed changes that the store has lost, in order and with their numbers,
   * atomically. Changes that it has are skipped. `changes` does not return them, because the
   * journal has them.
   */
  replay(changes: readonly StoreChange[]): Promise<void>;
  /**
   * Sets the check of the store. It runs before the next operation, and again whenever the
   * server or the file may have been replaced.
   */
  guard(look: StoreGuard): void;
  /**
   * Compares all keys with their digests, in the background. Keys that are gone are remembered:
   * reads and commits that depend on the absence of such a key fail from then on. Absent if the
   * store cannot.
   * @throws StoreError damaged, unavailable.
   */
  checkKeys?(): Promise<KeyCheck>;
  /**
   * Seals what an earlier version stored without seals, for an upgrade; nobody else uses the store.
   * Until then all of it is damaged.
   * @returns The number of values and changes that were sealed.
   */
  sealOlder?(): Promise<number>;
  /** Absent if the processes of the store do not wait for each other. */
  readonly writeWaits?: WriteWaits | undefined;
  /** Why acknowledged changes could be lost; undefined if they cannot. */
  weakness(): Promise<string | undefined>;
  close(): Promise<void>;
}
