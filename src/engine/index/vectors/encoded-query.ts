import type { SearchMetric } from '../../request/search-metric.ts';
import type { CodeDirectory } from './code-file.ts';
import { rotationOf } from './rotation.ts';
import { LONGEST, SHORTEST, weightsOf } from './vector-encoder.ts';

/** The values of tables are whole numbers up to this one. */
const TABLE_MOST = 63;
/** Sums of products with codes of eight bits must stay below 2 ** 31. */
const SUMS_MOST = 2 ** 31 / 127;
const QUERY_MOST = 32_767;

/** A query vector as the kernels compare it with the codes of one file. */
export interface EncodedQuery {
  /** The part of each distance that depends on the query alone. */
  readonly constant: number;
  /** For each four numbers of the vector what their sixteen possible bits have to do with it. */
  readonly tables: Uint8Array;
  readonly scale: number;
  readonly base: number;
  /** The greatest error of a product that is reckoned with, for an error of 1 in the tables' sum. */
  readonly doubt: number;
  readonly numbers: Int16Array;
  readonly step: number;
  /** An error that few distances by codes of eight bits have. */
  readonly error: number;
}

/** Whether a query can be compared with codes. */
export function isPlain(query: Float32Array, distance: SearchMetric): boolean {
  if (distance === 'hamming') return true;
  const squares = query.reduce((sum, value) => sum + value * value, 0);
  return squares < LONGEST && (distance !== 'cosine' || squares > SHORTEST);
}

/** Makes of a query vector what the codes of a file are compared with. */
export function encodeQuery(query: Float32Array, directory: CodeDirectory): EncodedQuery {
  return directory.shape.whole ? bitsOf(query) : numbersOf(query, directory);
}

function bitsOf(query: Float32Array): EncodedQuery {
  const tables = new Uint8Array(16 * 2 * query.length);
  for (const [at, byte] of query.entries()) {
    for (let half = 0; half < 2; half++) {
      const own = (byte >> (4 * half)) & 15;
      for (let other = 0; other < 16; other++) {
        tables[16 * (2 * at + half) + other] = onesOf(own ^ other);
      }
    }
  }
  const none = { constant: 0, base: 0, doubt: 0, step: 0, error: 0 };
  return { ...none, tables, scale: 1, numbers: new Int16Array() };
}

function onesOf(bits: number): number {
  return (bits & 1) + ((bits >> 1) & 1) + ((bits >> 2) & 1) + (bits >> 3);
}

function numbersOf(query: Float32Array, directory: CodeDirectory): EncodedQuery {
  const { error: sine, step } = directory;
  const { vector, constant } = turned(query, directory);
  const length = Math.sqrt(vector.reduce((sum, value) => sum + value * value, 0));
  return {
    constant,
    ...tablesOf(vector),
    doubt: length * sine,
    ...integersOf(vector),
    // The errors of codes lie evenly within a step; three times what they are as a rule.
    error: (3 * step * length) / Math.sqrt(12),
  };
}

interface Turned {
  readonly vector: Float64Array;
  readonly constant: number;
}

/** The query counted from the middle of the vectors, but for products: they are of the query itself. */
function turned(query: Float32Array, { shape, distance, middle }: CodeDirectory): Turned {
  const vector = new Float64Array(query);
  if (distance === 'cosine') {
    const length = Math.sqrt(vector.reduce((sum, value) => sum + value * value, 0));
    for (let at = 0; at < vector.length; at++) vector[at]! /= length;
  }
  let constant = 1;
  for (let at = 0; at < vector.length; at++) {
    if (distance === 'dot') constant -= vector[at]! * middle[at]!;
    else vector[at]! -= middle[at]!;
  }
  if (distance !== 'dot') {
    const squares = vector.reduce((sum, value) => sum + value * value, 0);
    constant = weightsOf(distance).square * squares;
  }
  rotationOf(shape.size).turn(vector);
  return { vector, constant };
}

/** The sum of a vector's numbers, each with the sign of its bit, as sums of small whole numbers. */
function tablesOf(vector: Float64Array) {
  const count = Math.ceil(vector.length / 4);
  const tables = new Uint8Array(16 * count);
  let range = 0;
  for (let at = 0; at < count; at++) range = Math.max(range, 2 * sizeOf(vector, at));
  const scale = range > 0 ? range / TABLE_MOST : 1;
  let base = 0;
  for (let at = 0; at < count; at++) {
    const least = -sizeOf(vector, at);
    base += least;
    for (let bits = 0; bits < 16; bits++) {
      let sum = 0;
      for (let bit = 0; bit < 4 && 4 * at + bit < vector.length; bit++) {
        const value = vector[4 * at + bit]!;
        sum += ((bits >> bit) & 1) === 1 ? value : -value;
      }
      tables[16 * at + bits] = Math.round((sum - least) / scale);
    }
  }
  return { tables, scale, base };
}

/** The sum of the sizes of four numbers. */
function sizeOf(vector: Float64Array, table: number): number {
  let sum = 0;
  for (let at = 4 * table; at < Math.min(vector.length, 4 * table + 4); at++) {
    sum += Math.abs(vector[at]!);
  }
  return sum;
}

function integersOf(vector: Float64Array) {
  const most = vector.reduce((greatest, value) => Math.max(greatest, Math.abs(value)), 0);
  const top = Math.min(QUERY_MOST, Math.floor(SUMS_MOST / vector.length));
  const step = most > 0 ? most / top : 1;
  return { numbers: Int16Array.from(vector, (value) => Math.round(value / step)), step };
}
