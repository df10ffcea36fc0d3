import { Binary, Utf8, type Data } from 'apache-arrow';
import { dataOf } from '../../../arrow/data.ts';
import type { PostingsEncoder } from './postings-encoder.ts';
import { WideBytes } from './wide-bytes.ts';

/** Limits of a page: tokens, and approximate bytes of postings and of tokens. */
const PAGE_TOKENS = 4096;
const PAGE_BYTES = 2 ** 18;
const PAGE_UNITS = 2 ** 21;

/** Tokens with their postings, in memory that is used for one page after the other. */
export class PostingsPage {
  #tokens: string[] = [];
  #units = 0;
  #bytes = new WideBytes(PAGE_BYTES);
  #ends: number[] = [];

  get isEmpty(): boolean {
    return this.#tokens.length === 0;
  }

  get #length(): number {
    return this.#ends.at(-1) ?? 0;
  }

  /** Whether more postings belong into the next page. @param size In bytes. */
  isFullFor(size: number): boolean {
    if (this.isEmpty) return false;
    const isFull = this.#tokens.length >= PAGE_TOKENS || this.#units >= PAGE_UNITS;
    return isFull || this.#length + size > PAGE_BYTES;
  }

  /** Adds a token with the postings that the encoder has taken. */
  add(token: string, encoder: PostingsEncoder, size: number): void {
    const start = this.#length;
    this.#bytes.reserve(start + size);
    encoder.write(this.#bytes, start, size);
    this.#tokens.push(token);
    this.#units += token.length;
    this.#ends.push(start + size);
  }

  /** The postings, as a view of the memory. */
  postings(): Data {
    const values = this.#bytes.bytes.subarray(0, this.#length);
    const offsets = Int32Array.of(0, ...this.#ends);
    return dataOf(new Binary(), { length: this.#ends.length, nullCount: 0, values, offsets });
  }

  tokens(): Data {
    const values = Buffer.from(this.#tokens.join(''));
    // Texts of ASCII alone have as many bytes as units.
    const isAscii = values.length === this.#units;
    const offsets = new Int32Array(this.#tokens.length + 1);
    for (const [at, token] of this.#tokens.entries()) {
      offsets[at + 1] = offsets[at]! + (isAscii ? token.length : Buffer.byteLength(token));
    }
    return dataOf(new Utf8(), { length: this.#tokens.length, nullCount: 0, values, offsets });
  }

  /** Begins the next page. */
  clear(): void {
    this.#tokens = [];
    this.#units = 0;
    this.#ends = [];
    if (this.#bytes.bytes.length > 2 * PAGE_BYTES) this.#bytes = new WideBytes(PAGE_BYTES);
  }
}
