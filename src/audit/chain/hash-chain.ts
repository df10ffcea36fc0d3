import { createHash, hash } from 'node:crypto';
import type { Framing, LogLine } from '../../storage/line-log.ts';
import { instancePrefix } from '../record/encoding.ts';
import { visitRecords } from './block.ts';
import { OpenAttempts, type AttemptsNote } from './open-attempts.ts';

/** Length of a base64url SHA-256 digest. */
const HASH_LENGTH = 43;
const HASH_BEGIN = ',"hash":"';
const HASH_END = '"}';
/** Length of the tail of a record, in bytes. */
export const TAIL_LENGTH = HASH_BEGIN.length + HASH_LENGTH + HASH_END.length;
/** Distance from the end of a line back to its hash, in bytes. */
export const HASH_BACK = HASH_LENGTH + HASH_END.length;
/** Text between the hash of a record and the next record. */
const BETWEEN = `${HASH_END}\n`;
/** Maximum length of a sequence number and the comma after it. */
const NUMBER_LENGTH = 20;
/** Maximum size of the reused buffer, in bytes. */
const BUFFER_BYTES = 2 ** 20;
/** Maximum bytes of UTF-8 for a UTF-16 code unit. */
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

/** Head of an empty chain: a hash of the instance's name. */
export function firstHead(instance: string): ChainHead {
  const digest = createHash('sha256').update(`arrowgate audit chain 1\n${instance}\n`);
  return { count: 0n, hash: digest.digest('base64url') };
}

/** Hash of a record: over the previous record's hash and the record's line up to its own hash. */
export function hashAfter(previous: string, fields: Uint8Array | string): string {
  if (typeof fields === 'string') return hash('sha256', previous + BETWEEN + fields, 'base64url');
  return hashOf(Buffer.concat([Buffer.from(previous + BETWEEN), fields]));
}

/** The same for adjacent bytes, as in a file of the log: from the previous hash up to the record's own. */
export function hashOf(bytes: Uint8Array): string {
  return hash('sha256', bytes, 'base64url');
}

/**
 * Chains the records of one instance. Each line ends with a hash over the previous
 * hash and its own fields, so changing, removing or moving a line changes every
 * later hash.
 */
export class HashChain implements Framing {
  readonly #begun: string;
  readonly #onDurable: (head: ChainHead) => void;
  readonly #done: (bytes: Uint8Array) => void;
  readonly #attempts = new OpenAttempts();
  #head: ChainHead;
  #durable: ChainHead;
  #room = Buffer.alloc(0);
  /** Blocks whose records are in the file, but not yet durable. */
  #blocks: Uint8Array[] = [];

  /**
   * @param onDurable Called with the head when all records up to it are durable.
   * @param done Called with each block whose memory can be reused.
   */
  constructor(
    instance: string,
    onDurable: (head: ChainHead) => void,
    done: (block: Uint8Array) => void = () => undefined,
  ) {
    this.#begun = instancePrefix(instance);
    this.#onDurable = onDurable;
    this.#done = done;
    this.#head = firstHead(instance);
    this.#durable = this.#head;
  }

  /**
   * Frames records, each given as the text of its fields or in a block of such texts. The lines are
   * written once, into the memory that goes to the file, where the hashed bytes are adjacent.
   */
  frame(place: bigint, lines: readonly LogLine[]): Uint8Array {
    const around = this.#begun.length + NUMBER_LENGTH + TAIL_LENGTH + 1;
    const room = this.#roomOf(roomFor(lines, around));
    const linker = new Linker(room, this.#begun, Number(place), this.#head.hash);
    for (const { bytes } of lines) {
      if (typeof bytes === 'string') {
        this.#attempts.add(bytes, linker.number);
        linker.addText(bytes);
      } else {
        visitRecords(bytes, (text, isPaired) => {
          // Both halves together leave no attempt open.
          if (!isPaired) this.#attempts.add(text, linker.number);
          linker.addBytes(text);
        });
        this.#blocks.push(bytes);
      }
    }
    const { framed, hash, last } = linker.ended();
    this.#head = { count: BigInt(last), hash };
    return framed;
  }

  /** The attempts without an outcome, when all records are durable; undefined if they are too many. */
  openAttempts(): AttemptsNote | undefined {
    return this.#attempts.note(this.#durable.count);
  }

  /** Small pieces reuse one buffer, because allocation costs more than the hash. */
  #roomOf(bytes: number): Buffer {
    if (bytes > BUFFER_BYTES) return Buffer.allocUnsafeSlow(bytes);
    if (bytes > this.#room.length)
      this.#room = Buffer.allocUnsafeSlow(Math.min(2 * bytes, BUFFER_BYTES));
    return this.#room;
  }

  onDurable(): void {
    this.#durable = this.#head;
    this.#attempts.onDurable();
    this.#onDurable(this.#durable);
    const blocks = this.#blocks;
    this.#blocks = [];
    for (const block of blocks) this.#done(block);
  }

  dropped(): void {
    this.#head = this.#durable;
    this.#attempts.dropped();
    // The log frames these records again, or has refused them.
    this.#blocks = [];
  }
}

/** Bytes for lines and the hash before them, if all characters are ASCII. */
function roomFor(lines: readonly LogLine[], around: number): number {
  let room = 2 * around;
  for (const { bytes, lines: count = 1 } of lines) room += bytes.length + count * around;
  return room;
}

/** Writes consecutive lines into memory and computes their hashes. */
class Linker {
  readonly #begun: string;
  #room: Buffer;
  #number: number;
  #hash: string;
  #at = 0;
  /** Start of the bytes of the next hash. */
  #hashed = 0;

  constructor(room: Buffer, begun: string, number: number, hash: string) {
    this.#room = room;
    this.#begun = begun;
    this.#number = number;
    this.#hash = hash;
  }

  /** Number of the next record. */
  get number(): number {
    return this.#number;
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

  /** The lines without the end of the previous line; hash and sequence number of the last line. */
  ended(): { readonly framed: Uint8Array; readonly hash: string; readonly last: number } {
    this.#reserve(TAIL_LENGTH + 1);
    const at = this.#at + this.#room.write(HASH_BEGIN + this.#hash + BETWEEN, this.#at, 'latin1');
    const framed = this.#room.subarray(TAIL_LENGTH + 1, at);
    return { framed, hash: this.#hash, last: this.#number - 1 };
  }

  /** Writes the end of the previous line and the prefix of the next. */
  #begin(length: number): void {
    this.#reserve(length + this.#begun.length + NUMBER_LENGTH + TAIL_LENGTH + 1);
    const between = `${HASH_BEGIN}${this.#hash}${BETWEEN}${this.#begun}${this.#number},`;
    this.#hashed = this.#at + HASH_BEGIN.length;
    this.#at += this.#room.write(between, this.#at, 'latin1');
  }

  #end(): void {
    this.#hash = hashOf(this.#room.subarray(this.#hashed, this.#at));
    this.#number += 1;
  }

  /** Makes room for this many more bytes. */
  #reserve(bytes: number): void {
    if (this.#room.length - this.#at >= bytes) return;
    this.#room = Buffer.concat([this.#room], 2 * this.#room.length + bytes);
  }
}
