import { Data, RecordBatch, Struct, type DataType, type Schema, type Vector } from 'apache-arrow';
import { getBit } from './bitmap.ts';
import { layoutOf } from './layout.ts';

/** Metadata of batches: none of ours has any. */
const noMetadata: ReadonlyMap<string, string> = new Map();

/** A batch over columns that already have the schema's types and the right length. */
export function batchOfData(schema: Schema, children: Data[], rows: number): RecordBatch {
  const data = dataOf(structOf(schema), { length: rows, nullCount: 0, children });
  // The package's constructor would rebuild the schema, in quadratic time; that of an empty one takes 1.3 µs.
  const batch: RecordBatch = Object.create(RecordBatch.prototype);
  return Object.assign(batch, { schema, data, _metadata: noMetadata });
}

/** Struct types by schema: batches are created more often than schemas. */
const structs = new WeakMap<Schema, Struct>();

function structOf(schema: Schema): Struct {
  const cached = structs.get(schema);
  if (cached !== undefined) return cached;
  const struct = new Struct(schema.fields);
  structs.set(schema, struct);
  return struct;
}

/** A typed array of any element type. */
export type TypedArray =
  | Int8Array
  | Uint8Array
  | Int16Array
  | Uint16Array
  | Int32Array
  | Uint32Array
  | BigInt64Array
  | BigUint64Array
  | Float32Array
  | Float64Array;

/** The parts of a column; parts that the layout lacks are absent. */
export interface DataParts {
  readonly length: number;
  readonly nullCount: number;
  readonly validity?: Uint8Array | undefined;
  readonly values?: TypedArray;
  readonly offsets?: Int32Array | BigInt64Array;
  readonly typeIds?: Int8Array;
  readonly children?: Data[];
  readonly dictionary?: Vector | undefined;
  readonly variadic?: readonly Uint8Array[];
}

const noBits = new Uint8Array(0);

/** A column that starts at its buffers' first element. */
export function dataOf(type: DataType, parts: DataParts): Data {
  const buffers = {
    0: parts.offsets,
    1: parts.values,
    2: parts.nullCount === 0 ? noBits : (parts.validity ?? noBits),
    3: parts.typeIds,
  };
  const { length, nullCount, children = [], dictionary, variadic = [] } = parts;
  return new Data(type, 0, length, nullCount, buffers, children, dictionary, variadic);
}

/** The same column under another type of the same layout, with other children or dictionary if given. */
export function retyped(
  data: Data,
  type: DataType,
  children: Data[] = data.children,
  dictionary: Vector | undefined = data.dictionary,
): Data {
  // `Data.clone` cannot take a dictionary.
  const { offset, length, nullCount, variadicBuffers } = data;
  const nulls = layoutOf(type) === 'null' ? length : nullCount;
  return new Data(type, offset, length, nulls, data, children, dictionary, variadicBuffers);
}

/** How many rows are null by the column's own bitmap. Unions have no bitmap. */
export function nullCountOf(data: Data): number {
  const layout = layoutOf(data.type);
  if (layout === 'null') return data.length;
  if (layout === 'dense-union' || layout === 'sparse-union') return 0;
  return data.nullCount;
}

/** Whether the row is null by the column's own bitmap. */
export function isNull(data: Data, row: number): boolean {
  return nullCountOf(data) > 0 && isMarkedNull(data, row);
}

/** Like `isNull`, for columns that are known to have nulls. */
export function isMarkedNull(data: Data, row: number): boolean {
  const bits = data.nullBitmap;
  // A column of the null type has no bitmap.
  return bits === undefined || bits.length === 0 || !getBit(bits, data.offset + row);
}

/** `isNull` for many rows: the column is looked at once. */
export function nullsIn(data: Data): (row: number) => boolean {
  if (nullCountOf(data) === 0) return () => false;
  return (row) => isMarkedNull(data, row);
}

/** Rows `offset` to `offset + length` without copying. */
export function sliceData(data: Data, offset: number, length: number): Data {
  if (offset === 0 && length === data.length) return data;
  if (layoutOf(data.type) === 'null') return new Data(data.type, 0, length, length);
  return data.slice(offset, length);
}

/** The bytes under the first `count` elements of a typed array, without copying. */
export function bytesOf(array: TypedArray, count: number = array.length): Uint8Array {
  return new Uint8Array(array.buffer, array.byteOffset, count * array.BYTES_PER_ELEMENT);
}

/**
 * A typed array's bytes as 32-bit words, without copying. 64-bit values are
 * read as pairs of them (low word first), for BigInt is slow in bulk loops.
 */
export function wordsOf(array: TypedArray): Uint32Array {
  return new Uint32Array(array.buffer, array.byteOffset, Math.floor(array.byteLength / 4));
}

interface TypedArrayConstructor<T extends TypedArray> {
  readonly BYTES_PER_ELEMENT: number;
  new (buffer: ArrayBufferLike, byteOffset: number, length: number): T;
}

/** Copies bytes. `slice` of a `Buffer` shares its memory, and the type does not show which it is. */
export function copyBytes(
  bytes: Uint8Array,
  start = 0,
  end = bytes.length,
): Uint8Array<ArrayBuffer> {
  return new Uint8Array(bytes.subarray(start, end));
}

/** Bytes seen as elements, without copying unless they are not aligned; a trailing part element is left out. */
export function elementsOf<T extends TypedArray>(
  constructor: TypedArrayConstructor<T>,
  bytes: Uint8Array,
): T {
  const width = constructor.BYTES_PER_ELEMENT;
  const aligned = bytes.byteOffset % width === 0 ? bytes : copyBytes(bytes);
  return new constructor(aligned.buffer, aligned.byteOffset, Math.floor(bytes.length / width));
}

/** The data of a column in one piece. @throws Error for a column without any. */
export function columnData(column: Vector): Data {
  const [data] = column.data;
  if (data === undefined) throw new Error('a column has no data');
  return data;
}

/** A child of nested data, or a column of a batch's data. @throws Error if there is none at the position. */
export function childData(data: Data, position = 0): Data {
  const child = data.children[position];
  if (child !== undefined) return child;
  throw new Error(`nested data has no child at position ${position}`);
}
