import { StorageError } from '../storage-error.ts';
import type { OpenObject } from '../storage.ts';
import type { BucketClient, BucketRange } from './bucket-client.ts';

/** Bytes that opening an object reads: small objects are read by that one request. */
const FIRST_BYTES = 64 * 1024;
/** Largest range of one request. */
const RANGE_BYTES = 8 * 2 ** 20;

/**
 * An object of a bucket as it was when it was opened. Its first bytes are in memory. If it was
 * replaced, reading the others fails with ESTALE.
 */
export class BucketObject implements OpenObject {
  readonly #client: BucketClient;
  readonly #key: string;
  readonly #found: BucketRange;
  readonly #first: Uint8Array;

  private constructor(client: BucketClient, key: string, found: BucketRange, first: Uint8Array) {
    this.#client = client;
    this.#key = key;
    this.#found = found;
    this.#first = first;
  }

  /** @param key Of the bucket. @throws StorageError ENOENT if there is no object */
  static async open(client: BucketClient, key: string): Promise<BucketObject> {
    const found = await client.first(key, FIRST_BYTES);
    if (found === undefined) throw missingObject(key);
    return new BucketObject(client, key, found, found.bytes);
  }

  size(): number {
    return this.#found.size;
  }

  plainSize(): number {
    return this.size();
  }

  async read(into: Uint8Array, position: number): Promise<number> {
    const now = this.readNow(into, position);
    if (now !== undefined) return now;
    const length = Math.min(into.byteLength, this.size() - position, RANGE_BYTES);
    const wanted = into.subarray(0, length);
    const range = await this.#client.range(this.#key, position, wanted, this.#found.tag);
    if (range !== undefined) return range.read;
    throw new StorageError('ESTALE', `the object ${this.#key} was removed while it was read`);
  }

  readNow(into: Uint8Array, position: number): number | undefined {
    const length = Math.max(0, Math.min(into.byteLength, this.size() - position));
    if (length > 0 && position + length > this.#first.byteLength) return undefined;
    into.set(this.#first.subarray(position, position + length));
    return length;
  }

  isRemoved(): boolean {
    return false;
  }

  async sync(): Promise<void> {
    // The store acknowledged the object after it was durable.
  }

  close(): void {
    // Nothing is held.
  }
}

/** The error of an object that does not exist. */
function missingObject(key: string): StorageError {
  return new StorageError('ENOENT', `there is no object ${key}`);
}
