import type { Bounds, HasValue } from './bounds.ts';

/**
 * The least and the greatest of integers of several 32-bit words, the lowest
 * first, without making a bigint of each. At least one row has a value.
 */
export function extremesOfWords(
  words: Uint32Array,
  length: number,
  count: number,
  signed: boolean,
  has: HasValue,
): Bounds {
  // With its highest bit flipped a signed word is in the order of the unsigned ones.
  const flip = signed ? 0x8000_0000 : 0;
  const [least, greatest] =
    count === 2 ? ofPairs(words, length, flip, has) : ofMany(words, length, count, flip, has);
  return {
    least: integerAt(words, least, count, signed),
    greatest: integerAt(words, greatest, count, signed),
  };
}

type Rows = readonly [least: number, greatest: number];

function ofPairs(words: Uint32Array, length: number, flip: number, has: HasValue): Rows {
  let [least, greatest] = [-1, -1];
  let [leastHigh, leastLow, greatestHigh, greatestLow] = [0xffff_ffff, 0xffff_ffff, 0, 0];
  for (let row = 0; row < length; row++) {
    const high = (words[2 * row + 1]! ^ flip) >>> 0;
    const low = words[2 * row]!;
    const below = high < leastHigh || (high === leastHigh && low <= leastLow);
    const above = high > greatestHigh || (high === greatestHigh && low >= greatestLow);
    if (!(below || above) || (has !== null && !has(row))) continue;
    if (below) {
      least = row;
      leastHigh = high;
      leastLow = low;
    }
    if (above) {
      greatest = row;
      greatestHigh = high;
      greatestLow = low;
    }
  }
  return [least, greatest];
}

function ofMany(
  words: Uint32Array,
  length: number,
  count: number,
  flip: number,
  has: HasValue,
): Rows {
  let [least, greatest] = [-1, -1];
  for (let row = 0; row < length; row++) {
    if (has !== null && !has(row)) continue;
    if (least < 0 || order(words, row, least, count, flip) < 0) least = row;
    if (greatest < 0 || order(words, row, greatest, count, flip) > 0) greatest = row;
  }
  return [least, greatest];
}

function order(
  words: Uint32Array,
  left: number,
  right: number,
  count: number,
  flip: number,
): number {
  for (let word = count - 1; word >= 0; word--) {
    const mask = word === count - 1 ? flip : 0;
    const one = (words[left * count + word]! ^ mask) >>> 0;
    const other = (words[right * count + word]! ^ mask) >>> 0;
    if (one !== other) return one < other ? -1 : 1;
  }
  return 0;
}

/** The integer of a row, whose `count` words of 32 bits come lowest first, in two's complement if signed. */
export function integerAt(words: Uint32Array, row: number, count: number, signed: boolean): bigint {
  let value = 0n;
  for (let word = count - 1; word >= 0; word--) {
    value = (value << 32n) | BigInt(words[row * count + word]!);
  }
  return signed ? BigInt.asIntN(32 * count, value) : value;
}
