import { DataType, Precision, type Data, type Vector } from 'apache-arrow';
import { wordsOf } from '../../../arrow/data.ts';

/** Writes words of some rows; entries of other rows are ignored. */
export interface WordSource {
  /** Whether values are longer than the words, which hold one part at a time. */
  readonly parts: boolean;
  fill(rows: Uint32Array, words: { high: Uint32Array; low: Uint32Array }, part: number): void;
  /** Whether a row's value continues after the part. */
  goesOn(rows: Uint32Array, part: number): boolean;
}

const SIGN = 0x8000_0000;

/** Encodes a column's non-null values as words; null for types that need comparisons. */
export function wordSource(column: Vector): WordSource | null {
  const [data] = column.data;
  if (data === undefined || column.data.length > 1) return null;
  return sources.find(({ of }) => of(data.type))?.source(data) ?? null;
}

interface Source {
  readonly of: (type: DataType) => boolean;
  readonly source: (data: Data) => WordSource;
}

const sources: readonly Source[] = [
  { of: isWide, source: wideIntegers },
  { of: isNarrow, source: narrowIntegers },
  {
    of: (type) => DataType.isFloat(type) && type.precision !== Precision.HALF,
    source: ({ values }) => floats(values),
  },
  { of: (type) => DataType.isUtf8(type) || DataType.isBinary(type), source: bytes },
];

function isWide(type: DataType): boolean {
  if (DataType.isInt(type) || DataType.isTime(type)) return type.bitWidth === 64;
  return (
    DataType.isTimestamp(type) ||
    DataType.isDuration(type) ||
    (DataType.isDate(type) && type.ArrayType === BigInt64Array)
  );
}

function isNarrow(type: DataType): boolean {
  if (DataType.isInt(type) || DataType.isTime(type)) return type.bitWidth < 64;
  return DataType.isDate(type) && type.ArrayType === Int32Array;
}

const whole = { parts: false, goesOn: () => false } as const;

function wideIntegers(data: Data): WordSource {
  const pairs = wordsOf(data.values);
  const sign = DataType.isInt(data.type) && !data.type.isSigned ? 0 : SIGN;
  return {
    ...whole,
    fill: (rows, { high, low }) => {
      for (let at = 0; at < rows.length; at++) {
        const row = rows[at]!;
        low[row] = pairs[2 * row]!;
        high[row] = pairs[2 * row + 1]! ^ sign;
      }
    },
  };
}

function narrowIntegers({ values, type }: Data): WordSource {
  const numbers: ArrayLike<number> = values;
  const sign = DataType.isInt(type) && !type.isSigned ? 0 : SIGN;
  return {
    ...whole,
    fill: (rows, { high, low }) => {
      for (let at = 0; at < rows.length; at++) {
        const row = rows[at]!;
        low[row] = numbers[row]! ^ sign;
        high[row] = 0;
      }
    },
  };
}

/**
 * Bits of positive floats are ordered by value, those of negative ones in reverse. NaN is the
 * greatest.
 */
function floats(values: Float32Array | Float64Array): WordSource {
  const one = new Float64Array(1);
  const bits = new Uint32Array(one.buffer);
  return {
    ...whole,
    fill: (rows, { high, low }) => {
      for (let at = 0; at < rows.length; at++) {
        const row = rows[at]!;
        // Adding 0 turns -0 into 0: they are equal.
        one[0] = values[row]! + 0;
        const [less, more] = [bits[0]!, bits[1]!];
        const flip = more >= SIGN ? 0xffff_ffff : 0;
        const isNumber = one[0] === one[0];
        low[row] = isNumber ? less ^ flip : 0xffff_ffff;
        high[row] = isNumber ? more ^ (flip | SIGN) : 0xffff_ffff;
      }
    },
  };
}

/** Eight bytes at a time; shorter values are padded with zeros. */
function bytes({ values, valueOffsets: offsets }: Data): WordSource {
  const word = (start: number, end: number) => {
    let found = 0;
    for (let at = start; at < start + 4; at++) found = (found << 8) | (at < end ? values[at]! : 0);
    return found;
  };
  return {
    parts: true,
    fill: (rows, { high, low }, part) => {
      for (let at = 0; at < rows.length; at++) {
        const row = rows[at]!;
        const [start, end] = [offsets[row]! + 8 * part, offsets[row + 1]!];
        high[row] = word(start, end);
        low[row] = word(start + 4, end);
      }
    },
    goesOn: (rows, part) => rows.some((row) => offsets[row + 1]! - offsets[row]! > 8 * (part + 1)),
  };
}
