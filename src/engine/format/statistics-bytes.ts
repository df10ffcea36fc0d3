import type { Bounds, Extreme } from '../../arrow/bounds.ts';
import type { Extremes } from '../../arrow/extremes.ts';

/** Flags in the first byte of extremes. */
const HAS_NULLS = 1;
const HAS_NAN = 2;
const HAS_BOUNDS = 4;
/** The upper bound is unknown. */
const OPEN = 8;

/** First byte of a value: a float flag, or the number of bytes of an integer or a binary. */
const FLOAT = 128;
const INTEGER = 64;

/** Writes statistics: counts as little-endian base-128, integers in as few bytes as they need. */
export class StatisticsBytes {
  #bytes = Buffer.allocUnsafe(256);
  #length = 0;

  putCount(count: number): void {
    this.#reserve(8);
    let rest = count;
    while (rest >= 128) {
      this.#bytes[this.#length++] = (rest % 128) | 128;
      rest = Math.floor(rest / 128);
    }
    this.#bytes[this.#length++] = rest;
  }

  /**
   * Writes the output of a function after its length in four bytes, so that readers can skip it.
   */
  putSized(work: () => void): void {
    this.#reserve(4);
    const start = this.#length;
    this.#length += 4;
    work();
    this.#bytes.writeUInt32LE(this.#length - start - 4, start);
  }

  /** Writes extremes without the number of rows. */
  putExtremes({ nulls, nan, bounds }: Extremes): void {
    const flags =
      (nulls > 0 ? HAS_NULLS : 0) |
      (nan ? HAS_NAN : 0) |
      (bounds === null ? 0 : HAS_BOUNDS) |
      (bounds?.greatest === null ? OPEN : 0);
    this.#reserve(1);
    this.#bytes[this.#length++] = flags;
    if (nulls > 0) this.putCount(nulls);
    if (bounds === null) return;
    this.#putValue(bounds.least);
    if (bounds.greatest !== null) this.#putValue(bounds.greatest);
  }

  finish(): Uint8Array {
    return Uint8Array.prototype.slice.call(this.#bytes, 0, this.#length);
  }

  #putValue(value: Extreme): void {
    this.#reserve(64);
    if (typeof value === 'number') {
      this.#bytes[this.#length++] = FLOAT;
      this.#length = this.#bytes.writeDoubleLE(value, this.#length);
    } else if (typeof value === 'bigint') {
      this.#putInteger(value);
    } else {
      this.#bytes[this.#length++] = value.length;
      this.#bytes.set(value, this.#length);
      this.#length += value.length;
    }
  }

  #putInteger(value: bigint): void {
    const start = this.#length++;
    let rest = value;
    let low = 0;
    do {
      low = Number(rest & 255n);
      this.#bytes[this.#length++] = low;
      rest >>= 8n;
      // The last byte's highest bit is the sign.
    } while (rest !== (low >= 128 ? -1n : 0n));
    this.#bytes[start] = INTEGER | (this.#length - start - 1);
  }

  #reserve(count: number): void {
    if (this.#length + count <= this.#bytes.length) return;
    const bytes = Buffer.allocUnsafe(2 * this.#bytes.length + count);
    bytes.set(this.#bytes);
    this.#bytes = bytes;
  }
}

/** Reads what `StatisticsBytes` wrote. Throws RangeError where the bytes end too early. */
export class StatisticsCursor {
  readonly #bytes: Buffer;
  #at: number;

  constructor(bytes: Uint8Array, at = 0) {
    this.#bytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.#at = at;
  }

  /** Offset of the next byte. */
  get position(): number {
    return this.#at;
  }

  count(): number {
    let count = 0;
    for (let factor = 1; ; factor *= 128) {
      const byte = this.#bytes.readUInt8(this.#at++);
      count += (byte & 127) * factor;
      if (byte < 128) return count;
    }
  }

  /** Skips a sized entry. Returns its length. */
  skip(): number {
    const length = this.#bytes.readUInt32LE(this.#at);
    this.#at += 4 + length;
    return length;
  }

  extremes(rows: number): Extremes {
    const flags = this.#bytes.readUInt8(this.#at++);
    const nulls = (flags & HAS_NULLS) === 0 ? 0 : this.count();
    const nan = (flags & HAS_NAN) !== 0;
    return { rows, nulls, nan, bounds: (flags & HAS_BOUNDS) === 0 ? null : this.#bounds(flags) };
  }

  #bounds(flags: number): Bounds {
    const least = this.#value();
    return { least, greatest: (flags & OPEN) === 0 ? this.#value() : null };
  }

  #value(): Extreme {
    const form = this.#bytes.readUInt8(this.#at++);
    if (form === FLOAT) {
      this.#at += 8;
      return this.#bytes.readDoubleLE(this.#at - 8);
    }
    const length = form & 63;
    const start = this.#at;
    this.#at += length;
    if (this.#at > this.#bytes.length) throw new RangeError('the statistics end too early');
    if ((form & INTEGER) === 0) return this.#bytes.subarray(start, this.#at);
    let value = BigInt(this.#bytes.readInt8(this.#at - 1));
    for (let at = this.#at - 2; at >= start; at--) value = (value << 8n) | BigInt(this.#bytes[at]!);
    return value;
  }
}
