import { closeSync, constants, fstatSync, openSync, readSync, statSync, writeSync } from 'node:fs';
import { crc32 } from '@node-rs/crc32';

/** Size of each of a file's two slots, in bytes. */
const SLOT_BYTES = 4096;
/** The checksum as eight characters, sixteen of the number, and four of the length. */
const HEAD = { sum: 8, number: 16, length: 4 };
const HEAD_BYTES = HEAD.sum + HEAD.number + HEAD.length;
/** A text of more bytes does not fit. */
const MOST_BYTES = SLOT_BYTES - HEAD_BYTES;

const OPENING = constants.O_RDWR | constants.O_CREAT;

interface Slot {
  readonly number: number;
  readonly text: string;
}

/**
 * A file with the latest of many texts, written by one process. It has two slots that are written in
 * turn, each with a number and a checksum: after an interrupted write the previous text is there. No file
 * is created or removed per text, which can cost a hundred times as much as writing it.
 */
export class NoteFile {
  readonly #path: string;
  #descriptor: number | undefined;
  #number = 0;

  constructor(path: string) {
    this.#path = path;
  }

  /**
   * Writes a text in place of the one before the last. Whoever reads after this gets it; it is not yet durable.
   * @throws RangeError for a text that is too long, and the system's error.
   */
  write(text: string): void {
    const bytes = Buffer.from(text);
    if (bytes.length > MOST_BYTES) throw new RangeError(`a note has at most ${MOST_BYTES} bytes`);
    const descriptor = this.#open();
    const number = this.#number + 1;
    const slot = slotOf(number, bytes);
    const place = (number % 2) * SLOT_BYTES;
    const written = writeSync(descriptor, slot, 0, slot.length, place);
    if (written < slot.length) throw new Error(`${this.#path} took ${written} bytes of a note`);
    this.#number = number;
  }

  close(): void {
    if (this.#descriptor !== undefined) closeSync(this.#descriptor);
    this.#descriptor = undefined;
  }

  /** The file that currently has the name: it may have been removed or replaced. */
  #open(): number {
    const opened = this.#descriptor;
    if (opened !== undefined && isAt(opened, this.#path)) return opened;
    this.close();
    const descriptor = openSync(this.#path, OPENING, 0o600);
    this.#descriptor = descriptor;
    this.#number = newestOf(contentOf(descriptor))?.number ?? 0;
    return descriptor;
  }
}

/** The latest text in the bytes of such a file; undefined when there is none. */
export function noteIn(bytes: Buffer): string | undefined {
  return newestOf(bytes)?.text;
}

function newestOf(bytes: Buffer): Slot | undefined {
  const [one, other] = [slotAt(bytes, 0), slotAt(bytes, SLOT_BYTES)];
  if (one === undefined || other === undefined) return one ?? other;
  return one.number > other.number ? one : other;
}

function slotAt(bytes: Buffer, start: number): Slot | undefined {
  const head = bytes.toString('latin1', start, start + HEAD_BYTES);
  const length = Number.parseInt(head.slice(HEAD.sum + HEAD.number), 16);
  const content = bytes.subarray(start + HEAD.sum, start + HEAD_BYTES + length);
  if (content.length !== HEAD_BYTES - HEAD.sum + length) return undefined;
  if (hexadecimal(crc32(content), HEAD.sum) !== head.slice(0, HEAD.sum)) return undefined;
  const number = Number.parseInt(head.slice(HEAD.sum, HEAD.sum + HEAD.number), 16);
  return { number, text: content.toString('utf8', HEAD_BYTES - HEAD.sum) };
}

function slotOf(number: number, text: Buffer): Buffer {
  const head = hexadecimal(number, HEAD.number) + hexadecimal(text.length, HEAD.length);
  const content = Buffer.concat([Buffer.from(head), text]);
  return Buffer.concat([Buffer.from(hexadecimal(crc32(content), HEAD.sum)), content]);
}

function hexadecimal(value: number, digits: number): string {
  return value.toString(16).padStart(digits, '0');
}

function isAt(descriptor: number, path: string): boolean {
  const there = statSync(path, { throwIfNoEntry: false });
  const here = fstatSync(descriptor);
  return there?.ino === here.ino && there.dev === here.dev;
}

function contentOf(descriptor: number): Buffer {
  const bytes = Buffer.alloc(2 * SLOT_BYTES);
  return bytes.subarray(0, readSync(descriptor, bytes, 0, bytes.length, 0));
}
