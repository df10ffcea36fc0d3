import { createHash } from 'node:crypto';

/** The bytes of a body as far as they were read. */
export interface BodyDigest {
  /** SHA-256 in hexadecimal. */
  readonly sha256: string;
  readonly bytes: number;
}

/** A body that is passed on as it comes, with a digest of what passed. */
export class HashedBody implements AsyncIterable<Uint8Array> {
  readonly #source: AsyncIterable<Uint8Array>;
  readonly #hash = createHash('sha256');
  #bytes = 0;
  #state: 'untouched' | 'begun' | 'ended' = 'untouched';
  #digest: BodyDigest | undefined;

  constructor(source: AsyncIterable<Uint8Array>) {
    this.#source = source;
  }

  /** The digest of the whole body; null when nobody read it, so that nothing depended on it. */
  get digest(): BodyDigest | null {
    if (this.#state === 'untouched') return null;
    if (this.#state === 'begun') throw new Error('the body was not read to its end');
    this.#digest ??= { sha256: this.#hash.digest('hex'), bytes: this.#bytes };
    return this.#digest;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array> {
    if (this.#state === 'ended') return;
    this.#state = 'begun';
    for await (const chunk of this.#source) {
      this.#hash.update(chunk);
      this.#bytes += chunk.byteLength;
      yield chunk;
    }
    this.#state = 'ended';
  }

  /**
   * Reads what is left and drops it.
   * @param most So many bytes of the whole body are of interest.
   * @returns False when it has more.
   */
  async drain(most: number): Promise<boolean> {
    for await (const _ of this) {
      if (this.#bytes > most) return false;
    }
    return this.#bytes <= most;
  }
}
