import { bothValid, validOf, type BytesColumn, type Column, type Valid } from './column.ts';
import { SqlError } from './sql-error.ts';
import { maxTextBytes } from './limits.ts';
import { hold, room, spend } from './meter.ts';

/** Work of a text, in bytes, in addition to its length. */
const TEXT_BYTES = 16;

export function textAt(column: BytesColumn, row: number): string {
  const start = column.starts[row]!;
  spend(column.ends[row]! - start + TEXT_BYTES);
  const { buffer, byteOffset } = column.bytes;
  return Buffer.from(buffer, byteOffset + start, column.ends[row]! - start).toString('utf8');
}

/** The error for a function whose results are too large. */
export function textTooLong(position: number): SqlError {
  const message = `expected at most ${maxTextBytes} bytes of text in a batch, found more`;
  return new SqlError('limit', message, position);
}

/** Texts of at least this many UTF-16 units are measured before memory is taken. */
const EXACT_FROM = 2 ** 16;

/** Collects texts into one run of bytes. */
class TextBuilder {
  readonly #starts: Uint32Array;
  readonly #ends: Uint32Array;
  #bytes: Buffer;
  #size = 0;

  constructor(length: number) {
    hold(length * 24 + 1024);
    this.#starts = new Uint32Array(length);
    this.#ends = new Uint32Array(length);
    this.#bytes = Buffer.allocUnsafeSlow(Math.max(1024, length * 16));
  }

  /** Makes `text` the value of a row. Throws SqlError `limit` when all texts pass 256 MiB. */
  set(row: number, text: string, position: number): void {
    spend(text.length + TEXT_BYTES);
    const most = text.length < EXACT_FROM ? text.length * 3 : Buffer.byteLength(text);
    if (this.#size + most > this.#bytes.length) this.#grow(this.#size + most, position);
    this.#starts[row] = this.#size;
    this.#size += this.#bytes.write(text, this.#size, 'utf8');
    this.#ends[row] = this.#size;
    if (this.#size > maxTextBytes) throw textTooLong(position);
  }

  #grow(needed: number, position: number): void {
    if (needed > maxTextBytes + EXACT_FROM * 3) throw textTooLong(position);
    const size = Math.max(needed, Math.min(this.#bytes.length * 2, maxTextBytes + EXACT_FROM * 3));
    room(size);
    const larger = Buffer.allocUnsafeSlow(size);
    hold(size - this.#bytes.length);
    larger.set(this.#bytes.subarray(0, this.#size));
    this.#bytes = larger;
  }

  column(valid: Valid): BytesColumn {
    const [starts, ends] = [this.#starts, this.#ends];
    return {
      kind: 'bytes',
      length: starts.length,
      bytes: this.#bytes.subarray(0, this.#size),
      starts,
      ends,
      valid,
    };
  }
}

/** A text column made row by row, where `valid` has a value. */
export function buildTexts(
  length: number,
  valid: Valid,
  position: number,
  text: (row: number) => string,
): BytesColumn {
  const builder = new TextBuilder(length);
  for (let row = 0; row < length; row++) {
    if (valid === null || valid[row] === 1) builder.set(row, text(row), position);
  }
  return builder.column(valid);
}

/** The column as texts; untyped nulls become null texts. */
export function textColumnOf(column: Column): BytesColumn {
  if (column.kind === 'bytes') return column;
  if (column.kind !== 'null') throw new TypeError(`a ${column.kind} column has no texts`);
  const spans = new Uint32Array(column.length);
  return {
    kind: 'bytes',
    length: column.length,
    bytes: new Uint8Array(),
    starts: spans,
    ends: spans,
    valid: validOf(column),
  };
}

/** The rows that have a value in all of the columns. */
export function allValid(columns: readonly Column[]): Valid {
  return columns.reduce<Valid>((valid, column) => bothValid(valid, validOf(column)), null);
}
