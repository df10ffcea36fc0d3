import { createHash, hash } from 'node:crypto';
import type { Framing, Line } from '../store/line-log.ts';
import { placeBegin } from './record-codec.ts';

/** SHA-256 in base64url is so long. */
export const HASH_LENGTH = 43;
const HASH_BEGIN = ',"hash":"';
const HASH_END = '"}';
/** How long what stands after the fields of a record is. */
export const TAIL_LENGTH = HASH_BEGIN.length + HASH_LENGTH + HASH_END.length;
/** What stands between a record's hash and the next record. */
const BETWEEN = `${HASH_END}\n`;
/** No record's number and the comma after it are longer. */
const NUMBER_LENGTH = 20;
/** Memory that is kept for the next lines, in bytes. */
const KEPT_BYTES = 2 ** 20;
/** Bytes of UTF-8 that a character of a text takes at most. */
const WIDEST = 3;

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
  return hashOf(Buffer.concat([Buffer.from(previous + BETWEEN), fields]));
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
  #room = Buffer.alloc(0);

  /** @param onKept Told the head whenever everything up to it is on stable storage. */
  constructor(instance: string, onKept: (head: ChainHead) => void) {
    this.#instance = instance;
    this.#onKept = onKept;
    this.#head = beginning(instance);
    this.#kept = this.#head;
  }

  /**
   * The lines of records, whose bytes are the text of their fields. Written once into
   * the memory that goes to the file: what is hashed stands there in a row.
   */
  frame(place: bigint, lines: readonly Line[]): Uint8Array {
    const begun = placeBegin(this.#instance);
    const around = begun.length + NUMBER_LENGTH + TAIL_LENGTH + 1;
    let room = this.#roomOf(roomFor(lines, around));
    let { hash } = this.#head;
    let at = room.write(hash + BETWEEN, 0, 'latin1');
    const start = at;
    let hashedFrom = 0;
    let number = Number(place);
    for (const { bytes } of lines) {
      if (room.length - at < WIDEST * bytes.length + around) {
        room = Buffer.concat([room], 2 * room.length + WIDEST * bytes.length);
      }
      at += room.write(`${begun}${number},${bytes.toString()}`, at);
      hash = hashOf(room.subarray(hashedFrom, at));
      hashedFrom = at + HASH_BEGIN.length;
      at += room.write(HASH_BEGIN + hash + BETWEEN, at, 'latin1');
      number += 1;
    }
    this.#head = { count: BigInt(number - 1), hash };
    return room.subarray(start, at);
  }

  /** The same memory again and again, where little of it is asked for: fresh memory costs more than what is done in it. */
  #roomOf(bytes: number): Buffer {
    if (bytes > KEPT_BYTES) return Buffer.allocUnsafeSlow(bytes);
    if (bytes > this.#room.length)
      this.#room = Buffer.allocUnsafeSlow(Math.min(2 * bytes, KEPT_BYTES));
    return this.#room;
  }

  kept(): void {
    this.#kept = this.#head;
    this.#onKept(this.#kept);
  }

  dropped(): void {
    this.#head = this.#kept;
  }
}

/** Memory for lines and for the hash before them, as long as all characters are of one byte. */
function roomFor(lines: readonly Line[], around: number): number {
  let room = HASH_LENGTH + BETWEEN.length + lines.length * around;
  let longest = 0;
  for (const { bytes } of lines) {
    room += bytes.length;
    if (bytes.length > longest) longest = bytes.length;
  }
  // Before the last one there has to be room for the longest of wide characters.
  return room + (WIDEST - 1) * longest;
}
