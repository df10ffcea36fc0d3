import type { SearchMetric } from '../../request/search-metric.ts';
import type { CodeDirectory } from './code-file.ts';
import { rotationOf } from './rotation.ts';
import { weightsOf } from './vector-encoder.ts';
import { LONGEST, SHORTEST } from './vector-sums.ts';

/** Greatest value in a table. */
const TABLE_MOST = 63;
/** Bound of sums of products with 8-bit codes, which must stay below 2 ** 31. */
const SUMS_MOST = 2 ** 31 / 127;
const QUERY_MOST = 32_767;

/** A query vector in the form that the kernels compare with the codes of one file. */
export interface EncodedQuery {
  readonly distance: SearchMetric;
  /** The rotated query relative to the mean of the vectors; for products the query itself. */
  readonly vector: Float64Array;
  /** Its squared length. */
  readonly squared: number;
  /** Part of each product that depends on the query and the mean. */
  readonly product: number;
  /** Assumed greatest sine between vectors and their bits. */
  readonly sine: number;
  /** Standard error of the sums of the tables. */
  readonly roughness: number;
  /** For each four values of the vector the contribution of their sixteen possible bits. */
  readonly tables: Uint8Array;
  readonly scale: number;
  readonly base: number;
  readonly numbers: Int16Array;
  readonly step: number;
}

/** What the distances of a query to the rows around one centre have in common. */
export interface PlacedQuery {
  /** Part of each distance that depends on the query and the centre alone. */
  readonly constant: number;
  /** Standard error of a product from 1-bit codes. */
  readonly tolerance: number;
  /** An error that few distances from 8-bit codes exceed. */
  readonly error: number;
}

/** Rows that are encoded relative to one point. */
export interface CodedPlace {
  /** The rotated centre relative to the mean of the vectors; null for the mean itself. */
  readonly centre: Float32Array | null;
  /** Greatest factor of 8-bit codes. */
  readonly step: number;
  /** Greatest distance of a row to the point. */
  readonly radius: number;
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
  const none = { squared: 0, product: 0, base: 0, sine: 0, roughness: 0, step: 0 };
  const vector = new Float64Array();
  return { ...none, distance: 'hamming', vector, tables, scale: 1, numbers: new Int16Array() };
}

function onesOf(bits: number): number {
  return (bits & 1) + ((bits >> 1) & 1) + ((bits >> 2) & 1) + (bits >> 3);
}

function numbersOf(query: Float32Array, directory: CodeDirectory): EncodedQuery {
  const { distance, error: sine } = directory;
  const { vector, product } = turned(query, directory);
  const squared = squaresOf(vector);
  return { distance, vector, squared, product, sine, ...tablesOf(vector), ...integersOf(vector) };
}

/** The query minus the mean of the vectors; for products the query itself. */
function turned(query: Float32Array, { shape, distance, middle }: CodeDirectory) {
  const vector = new Float64Array(query);
  if (distance === 'cosine') {
    const length = Math.sqrt(squaresOf(vector));
    for (let at = 0; at < vector.length; at++) vector[at]! /= length;
  }
  let product = 0;
  for (let at = 0; at < vector.length; at++) {
    if (distance === 'dot') product += vector[at]! * middle[at]!;
    else vector[at]! -= middle[at]!;
  }
  rotationOf(shape.size).turn(vector);
  return { vector, product };
}

function squaresOf(vector: Float64Array): number {
  return vector.reduce((sum, value) => sum + value * value, 0);
}

/** Relative error of sums of floats of 32 bits. */
const ROUNDING = 2 ** -21;

/** Prepares a query for the rows around a point. */
export function placedQuery(
  query: EncodedQuery,
  { centre, step, radius }: CodedPlace,
): PlacedQuery {
  const { distance, vector, sine, roughness } = query;
  if (distance === 'hamming') return { constant: 0, tolerance: 0, error: 0 };
  const apart = distance === 'dot' ? Math.sqrt(query.squared) : apartFrom(query, centre);
  const { square } = weightsOf(distance);
  const constant =
    distance === 'dot' ? 1 - query.product - productOf(vector, centre) : square * apart * apart;
  return {
    constant,
    tolerance: Math.hypot(apart * sine, roughness),
    error: greatestError(query, { centre, step, radius }, { constant, apart }),
  };
}

/**
 * Errors of codes and of the query's integers are uniform within a step: three standard errors. The
 * distances around a centre are differences of numbers that may be much greater.
 */
function greatestError(
  { distance, squared, step: queryStep }: EncodedQuery,
  { centre, step, radius }: CodedPlace,
  { constant, apart }: { readonly constant: number; readonly apart: number },
): number {
  const products = weightsOf(distance).product * (centre === null ? 0 : radius);
  const uniform = (3 * (step * apart + products * queryStep)) / Math.sqrt(12);
  return uniform + ROUNDING * (products * Math.sqrt(squared) + Math.abs(constant));
}

function apartFrom({ vector, squared }: EncodedQuery, centre: Float32Array | null): number {
  if (centre === null) return Math.sqrt(squared);
  let sum = 0;
  for (let at = 0; at < vector.length; at++) sum += (vector[at]! - centre[at]!) ** 2;
  return Math.sqrt(sum);
}

function productOf(vector: Float64Array, centre: Float32Array | null): number {
  let sum = 0;
  if (centre !== null) for (let at = 0; at < vector.length; at++) sum += vector[at]! * centre[at]!;
  return sum;
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
  return { tables, scale, base, roughness: scale * Math.sqrt(count / 12) };
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
