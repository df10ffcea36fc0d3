import { randomUUID } from 'node:crypto';
import { StorageError } from '../storage-error.ts';
import type { NewObject } from '../storage.ts';
import type { BucketClient } from './bucket-client.ts';
import type { UploadedPart } from './bucket-place.ts';

/** Sizes of the parts of an upload, in bytes. */
export interface PartSizes {
  /** Of the first thousand parts. */
  readonly first: number;
  /** Of all others: an upload has ten thousand parts at most. */
  readonly later: number;
}

export const partSizes: PartSizes = { first: 8 * 2 ** 20, later: 64 * 2 ** 20 };

const FIRST_PARTS = 1000;
/** Parts of one object that are uploaded at the same time; their bytes are in memory. */
const AT_ONCE = 4;

/**
 * A new object of a bucket. A small one is written by one request at its end, a larger one in parts
 * while it is made.
 */
export class BucketUpload implements NewObject {
  readonly #client: BucketClient;
  readonly #key: string;
  readonly #sizes: PartSizes;
  readonly #mark = randomUUID();
  readonly #parts: Promise<UploadedPart>[] = [];
  #pieces: Uint8Array[] = [];
  #held = 0;
  #upload: string | undefined;
  #isComplete = false;

  /** @param key Of the bucket. */
  constructor(client: BucketClient, key: string, sizes: PartSizes = partSizes) {
    this.#client = client;
    this.#key = key;
    this.#sizes = sizes;
  }

  async write(pieces: readonly Uint8Array[]): Promise<void> {
    for (const piece of pieces) {
      this.#pieces.push(Buffer.from(piece));
      this.#held += piece.byteLength;
    }
    while (this.#held > this.#partBytes()) await this.#send(this.#partBytes());
  }

  async end(): Promise<void> {
    if (this.#isComplete) return;
    if (this.#upload === undefined) {
      const placed = await this.#client.putNew(this.#key, this.#take(this.#held));
      if (placed === 'exists') throw takenObject(this.#key);
    } else {
      await this.#send(this.#held);
      const parts = await Promise.all(this.#parts);
      if ((await this.#client.head(this.#key)) !== undefined) throw takenObject(this.#key);
      await this.#client.complete(this.#key, this.#upload, this.#mark, parts);
    }
    this.#isComplete = true;
  }

  async sync(): Promise<void> {
    await this.end();
  }

  async abandon(): Promise<void> {
    await Promise.allSettled(this.#parts);
    this.#pieces = [];
    if (this.#upload === undefined || this.#isComplete) return;
    await this.#client.abandon(this.#key, this.#upload).catch(() => undefined);
  }

  /** Begins to send the next part. */
  async #send(bytes: number): Promise<void> {
    const part = this.#take(bytes);
    this.#upload ??= await this.#client.begin(this.#key, this.#mark);
    const number = this.#parts.length + 1;
    const sent = this.#client.part(this.#key, this.#upload, number, part);
    // Whoever waits for the part gets its error.
    sent.catch(() => undefined);
    this.#parts.push(sent);
    await this.#parts.at(-AT_ONCE);
  }

  #partBytes(): number {
    return this.#parts.length < FIRST_PARTS ? this.#sizes.first : this.#sizes.later;
  }

  /** Takes the first bytes that are held. */
  #take(bytes: number): Uint8Array {
    const all = Buffer.concat(this.#pieces);
    const rest = all.subarray(bytes);
    this.#pieces = rest.byteLength === 0 ? [] : [rest];
    this.#held = rest.byteLength;
    return all.subarray(0, bytes);
  }
}

/** The error of an object whose name is taken. */
export function takenObject(key: string): StorageError {
  return new StorageError('EEXIST', `there is an object ${key} already`);
}
