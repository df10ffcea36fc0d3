import type { SearchMetric } from '../../request/search-metric.ts';
import type { CodeDirectory } from './code-file.ts';
import { rotationOf } from './rotation.ts';
import { LONGEST, SHORTEST, weightsOf } from './vector-encoder.ts';

/** Greatest value in a table. */
const TABLE_MOST = 63;
/** Bound of sums of products with 8-bit codes, which must stay below 2 ** 31. */
const SUMS_MOST = 2 ** 31 / 127;
const QUERY_MOST = 32_767;

/** A query vector in the form that the kernels compare with the codes of one file. */
export interface EncodedQuery {
  /** Part of each distance that depends on the query alone. */
  readonly constant: number;
  /** For each four values of the vector the contribution of their sixteen possible bits. */
  readonly tables: Uint8Array;
  readonly scale: number;
  readonly base: number;
  /** Assumed greatest error of a product per unit of error in the tables' sum. */
  readonly tolerance: number;
  readonly numbers: Int16Array;
  readonly step: number;
  /** An error that few distances from 8-bit codes exceed. */
  readonly error: number;
}

/** Whether a query can be compared with codes: all of its values are finite. */
export function isPlain(query: Float32Array, distance: SearchMetric): boolean {
  if (distance === 'hamming') return true;
  const squares = query.reduce((sum, value) => sum + value * value, 0);
  return squares < LONGEST && (distance !== 'cosine' || squares > SHORTEST);
}

/** Encodes a query vector for the codes of a file. */
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
  const none = { constant: 0, base: 0, tolerance: 0, step: 0, error: 0 };
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
    tolerance: length * sine,
    ...integersOf(vector),
    // Errors of codes are uniform within a step: three standard errors.
    error: (3 * step * length) / Math.sqrt(12),
  };
}

interface Turned {
  readonly vector: Float64Array;
  readonly constant: number;
}

/** The query minus the mean of the vectors; for products the query itself. */
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

/**
 * Tables that give the sum of a vector's values, each with the sign of its bit, as sums of small
 * integers.
 */
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

/** Sum of the absolute values of four numbers. */
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
