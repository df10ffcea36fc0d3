import { Binary, Field, Schema, Uint32, type Data, type DataType } from 'apache-arrow';
import { batchOfData, copyBytes, dataOf } from '../../../arrow/data.ts';
import { concatData } from '../../../arrow/concat.ts';
import { nullsOf } from '../../../arrow/nullability.ts';
import { takeData } from '../../../arrow/take.ts';
import { bytesData } from '../../format/manifest-data.ts';
import type { FragmentIndex, IndexDefinition, TableFolder } from '../../format/snapshot.ts';
import { IndexFile } from './index-file.ts';
import { setBit } from '../../../arrow/bitmap.ts';

/** First word of each form. */
const AS_ROWS = 0;
const AS_BITS = 1;
const HEADER = 4;

/**
 * Encodes ascending rows in the shorter of two forms: a list, or a bit for each row of the
 * fragment.
 */
export function encodeRows(rows: Uint32Array, of: number): Uint8Array {
  const bitBytes = Math.ceil(of / 8);
  if (4 * rows.length <= bitBytes) {
    const bytes = new Uint8Array(HEADER + 4 * rows.length);
    bytes[0] = AS_ROWS;
    new Uint32Array(bytes.buffer, HEADER).set(rows);
    return bytes;
  }
  const bytes = new Uint8Array(HEADER + bitBytes);
  bytes[0] = AS_BITS;
  for (const row of rows) setBit(bytes, 8 * HEADER + row);
  return bytes;
}

/** The inverse of `encodeRows`. */
export function decodeRows(bytes: Uint8Array): Uint32Array {
  const body = copyBytes(bytes, HEADER);
  if (bytes[0] === AS_ROWS) return new Uint32Array(body.buffer, 0, body.length >> 2);
  const rows = new Uint32Array(8 * body.length);
  let count = 0;
  for (let at = 0; at < body.length; at++) {
    for (let bits = body[at]!; bits !== 0; bits &= bits - 1) {
      rows[count++] = 8 * at + (31 - Math.clz32(bits & -bits));
    }
  }
  return rows.slice(0, count);
}

/** Column beside the keys: one row per key, or all rows of a key. */
type Payload = 'row' | 'postings';

/**
 * Schema of an index file. Its batches are pages of keys with their rows. The last batch holds the
 * first and the last key of each page without rows; long texts are shortened as bounds are.
 */
export function pageSchema(key: DataType, payload: Payload): Schema {
  const rows = payload === 'row' ? new Uint32() : new Binary();
  return new Schema([new Field('key', key, true), new Field('rows', rows, false)]);
}

/** Writes one index file page by page. */
export class PageWriter {
  readonly #schema: Schema;
  readonly #file: IndexFile;
  readonly #endsOf: (keys: Data) => Data;
  readonly #ends: Data[] = [];

  private constructor(schema: Schema, file: IndexFile, endsOf: (keys: Data) => Data) {
    this.#schema = schema;
    this.#file = file;
    this.#endsOf = endsOf;
  }

  /**
   * Creates a file in a table's folder.
   * @param endsOf Shortens the first and the last key of a page; identity if absent.
   */
  static async create(
    table: TableFolder,
    index: string,
    schema: Schema,
    endsOf: (keys: Data) => Data = (keys) => keys,
  ): Promise<PageWriter> {
    return new PageWriter(schema, await IndexFile.create(table, index, schema), endsOf);
  }

  /** Writes a page of sorted keys with one row each. */
  async rows(keys: Data, rows: Uint32Array): Promise<void> {
    const values = rows.slice();
    await this.page(keys, dataOf(new Uint32(), { length: rows.length, nullCount: 0, values }));
  }

  /** Writes a page of distinct keys with their encoded rows. */
  async postings(keys: Data, postings: readonly Uint8Array[]): Promise<void> {
    await this.page(
      keys,
      bytesData(postings, (bytes) => bytes),
    );
  }

  /** Writes a page of keys with what is beside them. Both are copied. */
  async page(keys: Data, payload: Data): Promise<void> {
    // A copy, since a slice would keep the whole page in memory.
    this.#ends.push(this.#endsOf(takeData(keys, Uint32Array.of(0, keys.length - 1))));
    await this.#file.batch(batchOfData(this.#schema, [keys, payload], keys.length));
  }

  /** Finishes the file. The file and its name are durable when this returns. */
  async finish(index: IndexDefinition): Promise<FragmentIndex> {
    await this.#directory();
    return this.#file.finish(index);
  }

  /** Abandons and removes the file. */
  abandon(): Promise<void> {
    return this.#file.abandon();
  }

  async #directory(): Promise<void> {
    const [key, rows] = [this.#schema.fields[0]!.type, this.#schema.fields[1]!.type];
    const keys = this.#ends.length === 0 ? nullsOf(key, 0) : concatData(this.#ends);
    const count = keys.length;
    const none =
      rows instanceof Uint32
        ? dataOf(new Uint32(), { length: count, nullCount: 0, values: new Uint32Array(count) })
        : bytesData(Array.from({ length: count }), () => new Uint8Array());
    await this.#file.batch(batchOfData(this.#schema, [keys, none], count));
  }
}
