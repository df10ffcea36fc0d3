import { isUtf8 } from 'node:buffer';
import { corrupt } from '../arrow-error.ts';

/**
 * Reads FlatBuffers tables of untrusted bytes. Every access is checked against
 * the buffer's end, and references only lead forwards, so no input can loop.
 */
export class FlatTable {
  readonly #view: DataView;
  readonly #start: number;
  readonly #vtable: number;
  readonly #vtableBytes: number;

  private constructor(view: DataView, start: number) {
    this.#view = view;
    this.#start = start;
    this.#vtable = start - view.getInt32(need(view, start, 4), true);
    this.#vtableBytes = view.getUint16(need(view, this.#vtable, 4), true);
    need(view, this.#vtable, this.#vtableBytes);
  }

  /** The root table of a buffer. */
  static root(bytes: Uint8Array): FlatTable {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    return new FlatTable(view, view.getUint32(need(view, 0, 4), true));
  }

  int8(slot: number, absent = 0): number {
    const at = this.#field(slot, 1);
    return at === 0 ? absent : this.#view.getInt8(at);
  }

  uint8(slot: number): number {
    return this.int8(slot) & 255;
  }

  bool(slot: number): boolean {
    return this.int8(slot) !== 0;
  }

  int16(slot: number, absent = 0): number {
    const at = this.#field(slot, 2);
    return at === 0 ? absent : this.#view.getInt16(at, true);
  }

  int32(slot: number, absent = 0): number {
    const at = this.#field(slot, 4);
    return at === 0 ? absent : this.#view.getInt32(at, true);
  }

  /** A 64-bit number; one that a double does not hold exactly is corrupt here. */
  int64(slot: number): number {
    const at = this.#field(slot, 8);
    return at === 0 ? 0 : safeInt64(this.#view, at);
  }

  string(slot: number): string | undefined {
    const list = this.#vector(slot, 1);
    if (list === undefined) return undefined;
    const bytes = new Uint8Array(this.#view.buffer, this.#view.byteOffset + list.start, list.count);
    if (!isUtf8(bytes)) throw corrupt('A name or metadata text of the message is not valid UTF-8.');
    return decoder.decode(bytes);
  }

  table(slot: number): FlatTable | undefined {
    const at = this.#field(slot, 4);
    return at === 0 ? undefined : new FlatTable(this.#view, this.#follow(at));
  }

  tables(slot: number): FlatTable[] {
    const list = this.#vector(slot, 4);
    if (list === undefined) return [];
    return Array.from(
      { length: list.count },
      (_, index) => new FlatTable(this.#view, this.#follow(list.start + 4 * index)),
    );
  }

  int32s(slot: number): Int32Array | undefined {
    const list = this.#vector(slot, 4);
    if (list === undefined) return undefined;
    return Int32Array.from({ length: list.count }, (_, index) =>
      this.#view.getInt32(list.start + 4 * index, true),
    );
  }

  /**
   * A vector of structs of `size` bytes, as the 64-bit numbers at the given
   * byte positions inside each, one struct after the other.
   */
  int64s(slot: number, size: number, positions: readonly number[]): Float64Array {
    const list = this.#vector(slot, size);
    if (list === undefined) return new Float64Array(0);
    const result = new Float64Array(list.count * positions.length);
    let next = 0;
    for (let index = 0; index < list.count; index++) {
      for (const position of positions) {
        result[next++] = safeInt64(this.#view, list.start + index * size + position);
      }
    }
    return result;
  }

  /** A vector of structs of `size` bytes, as the 32-bit number at a byte position inside each. */
  structInt32s(slot: number, size: number, position: number): Int32Array {
    const list = this.#vector(slot, size);
    return Int32Array.from({ length: list?.count ?? 0 }, (_, index) =>
      this.#view.getInt32(list!.start + index * size + position, true),
    );
  }

  #field(slot: number, size: number): number {
    const entry = 4 + 2 * slot;
    if (entry + 2 > this.#vtableBytes) return 0;
    const offset = this.#view.getUint16(this.#vtable + entry, true);
    return offset === 0 ? 0 : need(this.#view, this.#start + offset, size);
  }

  #follow(at: number): number {
    const target = at + this.#view.getUint32(at, true);
    if (target <= at) throw corrupt('The metadata of a message refers to itself.');
    return target;
  }

  #vector(slot: number, size: number): { start: number; count: number } | undefined {
    const at = this.#field(slot, 4);
    if (at === 0) return undefined;
    const start = need(this.#view, this.#follow(at), 4);
    const count = this.#view.getUint32(start, true);
    need(this.#view, start + 4, count * size);
    return { start: start + 4, count };
  }
}

const decoder = new TextDecoder('utf-8', { ignoreBOM: true });

function need(view: DataView, position: number, bytes: number): number {
  if (position < 0 || position + bytes > view.byteLength) {
    throw corrupt('The metadata of a message points outside itself.');
  }
  return position;
}

function safeInt64(view: DataView, at: number): number {
  const value = view.getInt32(at + 4, true) * 0x1_0000_0000 + view.getUint32(at, true);
  if (!Number.isSafeInteger(value)) throw corrupt('A length in the metadata is beyond 2^53.');
  return value;
}
