import { createHash, hash } from 'node:crypto';
import type { Framing, Line } from '../store/line-log.ts';
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

  /** Written once into the memory that goes to the file: what is hashed stands there in a row. */
  frame(place: bigint, lines: readonly Line[]): Uint8Array {
    const room = this.#roomFor(place, lines);
    let at = room.write(this.#head.hash, 0, 'latin1');
    BETWEEN.copy(room, at);
    at += BETWEEN.length;
    const start = at;
    let hashedFrom = 0;
    let count = place;
    for (const { bytes } of lines) {
      at += room.write(placeText(this.#instance, count), at, 'latin1');
      room.set(bytes, at);
      at += bytes.byteLength;
      const hash = hashOf(room.subarray(hashedFrom, at));
      hashedFrom = at + HASH_BEGIN.length;
      at += room.write(`${tailOf(hash)}\n`, at, 'latin1');
      this.#head = { count, hash };
      count += 1n;
    }
    return room.subarray(start, at);
  }

  /** Memory for lines and for the hash before them. */
  #roomFor(place: bigint, lines: readonly Line[]): Buffer {
    const last = placeText(this.#instance, place + BigInt(lines.length));
    const around = last.length + TAIL_LENGTH + 1;
    const bytes = lines.reduce((sum, line) => sum + line.bytes.byteLength, 0);
    return Buffer.allocUnsafe(HASH_LENGTH + BETWEEN.length + bytes + lines.length * around);
  }

  kept(): void {
    this.#kept = this.#head;
    this.#onKept(this.#kept);
  }

  dropped(): void {
    this.#head = this.#kept;
  }
}
