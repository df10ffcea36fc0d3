import { DataType, Precision, type Data, type Vector } from 'apache-arrow';
import { getBit } from './bitmap.ts';
import { mergeBounds, type Bounds, type HasValue } from './bounds.ts';
import { isMarkedNull, nullCountOf, wordsOf, type TypedArray } from './data.ts';
import { extremesOfBytes } from './extremes-of-bytes.ts';
import { extremesOfWords } from './extremes-of-words.ts';
import { halfToFloat } from './half-float.ts';
import { layoutOf } from './layout.ts';

/** Bounds and nulls of a column in some rows. */
export interface Extremes {
  readonly rows: number;
  readonly nulls: number;
  /** Whether a value is NaN. The bounds are those of the others. */
  readonly nan: boolean;
  /** Null if there are only nulls and NaN. */
  readonly bounds: Bounds | null;
}

/**
 * The extremes of a column's values; undefined for types whose nulls are not
 * counted in one place. Nested values have no bounds of which anything is said:
 * see `hasBounds`.
 */
export function extremesOf(data: Data): Extremes | undefined {
  if (DataType.isUnion(data.type)) return undefined;
  if (DataType.isDictionary(data.type)) return extremesOfEncoded(data, data.dictionary!);
  const rows = data.length;
  const nulls = nullCountOf(data);
  if (nulls === rows || !hasBounds(data.type)) return { rows, nulls, nan: false, bounds: null };
  return { rows, nulls, ...scanned(data, nulls > 0 ? (row) => !isMarkedNull(data, row) : null) };
}

const bounded: readonly ((type: DataType) => boolean)[] = [
  (type) => DataType.isInt(type) || DataType.isFloat(type) || DataType.isBool(type),
  (type) => DataType.isUtf8(type) || DataType.isLargeUtf8(type),
  (type) => DataType.isBinary(type) || DataType.isLargeBinary(type),
  (type) => DataType.isFixedSizeBinary(type),
  (type) => DataType.isDate(type) || DataType.isTime(type) || DataType.isTimestamp(type),
  (type) => DataType.isDuration(type) || DataType.isDecimal(type),
];

/** Whether a type has bounds. */
export function hasBounds(type: DataType): boolean {
  if (DataType.isDictionary(type)) return hasBounds(type.dictionary);
  return bounded.some((test) => test(type));
}

/** Extremes over the rows of both. */
export function mergeExtremes(left: Extremes, right: Extremes): Extremes {
  return {
    rows: left.rows + right.rows,
    nulls: left.nulls + right.nulls,
    nan: left.nan || right.nan,
    bounds: mergeBounds(left.bounds, right.bounds),
  };
}

type Found = Pick<Extremes, 'nan' | 'bounds'>;

function scanned(data: Data, has: HasValue): Found {
  const { type } = data;
  if (DataType.isBool(type)) return scannedBits(data, has);
  if (DataType.isFloat(type)) return scannedFloats(data, has);
  const layout = layoutOf(type);
  if (layout !== 'fixed' || DataType.isFixedSizeBinary(type)) {
    return { nan: false, bounds: extremesOfBytes(data, has) };
  }
  const values = data.values as TypedArray;
  const width = data.stride * values.BYTES_PER_ELEMENT;
  if (width > 4) {
    const signed = !(DataType.isInt(type) && !type.isSigned);
    return {
      nan: false,
      bounds: extremesOfWords(wordsOf(values), data.length, width / 4, signed, has),
    };
  }
  return scannedNumbers(values as Int32Array, data.length, has);
}

/** Integers of up to 32 bits. */
function scannedNumbers(values: Int32Array, length: number, has: HasValue): Found {
  let least = Infinity;
  let greatest = -Infinity;
  for (let row = 0; row < length; row++) {
    const value = values[row]!;
    if ((value < least || value > greatest) && (has === null || has(row))) {
      least = Math.min(least, value);
      greatest = Math.max(greatest, value);
    }
  }
  return { nan: false, bounds: { least: BigInt(least), greatest: BigInt(greatest) } };
}

function scannedFloats(data: Data, has: HasValue): Found {
  const { type, length } = data;
  const isHalf = DataType.isFloat(type) && type.precision === Precision.HALF;
  const values = isHalf
    ? halfToFloat((data.values as Uint16Array).subarray(0, length))
    : (data.values as Float32Array | Float64Array);
  let least = Infinity;
  let greatest = -Infinity;
  let nan = false;
  let some = false;
  for (let row = 0; row < length; row++) {
    const value = values[row]!;
    // NaN is neither, so that it takes the slow way, as does the first infinity.
    if (value >= least && value <= greatest) continue;
    if (has !== null && !has(row)) continue;
    if (value !== value) {
      nan = true;
      continue;
    }
    some = true;
    if (value < least) least = value;
    if (value > greatest) greatest = value;
  }
  return { nan, bounds: some ? { least, greatest } : null };
}

function scannedBits(data: Data, has: HasValue): Found {
  const bits = data.values as Uint8Array;
  let [no, yes] = [false, false];
  for (let row = 0; row < data.length && !(no && yes); row++) {
    if (has !== null && !has(row)) continue;
    if (getBit(bits, data.offset + row)) yes = true;
    else no = true;
  }
  return { nan: false, bounds: { least: no ? 0n : 1n, greatest: yes ? 1n : 0n } };
}

/** Only the dictionary values that rows refer to count. */
function extremesOfEncoded(data: Data, dictionary: Vector): Extremes | undefined {
  const rows = data.length;
  const [values] = dictionary.data;
  if (values === undefined || dictionary.data.length > 1 || DataType.isUnion(values.type)) {
    return undefined;
  }
  const uses = new Uint32Array(values.length);
  const indices = data.values as TypedArray;
  const some = nullCountOf(data) > 0;
  let count = 0;
  for (let row = 0; row < rows; row++) {
    if (some && isMarkedNull(data, row)) continue;
    uses[Number(indices[row])]!++;
    count++;
  }
  const nullValues = nullCountOf(values) > 0;
  const has = (at: number) => uses[at]! > 0 && !(nullValues && isMarkedNull(values, at));
  if (nullValues) uses.forEach((times, at) => (count -= has(at) ? 0 : times));
  const nulls = rows - count;
  if (count === 0 || !hasBounds(values.type)) return { rows, nulls, nan: false, bounds: null };
  return { rows, nulls, ...scanned(values, has) };
}
