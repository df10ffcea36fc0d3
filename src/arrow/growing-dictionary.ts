import { Vector, DataType, type Data, type Dictionary, type Schema } from 'apache-arrow';
import { sliceBits } from './bitmap.ts';
import { dataOf, isMarkedNull, nullCountOf, isNull, type TypedArray } from './data.ts';
import { ArrowError } from './arrow-error.ts';
import { newLike } from './gather.ts';
import { rowKey } from './row-key.ts';
import { takeData } from './take.ts';
import { childrenOf } from './nested-type.ts';

/** A dictionary of an output, which grows with each batch. */
export interface WrittenDictionary {
  readonly type: Dictionary;
  readonly values: GrowingDictionary;
}

/**
 * The dictionaries of one output, by the ids of its writable schema. Batches
 * may bring different ones for a column; theirs become one.
 */
export class WrittenDictionaries {
  readonly #byId = new Map<number, WrittenDictionary>();

  constructor(writable: Schema) {
    for (const field of writable.fields) this.#register(field.type);
  }

  /** Outer ones before those inside their values. */
  all(): readonly WrittenDictionary[] {
    return [...this.#byId.values()];
  }

  /** A dictionary column with indices into the output's dictionary. */
  remap(data: Data, type: Dictionary): Data {
    const written = this.#byId.get(type.id);
    if (written === undefined || data.dictionary === undefined) {
      throw new TypeError(`No dictionary ${type.id} is written.`);
    }
    return remapIndices(data, written.values.add(data.dictionary));
  }

  #register(type: DataType): void {
    if (DataType.isDictionary(type)) {
      const dictionary: Dictionary = type;
      const values = new GrowingDictionary(dictionary);
      this.#byId.set(dictionary.id, { type: dictionary, values });
      this.#register(dictionary.dictionary);
    }
    for (const child of childrenOf(type)) this.#register(child.type);
  }
}

/** Number of values that an index type can address. */
function indexCapacity(type: Dictionary): number {
  const { bitWidth, isSigned } = type.indices;
  return 2 ** (isSigned ? bitWidth - 1 : bitWidth);
}

/**
 * One dictionary made of many: values are added at its end when they are not
 * in it yet, so earlier indices stay right. An ordered dictionary keeps its
 * mark, though values of later dictionaries come last.
 */
export class GrowingDictionary {
  readonly #type: Dictionary;
  readonly #places = new Map<string, number>();
  readonly #chunks: Data[] = [];
  readonly #maps = new WeakMap<Data, Int32Array>();
  #taken = 0;

  constructor(type: Dictionary) {
    this.#type = type;
  }

  /** How many values it has. */
  get length(): number {
    return this.#places.size;
  }

  /**
   * Adds the values of a dictionary and returns their indices.
   * Throws `limit` if the index type cannot count them all.
   */
  add(dictionary: Vector): Int32Array {
    const maps = dictionary.data.map((chunk) => this.#addChunk(chunk));
    const [only] = maps;
    if (only !== undefined && maps.length === 1) return only;
    const joined = new Int32Array(dictionary.length);
    let at = 0;
    for (const map of maps) {
      joined.set(map, at);
      at += map.length;
    }
    return joined;
  }

  /** All values, in pieces one after the other. */
  chunks(): readonly Data[] {
    return this.#chunks;
  }

  /** The values added since the last call, in pieces. */
  fresh(): readonly Data[] {
    const fresh = this.#chunks.slice(this.#taken);
    this.#taken = this.#chunks.length;
    return fresh;
  }

  #addChunk(chunk: Data): Int32Array {
    const cached = this.#maps.get(chunk);
    if (cached !== undefined) return cached;
    const map = new Int32Array(chunk.length);
    const added: number[] = [];
    for (let row = 0; row < chunk.length; row++) {
      const key = rowKey(chunk, row);
      let place = this.#places.get(key);
      if (place === undefined) {
        place = this.#places.size;
        this.#places.set(key, place);
        added.push(row);
      }
      map[row] = place;
    }
    this.#checkCapacity();
    if (added.length > 0 || this.#chunks.length === 0) {
      const whole = added.length === chunk.length;
      this.#chunks.push(whole ? chunk : takeData(chunk, Uint32Array.from(added)));
    }
    this.#maps.set(chunk, map);
    return map;
  }

  #checkCapacity(): void {
    const most = indexCapacity(this.#type);
    if (this.#places.size <= most) return;
    const found = `${this.#places.size} values, its index type ${String(this.#type.indices)}`;
    throw new ArrowError('limit', `A joint dictionary would have ${found} can hold ${most}.`);
  }
}

/** A dictionary column with indices into another dictionary. The column itself if nothing changes. */
export function remapIndices(data: Data, map: Int32Array): Data {
  if (isIdentity(map)) return data;
  const source: Uint32Array = data.values;
  const target = newLike(source, data.length);
  const nulls = nullCountOf(data) > 0;
  for (let row = 0; row < data.length; row++) {
    if (!(nulls && isMarkedNull(data, row))) target[row] = map[source[row]!]!;
  }
  return withIndices(data, target);
}

function isIdentity(map: Int32Array): boolean {
  for (let index = 0; index < map.length; index++) if (map[index] !== index) return false;
  return true;
}

function withIndices(data: Data, values: TypedArray): Data {
  const { type, length, nullCount, dictionary } = data;
  const nulls = nullCountOf(data) > 0;
  const validity = nulls ? sliceBits(data.nullBitmap, data.offset, length) : undefined;
  return dataOf(type, { length, nullCount, values, dictionary, validity });
}

/**
 * A column of plain values as a dictionary column, whose dictionary holds each value
 * once. Throws `limit` if the index type cannot count them all.
 */
export function encodeDictionary(data: Data, type: Dictionary): Data {
  const { length } = data;
  const places = new Map<string, number>();
  const firsts: number[] = [];
  const { ArrayType } = type.indices;
  const values: TypedArray = new ArrayType(length);
  for (let row = 0; row < length; row++) {
    if (isNull(data, row)) continue;
    const key = rowKey(data, row);
    const place = places.get(key) ?? places.size;
    if (place === places.size) {
      places.set(key, place);
      firsts.push(row);
    }
    values[row] = place;
  }
  if (places.size > indexCapacity(type)) {
    throw new ArrowError('limit', `A dictionary would have ${places.size} values, too many.`);
  }
  const dictionary = new Vector([takeData(data, Uint32Array.from(firsts))]);
  const nullCount = nullCountOf(data);
  const validity = nullCount > 0 ? sliceBits(data.nullBitmap, data.offset, length) : undefined;
  return dataOf(type, { length, nullCount, values, dictionary, validity });
}
