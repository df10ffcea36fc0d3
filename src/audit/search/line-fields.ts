import { decodeRecord, RecordFault } from '../record/decoding.ts';
import { microsOf } from '../record/time.ts';

const NEWLINE = 0x0a;
const OBJECT = 0x7b;
const OBJECT_END = 0x7d;
const QUOTE = 0x22;
const LIST_END = 0x5d;
const ESCAPE = 0x5c;
const COMMA = 0x2c;
const ZERO = 0x30;
const NINE = 0x39;
const OUTCOME = 'o'.charCodeAt(0);
const LAST_OF_TIME = 'Z'.charCodeAt(0);
const NULL = 'n'.charCodeAt(0);
const SEQUENCE = Buffer.from('","sequence":');
/** Distances from the comma after the sequence number; the two phases have the same length. */
const PHASE_AT = ',"phase":"'.length;
const TIME_AT = ',"phase":"outcome","time":"'.length;
const TIME_LENGTH = '2026-01-31T23:59:59.000001Z'.length;
const DURATION_AT = TIME_AT + TIME_LENGTH + '","duration_us":'.length;

/** Texts that are remembered, at most; a power of two. */
const TEXTS = 2 ** 14;

/** Texts of fields that were read: the same few return in most lines. */
export class LineTexts {
  readonly #texts: (string | undefined)[] = Array.from<string>({ length: TEXTS });

  /**
   * The text of some bytes.
   * @param bytes ASCII, from `from` to `to`.
   * @param hash Equal for equal bytes.
   */
  of(bytes: Buffer, from: number, to: number, hash: number): string {
    const at = (hash ^ (hash >>> 15)) & (TEXTS - 1);
    const known = this.#texts[at];
    if (known !== undefined && isText(known, bytes, from, to)) return known;
    return (this.#texts[at] = bytes.toString('latin1', from, to));
  }
}

function isText(text: string, bytes: Buffer, from: number, to: number): boolean {
  if (text.length !== to - from) return false;
  for (let at = 0; at < text.length; at++) {
    if (text.charCodeAt(at) !== bytes[from + at]) return false;
  }
  return true;
}

/**
 * Fields of the lines of a piece, read without decoding whole lines. A field is found by its name,
 * which no value can contain with its quotes, after the fields of fixed length at the beginning.
 */
export class LineFields {
  readonly #bytes: Buffer;
  readonly #names = new Map<string, Buffer>();
  readonly #texts: LineTexts;
  /** Distance from the start of a line to its sequence number. */
  readonly #numberAt: number;
  #start = 0;
  #end = -1;
  /** Position of the comma after the sequence number. */
  #comma = 0;
  /** Position of the value that was read last: fields are mostly read in their order. */
  #last = 0;

  /**
   * @param bytes Whole lines of one instance.
   * @param texts The texts of the pieces before.
   */
  constructor(bytes: Buffer, texts = new LineTexts()) {
    this.#bytes = bytes;
    this.#texts = texts;
    this.#numberAt = bytes.indexOf(SEQUENCE) + SEQUENCE.length;
  }

  /** Position of the line. */
  get start(): number {
    return this.#start;
  }

  /** Position of the newline. */
  get end(): number {
    return this.#end;
  }

  /** Moves to the line that begins at a position. @throws as `next` */
  seek(start: number): void {
    this.#end = start - 1;
    this.next();
  }

  /**
   * Moves to the next line.
   * @returns False after the last line.
   * @throws RecordFault for a line that is no record
   */
  next(): boolean {
    const bytes = this.#bytes;
    const start = this.#end + 1;
    if (start >= bytes.length) return false;
    this.#start = start;
    let at = start + this.#numberAt;
    this.#end = bytes.indexOf(NEWLINE, start);
    for (let digit = bytes[at]!; digit >= ZERO && digit <= NINE; digit = bytes[at]!) at += 1;
    this.#comma = at;
    this.#last = at + DURATION_AT;
    const isRecord =
      bytes[start] === OBJECT &&
      bytes[this.#end - 1] === OBJECT_END &&
      bytes[at] === COMMA &&
      bytes[at + TIME_AT - 1] === QUOTE &&
      bytes[at + TIME_AT + TIME_LENGTH - 1] === LAST_OF_TIME &&
      at + DURATION_AT < this.#end;
    if (!isRecord) this.#damaged('phase');
    return true;
  }

  /** The text of the line. */
  whole(): string {
    return this.#bytes.toString('utf8', this.#start, this.#end);
  }

  isOutcome(): boolean {
    return this.#bytes[this.#comma + PHASE_AT] === OUTCOME;
  }

  /** Arrival of the request, in microseconds since 1970. */
  began(): number {
    const from = this.#comma + TIME_AT;
    return this.#micros(from) - this.#integerAt(this.#comma + DURATION_AT);
  }

  /** Microseconds from the arrival to the record. */
  duration(): number {
    return this.#integerAt(this.#comma + DURATION_AT);
  }

  /** A text field; null if the record has none. */
  text(name: string): string | null {
    const bytes = this.#bytes;
    const from = this.#valueOf(name);
    if (bytes[from] === NULL) return null;
    let at = from + 1;
    let isPlain = true;
    let hash = 0;
    for (let byte = bytes[at]!; byte !== QUOTE && at < this.#end; byte = bytes[++at]!) {
      if (byte === ESCAPE) at += 1;
      if (byte === ESCAPE || byte > 0x7f) isPlain = false;
      hash = (Math.imul(hash, 31) + byte) | 0;
    }
    if (isPlain) return this.#texts.of(bytes, from + 1, at, hash);
    return JSON.parse(bytes.toString('utf8', from, at + 1)) as string;
  }

  /** Whether a list has items. */
  hasItems(name: string): boolean {
    return this.#bytes[this.#valueOf(name) + 1] !== LIST_END;
  }

  /** An integer field; 0 if it is null. */
  integer(name: string): number {
    return this.#integerAt(this.#valueOf(name));
  }

  /** Position of the value of a field. */
  #valueOf(name: string): number {
    let key = this.#names.get(name);
    if (key === undefined) this.#names.set(name, (key = Buffer.from(`,"${name}":`)));
    let at = this.#bytes.indexOf(key, this.#last);
    if (at < 0 || at > this.#end) at = this.#bytes.indexOf(key, this.#comma + DURATION_AT);
    if (at < 0 || at > this.#end) this.#damaged(name);
    this.#last = at + key.length;
    return this.#last;
  }

  #integerAt(from: number): number {
    const bytes = this.#bytes;
    let value = 0;
    for (let at = from, digit = bytes[at]!; digit >= ZERO && digit <= NINE; digit = bytes[++at]!) {
      value = value * 10 + (digit - ZERO);
    }
    return value;
  }

  /** The second of the last time and its microseconds since 1970: the next is mostly in the same. */
  readonly #second = Buffer.alloc(TIME_LENGTH - '.000001Z'.length);
  #secondMicros = 0;

  #micros(from: number): number {
    const bytes = this.#bytes;
    const length = this.#second.length;
    let isSame = true;
    for (let at = length - 1; at >= 0 && isSame; at--)
      isSame = bytes[from + at] === this.#second[at];
    if (!isSame) {
      bytes.copy(this.#second, 0, from, from + length);
      this.#secondMicros = Number(microsOf(`${this.#second.toString('latin1')}.000000Z`));
    }
    return this.#secondMicros + this.#integerAt(from + length + 1);
  }

  /** @throws RecordFault that says what the line is, or that it lacks a field */
  #damaged(name: string): never {
    const record = decodeRecord(this.#bytes.toString('utf8', this.#start, this.#end));
    throw new RecordFault(`record ${record.sequence} has no field "${name}" in its place`);
  }
}
