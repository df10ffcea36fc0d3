import { DataType, type Data } from 'apache-arrow';
import { bytesOf, isNull, wordsOf } from '../../arrow/data.ts';
import { layoutOf } from '../../arrow/layout.ts';
import { rowKey } from '../../arrow/row-key.ts';

/** Puts the value of a row behind what is written; false for null. */
type Put = (row: number) => boolean;

/**
 * Writes the key of a row, of one column or of several, as words that two rows share
 * exactly if their values are the same bit for bit: NaN is like itself, and zero is
 * not like its negative. Each value takes whole words; one that may have any length
 * comes behind its length.
 */
export class KeyWriter {
  /** The key, in its first `count` words. */
  words = new Uint32Array(16);
  count = 0;
  #bytes = new Uint8Array(this.words.buffer);
  readonly #puts: readonly Put[];

  /** @param columns The columns of a batch, of types that `isKeyType` allows. */
  constructor(columns: readonly Data[]) {
    this.#puts = columns.map((data) => this.#putOf(data));
  }

  /** Writes the key of a row; false when a column is null there. */
  write(row: number): boolean {
    this.count = 0;
    for (const put of this.#puts) if (!put(row)) return false;
    return true;
  }

  #putOf(data: Data): Put {
    const layout = layoutOf(data.type);
    if (layout === 'fixed') return this.#putFixed(data);
    if (layout === 'bytes' || layout === 'large-bytes') return this.#putBytes(data);
    return this.#putText(data);
  }

  #putFixed(data: Data): Put {
    const width = data.stride * data.values.BYTES_PER_ELEMENT;
    const nulls = data.nullCount > 0;
    if (width === 8 && data.values.byteOffset % 4 === 0) return this.#putLong(data, nulls);
    const bytes = bytesOf(data.values);
    return (row) => {
      if (nulls && isNull(data, row)) return false;
      this.#put(bytes, row * width, width);
      return true;
    };
  }

  #putLong(data: Data, nulls: boolean): Put {
    const words = wordsOf(data.values);
    return (row) => {
      if (nulls && isNull(data, row)) return false;
      this.#reserve(2);
      this.words[this.count++] = words[2 * row]!;
      this.words[this.count++] = words[2 * row + 1]!;
      return true;
    };
  }

  #putBytes(data: Data): Put {
    const bytes: Uint8Array = data.values;
    const { valueOffsets } = data;
    const nulls = data.nullCount > 0;
    return (row) => {
      if (nulls && isNull(data, row)) return false;
      const start = Number(valueOffsets[row]);
      this.#putWithLength(bytes, start, Number(valueOffsets[row + 1]) - start);
      return true;
    };
  }

  #putText(data: Data): Put {
    return (row) => {
      const key = rowKey(data, row);
      // The value that an index leads to may itself be null.
      if (key === '-' || (key === '1:-' && DataType.isDictionary(data.type))) return false;
      const bytes = Buffer.from(key, 'latin1');
      this.#putWithLength(bytes, 0, bytes.length);
      return true;
    };
  }

  #putWithLength(bytes: Uint8Array, start: number, length: number): void {
    this.#reserve(1);
    this.words[this.count++] = length;
    this.#put(bytes, start, length);
  }

  /** Bytes, and zeros that fill up the last word. */
  #put(bytes: Uint8Array, start: number, length: number): void {
    const count = (length + 3) >> 2;
    this.#reserve(count);
    const target = this.#bytes;
    const at = 4 * this.count;
    this.words[this.count + count - 1] = 0;
    if (length > 64) target.set(bytes.subarray(start, start + length), at);
    else for (let index = 0; index < length; index++) target[at + index] = bytes[start + index]!;
    this.count += count;
  }

  #reserve(count: number): void {
    const needed = this.count + count;
    if (needed <= this.words.length) return;
    const words = new Uint32Array(2 * needed);
    words.set(this.words);
    this.words = words;
    this.#bytes = new Uint8Array(words.buffer);
  }
}

const keyTests: readonly ((type: DataType) => boolean)[] = [
  (type) => DataType.isInt(type),
  (type) => DataType.isFloat(type),
  (type) => DataType.isBool(type),
  (type) => DataType.isUtf8(type) || DataType.isLargeUtf8(type) || DataType.isUtf8View(type),
  (type) => DataType.isBinary(type) || DataType.isLargeBinary(type) || DataType.isBinaryView(type),
  (type) => DataType.isFixedSizeBinary(type),
  (type) => DataType.isDecimal(type),
  (type) => DataType.isDate(type) || DataType.isTime(type),
  (type) => DataType.isTimestamp(type) || DataType.isDuration(type),
  (type) => DataType.isDictionary(type) && isKeyType(type.dictionary),
];

/** Whether rows can be matched on values of a type. */
export function isKeyType(type: DataType): boolean {
  return keyTests.some((test) => test(type));
}
