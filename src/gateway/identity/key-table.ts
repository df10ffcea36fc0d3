import { readFileSync } from 'node:fs';
import { NameNumbers, Names, type NameTable } from '../../policy/lines/name-table.ts';
import { systemErrorCode } from '../http/file-mark.ts';
import { KeyFileError, parseKeys } from './key-document.ts';
import type { StoredKey } from './keys.ts';

/** Bytes of a SHA-256. */
const HASH_BYTES = 32;

/** The keys of a file as arrays that move between threads without a copy. */
export interface KeyArrays {
  /** Ids, in the order of the file. */
  readonly ids: NameTable;
  /** 32 bytes for each key. */
  readonly hashes: Uint8Array<ArrayBuffer>;
  /** The JSON of each key in UTF-8, one after the other. */
  readonly texts: Uint8Array<ArrayBuffer>;
  /** End of each text. */
  readonly ends: Uint32Array<ArrayBuffer>;
  /** When keys that are not revoked expire, in ms since 1970, ascending. */
  readonly expiries: Float64Array<ArrayBuffer>;
}

/** Result of reading a keys file. */
export type KeyReading =
  | { readonly kind: 'keys'; readonly keys: KeyArrays }
  /** The file was read and is invalid. */
  | { readonly kind: 'invalid'; readonly fault: string }
  | { readonly kind: 'unread'; readonly fault: string };

/** Reads and checks a keys file at once. The time grows with its keys. */
export function readKeyArrays(path: string): KeyReading {
  try {
    return { kind: 'keys', keys: packKeys(parseKeys(readFileSync(path, 'utf8'), path)) };
  } catch (error) {
    if (error instanceof KeyFileError) return { kind: 'invalid', fault: error.message };
    return { kind: 'unread', fault: `${path} cannot be read (${systemErrorCode(error)})` };
  }
}

/** Packs keys with different ids. */
export function packKeys(keys: readonly StoredKey[]): KeyArrays {
  const ids = new NameNumbers();
  const hashes = new Uint8Array(HASH_BYTES * keys.length);
  const ends = new Uint32Array(keys.length);
  const texts: Buffer[] = [];
  let end = 0;
  for (const [at, key] of keys.entries()) {
    ids.of(key.id);
    hashes.set(Buffer.from(key.hash, 'base64url'), HASH_BYTES * at);
    const text = Buffer.from(JSON.stringify(key));
    texts.push(text);
    ends[at] = end += text.length;
  }
  const all = new Uint8Array(end);
  for (const [at, text] of texts.entries()) all.set(text, ends[at]! - text.length);
  return { ids: ids.table(), hashes, texts: all, ends, expiries: expiriesOf(keys) };
}

function expiriesOf(keys: readonly StoredKey[]): Float64Array<ArrayBuffer> {
  const ending = keys.flatMap(({ expires, revoked }) =>
    expires === null || revoked !== null ? [] : [Date.parse(expires)],
  );
  return Float64Array.from(ending).sort();
}

/** Finds keys by their ids. */
export class KeyTable {
  static readonly empty = new KeyTable(packKeys([]));

  readonly #arrays: KeyArrays;
  readonly #ids: Names;

  constructor(arrays: KeyArrays) {
    this.#arrays = arrays;
    this.#ids = new Names(arrays.ids);
  }

  /** The number of a key; undefined if there is none. */
  find(id: string): number | undefined {
    return this.#ids.find(id);
  }

  /** SHA-256 of the whole key. */
  hash(number: number): Uint8Array {
    return this.#arrays.hashes.subarray(HASH_BYTES * number, HASH_BYTES * (number + 1));
  }

  /** When the next of the keys expires, in ms since 1970; undefined if none will. */
  nextExpiry(nowMillis: number): number | undefined {
    return this.#arrays.expiries.find((millis) => millis > nowMillis);
  }

  key(number: number): StoredKey {
    const { texts, ends } = this.#arrays;
    const start = number === 0 ? 0 : ends[number - 1]!;
    return JSON.parse(Buffer.from(texts.buffer, start, ends[number]! - start).toString());
  }
}
