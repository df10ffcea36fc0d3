/** Bitmaps of the Arrow format: least significant bit first, 1 is valid or true. */

/** Bytes of a bitmap of `bits` bits. */
export function bitmapBytes(bits: number): number {
  return Math.ceil(bits / 8);
}

export function getBit(bits: Uint8Array, index: number): boolean {
  return ((bits[index >> 3]! >> (index & 7)) & 1) === 1;
}

/** Sets the bit at an index of a bitmap that was made of zeros. */
export function setBit(bits: Uint8Array, index: number): void {
  bits[index >> 3]! |= 1 << (index & 7);
}

const setBits = Uint8Array.from({ length: 256 }, (_, byte) => {
  let count = 0;
  for (let rest = byte; rest > 0; rest >>= 1) count += rest & 1;
  return count;
});

/** Number of set bits among `length` bits from `offset`. */
export function countBits(bits: Uint8Array, offset: number, length: number): number {
  let count = 0;
  let index = offset;
  const end = offset + length;
  for (; index < end && (index & 7) !== 0; index++) count += (bits[index >> 3]! >> (index & 7)) & 1;
  for (; index + 8 <= end; index += 8) count += setBits[bits[index >> 3]!]!;
  for (; index < end; index++) count += (bits[index >> 3]! >> (index & 7)) & 1;
  return count;
}

/** `length` bits from `offset`, starting at bit 0; shares memory if they already lie on a byte. */
export function sliceBits(bits: Uint8Array, offset: number, length: number): Uint8Array {
  const first = offset >> 3;
  const bytes = bitmapBytes(length);
  const shift = offset & 7;
  if (shift === 0) return bits.subarray(first, first + bytes);
  const result = new Uint8Array(bytes);
  for (let index = 0; index < bytes; index++) {
    const high = bits[first + index + 1] ?? 0;
    result[index] = (bits[first + index]! >> shift) | (high << (8 - shift));
  }
  return result;
}

/** The bits at `offset + rows[i]`, one after the other. */
export function takeBits(bits: Uint8Array, offset: number, rows: Uint32Array): Uint8Array {
  const result = new Uint8Array(bitmapBytes(rows.length));
  for (let index = 0; index < rows.length; index++) {
    const from = offset + rows[index]!;
    result[index >> 3]! |= ((bits[from >> 3]! >> (from & 7)) & 1) << (index & 7);
  }
  return result;
}

/** Writes the bits from `offset` on as one byte each: `one` for a set bit, 0 for others. */
export function unpackBits<Bytes extends Uint8Array>(
  bits: Uint8Array,
  offset: number,
  target: Bytes,
  one: number,
): Bytes {
  for (let index = 0; index < target.length; index++) {
    const bit = offset + index;
    target[index] = (bits[bit >> 3]! >> (bit & 7)) & 1 ? one : 0;
  }
  return target;
}

/** A bitmap of bytes, in which those equal to `one` are set. */
export function packBits(bytes: Uint8Array, one: number): Uint8Array {
  const bits = new Uint8Array(bitmapBytes(bytes.length));
  for (let index = 0; index < bytes.length; index++) {
    if (bytes[index] === one) bits[index >> 3]! |= 1 << (index & 7);
  }
  return bits;
}

/** Appends bits one run after the other. */
export class BitWriter {
  readonly bits: Uint8Array;
  #length = 0;

  /** Capacity in bits. */
  constructor(capacity: number) {
    this.bits = new Uint8Array(bitmapBytes(capacity));
  }

  /** `length` bits of another bitmap, from `offset` on. */
  append(source: Uint8Array, offset: number, length: number): void {
    const at = this.#length;
    if ((at & 7) === 0) {
      this.bits.set(sliceBits(source, offset, length), at >> 3);
      this.#clearAfter(at + length);
    } else {
      for (let index = 0; index < length; index++) {
        if (getBit(source, offset + index)) setBit(this.bits, at + index);
      }
    }
    this.#length += length;
  }

  /** `length` set bits. */
  fill(length: number): void {
    const end = this.#length + length;
    let index = this.#length;
    for (; index < end && (index & 7) !== 0; index++) setBit(this.bits, index);
    const whole = end >> 3;
    if (index < end) this.bits.fill(255, index >> 3, Math.max(whole, index >> 3));
    for (index = Math.max(index, whole << 3); index < end; index++) setBit(this.bits, index);
    this.#length = end;
  }

  #clearAfter(end: number): void {
    if ((end & 7) !== 0) this.bits[end >> 3]! &= (1 << (end & 7)) - 1;
  }
}
