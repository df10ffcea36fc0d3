import { createHash, hash } from 'node:crypto';
import type { Framing } from '../store/line-log.ts';
import { placeText } from './record-codec.ts';

/** SHA-256 in base64url is so long. */
export const HASH_LENGTH = 43;
const HASH_BEGIN = ',"hash":"';
const HASH_END = '"}';
/** How long what stands after the fields of a record is. */
export const TAIL_LENGTH = HASH_BEGIN.length + HASH_LENGTH + HASH_END.length;
/** What stands between a record's hash and the next record. */
const BETWEEN = Buffer.from(`${HASH_END}\n`);

/** What stands after the fields of a record: its hash, and the end of the line without its newline. */
export function tailOf(hash: string): string {
  return HASH_BEGIN + hash + HASH_END;
}

/** A place of a chain: after so many records it has this hash. */
export interface ChainHead {
  readonly count: bigint;
  readonly hash: string;
}

/** Where the chain of an instance begins: with a hash of its name. */
export function beginning(instance: string): ChainHead {
  const digest = createHash('sha256').update(`arrowgate audit chain 1\n${instance}\n`);
  return { count: 0n, hash: digest.digest('base64url') };
}

/** The hash of a record that follows the one of the hash given: over that hash and the line up to its own. */
export function hashAfter(previous: string, fields: Uint8Array): string {
  return hashOf(Buffer.concat([Buffer.from(previous), BETWEEN, fields]));
}

/**
 * The same, where both stand in a row, as in a file of the log: from the hash
 * before to the record's own.
 */
export function hashOf(bytes: Uint8Array): string {
  return hash('sha256', bytes, 'base64url');
}

/**
 * Links the records of one instance. Each line ends with a hash over the hash
 * before it and its own fields, so that none can be changed, taken out or moved
 * without changing every hash after it.
 */
export class Chain implements Framing {
  readonly #instance: string;
  readonly #onKept: (head: ChainHead) => void;
  #head: ChainHead;
  #kept: ChainHead;

  /** @param onKept Told the head whenever everything up to it is on stable storage. */
  constructor(instance: string, onKept: (head: ChainHead) => void) {
    this.#instance = instance;
    this.#onKept = onKept;
    this.#head = beginning(instance);
    this.#kept = this.#head;
  }

  frame(place: bigint, bytes: Uint8Array): readonly Uint8Array[] {
    const fields = Buffer.concat([Buffer.from(placeText(this.#instance, place)), bytes]);
    const next = hashAfter(this.#head.hash, fields);
    this.#head = { count: place, hash: next };
    return [fields, Buffer.from(`${tailOf(next)}\n`)];
  }

  kept(): void {
    this.#kept = this.#head;
    this.#onKept(this.#kept);
  }

  dropped(): void {
    this.#head = this.#kept;
  }
}
