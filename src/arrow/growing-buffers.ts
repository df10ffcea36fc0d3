import { bitmapBytes } from './bitmap.ts';

/* Buffers of a column that grows. Their memory is reused after `take`, which copies it. */

const FIRST_LENGTH = 64;
/** Most bytes of UTF-8 for a UTF-16 code unit. */
const WIDEST = 3;

/** A bitmap. */
export class BitBuffer {
  #bytes = new Uint8Array(FIRST_LENGTH);
  #length = 0;
  #unset = 0;

  add(isSet: boolean, times = 1): void {
    let at = this.#length;
    const end = at + times;
    this.#length = end;
    while (bitmapBytes(end) > this.#bytes.length) this.#bytes = widened(this.#bytes, Uint8Array);
    if (!isSet) this.#unset += times;
    else for (; at < end; at++) this.#bytes[at >> 3]! |= 1 << (at & 7);
  }

  take(): { readonly length: number; readonly unset: number; readonly bytes: Uint8Array } {
    const [length, unset] = [this.#length, this.#unset];
    const bytes = this.#bytes.slice(0, bitmapBytes(length));
    this.#bytes.fill(0, 0, bytes.length);
    this.#length = 0;
    this.#unset = 0;
    return { length, unset, bytes };
  }
}

/** An array of numbers of one size. */
export type BufferArray = Int32Array | BigInt64Array | BigUint64Array;

/** Makes such an array. */
export type BufferArrayOf<Values extends BufferArray> = new (length: number) => Values;

export class NumberBuffer<Values extends BufferArray> {
  readonly #array: BufferArrayOf<Values>;
  #values: Values;
  #length = 0;

  constructor(array: BufferArrayOf<Values>) {
    this.#array = array;
    this.#values = new array(FIRST_LENGTH);
  }

  add(value: Values[number], times = 1): void {
    let at = this.#length;
    const end = at + times;
    this.#length = end;
    while (end > this.#values.length) this.#values = widened(this.#values, this.#array);
    for (; at < end; at++) this.#values[at] = value;
  }

  take(): Values {
    const values = this.#values.slice(0, this.#length) as Values;
    this.#length = 0;
    return values;
  }
}

/** Texts in UTF-8 and where they end. */
export class TextBuffer {
  readonly #ends = new NumberBuffer(Int32Array);
  #bytes = Buffer.allocUnsafeSlow(FIRST_LENGTH);
  #end = 0;

  constructor() {
    this.#ends.add(0);
  }

  add(text: string): void {
    const most = this.#end + WIDEST * text.length;
    if (most > this.#bytes.length) {
      this.#bytes = Buffer.concat([this.#bytes.subarray(0, this.#end)], 2 * most);
    }
    this.#end += this.#bytes.write(text, this.#end);
    this.#ends.add(this.#end);
  }

  addEmpty(times: number): void {
    this.#ends.add(this.#end, times);
  }

  take(): { readonly offsets: Int32Array; readonly values: Uint8Array } {
    const offsets = this.#ends.take();
    const values = new Uint8Array(this.#bytes.subarray(0, this.#end));
    this.#ends.add(0);
    this.#end = 0;
    return { offsets, values };
  }
}

function widened<Values extends BufferArray | Uint8Array>(
  values: Values,
  array: new (length: number) => Values,
): Values {
  const wider = new array(2 * values.length);
  for (let at = 0; at < values.length; at++) wider[at] = values[at]!;
  return wider;
}
