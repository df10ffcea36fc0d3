import { createHash, hash } from 'node:crypto';
import type { Framing, Line } from '../../storage/line-log.ts';
import { instancePrefix } from '../record/encoding.ts';
import { recordsOfBlock } from './block.ts';

/** Length of a base64url SHA-256 digest. */
export const HASH_LENGTH = 43;
const HASH_BEGIN = ',"hash":"';
const HASH_END = '"}';
/** Length of the tail of a record, in bytes. */
export const TAIL_LENGTH = HASH_BEGIN.length + HASH_LENGTH + HASH_END.length;
/** Text between the hash of a record and the next record. */
const BETWEEN = `${HASH_END}\n`;
/** No record's number and the comma after it are longer. */
const NUMBER_LENGTH = 20;
/** Memory that is kept for the next lines, in bytes. */
const KEPT_BYTES = 2 ** 20;
/** Bytes of UTF-8 that a character of a text takes at most. */
const WIDEST = 3;

/** The tail of a record: its hash and the end of the line, without the newline. */
export function hashTail(hash: string): string {
  return HASH_BEGIN + hash + HASH_END;
}

/** A head of a chain: record count and hash. */
export interface ChainHead {
  readonly count: bigint;
  readonly hash: string;
}

/** Where the chain of an instance begins: with a hash of its name. */
export function firstHead(instance: string): ChainHead {
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
export class HashChain implements Framing {
  readonly #begun: string;
  readonly #onKept: (head: ChainHead) => void;
  readonly #done: (bytes: Uint8Array) => void;
  #head: ChainHead;
  #kept: ChainHead;
  #room = Buffer.alloc(0);
  /** Blocks whose records are in the file, but not on stable storage yet. */
  #blocks: Uint8Array[] = [];

  /**
   * @param onKept Told the head whenever everything up to it is on stable storage.
   * @param done Told each block of records whose bytes are not needed any more.
   */
  constructor(
    instance: string,
    onKept: (head: ChainHead) => void,
    done: (block: Uint8Array) => void = () => undefined,
  ) {
    this.#begun = instancePrefix(instance);
    this.#onKept = onKept;
    this.#done = done;
    this.#head = firstHead(instance);
    this.#kept = this.#head;
  }

  /**
   * The lines of records: of texts of their fields, or of blocks of such texts. Written once into
   * the memory that goes to the file: what is hashed stands there in a row.
   */
  frame(place: bigint, lines: readonly Line[]): Uint8Array {
    const around = this.#begun.length + NUMBER_LENGTH + TAIL_LENGTH + 1;
    const room = this.#roomOf(roomFor(lines, around));
    const linker = new Linker(room, this.#begun, Number(place), this.#head.hash);
    for (const { bytes } of lines) {
      if (typeof bytes === 'string') {
        linker.addText(bytes);
      } else {
        for (const text of recordsOfBlock(bytes)) linker.addBytes(text);
        this.#blocks.push(bytes);
      }
    }
    const { framed, hash, last } = linker.ended();
    this.#head = { count: BigInt(last), hash };
    return framed;
  }

  /** Small texts reuse one buffer: allocating costs more than the hash. */
  #roomOf(bytes: number): Buffer {
    if (bytes > KEPT_BYTES) return Buffer.allocUnsafeSlow(bytes);
    if (bytes > this.#room.length)
      this.#room = Buffer.allocUnsafeSlow(Math.min(2 * bytes, KEPT_BYTES));
    return this.#room;
  }

  kept(): void {
    this.#kept = this.#head;
    this.#onKept(this.#kept);
    const blocks = this.#blocks;
    this.#blocks = [];
    for (const block of blocks) this.#done(block);
  }

  dropped(): void {
    this.#head = this.#kept;
    // They are framed again, or were refused.
    this.#blocks = [];
  }
}

/** Memory for lines and for the hash before them, as long as all characters of texts are of one byte. */
function roomFor(lines: readonly Line[], around: number): number {
  let room = 2 * around;
  for (const { bytes, lines: count = 1 } of lines) room += bytes.length + count * around;
  return room;
}

/** Writes lines into memory, one behind the other, each with the hash of the one before. */
class Linker {
  readonly #begun: string;
  #room: Buffer;
  #number: number;
  #hash: string;
  #at = 0;
  /** From where on the bytes for the next hash stand. */
  #hashed = 0;

  constructor(room: Buffer, begun: string, number: number, hash: string) {
    this.#room = room;
    this.#begun = begun;
    this.#number = number;
    this.#hash = hash;
  }

  addText(fields: string): void {
    this.#begin(WIDEST * fields.length);
    this.#at += this.#room.write(fields, this.#at);
    this.#end();
  }

  addBytes(fields: Uint8Array): void {
    this.#begin(fields.length);
    this.#room.set(fields, this.#at);
    this.#at += fields.length;
    this.#end();
  }

  /** The lines without the end of the one before; the hash of the last, and its number. */
  ended(): { readonly framed: Uint8Array; readonly hash: string; readonly last: number } {
    this.#make(TAIL_LENGTH + 1);
    const at = this.#at + this.#room.write(HASH_BEGIN + this.#hash + BETWEEN, this.#at, 'latin1');
    const framed = this.#room.subarray(TAIL_LENGTH + 1, at);
    return { framed, hash: this.#hash, last: this.#number - 1 };
  }

  /** The end of the line before, and what the next one begins with. */
  #begin(length: number): void {
    this.#make(length + this.#begun.length + NUMBER_LENGTH + TAIL_LENGTH + 1);
    const between = `${HASH_BEGIN}${this.#hash}${BETWEEN}${this.#begun}${this.#number},`;
    this.#hashed = this.#at + HASH_BEGIN.length;
    this.#at += this.#room.write(between, this.#at, 'latin1');
  }

  #end(): void {
    this.#hash = hashOf(this.#room.subarray(this.#hashed, this.#at));
    this.#number += 1;
  }

  /** Reserves room for this many more bytes. */
  #make(bytes: number): void {
    if (this.#room.length - this.#at >= bytes) return;
    this.#room = Buffer.concat([this.#room], 2 * this.#room.length + bytes);
  }
}
