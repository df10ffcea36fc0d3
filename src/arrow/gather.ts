import { bytesOf, type TypedArray, wordsOf } from './data.ts';

type Words = Uint8Array | Uint16Array | Uint32Array;

/** From this many elements on a block copy is faster than a loop. */
const blockElements = 192;

/**
 * Copies rows of `stride` elements each into `target`, by default a new array of the same kind.
 * Works on integers of at most 32 bits, so that no bit pattern changes.
 */
export function gatherRows<T extends TypedArray>(
  source: T,
  stride: number,
  rows: Uint32Array,
  target: T = newLike(source, stride * rows.length),
): T {
  const rowBytes = stride * source.BYTES_PER_ELEMENT;
  if (rowBytes === 2) {
    gatherOne(halves(source), halves(target), rows);
  } else if (rowBytes % 4 === 0 && source.byteOffset % 4 === 0) {
    gatherWords(wordsOf(source), wordsOf(target), rowBytes / 4, rows);
  } else {
    gatherWords(bytesOf(source), bytesOf(target), rowBytes, rows);
  }
  return target;
}

/** A new array of the same element type. */
export function newLike<T extends TypedArray>(array: T, length: number): T {
  const constructor = array.constructor as new (length: number) => T;
  return new constructor(length);
}

function halves(array: TypedArray): Uint16Array {
  return new Uint16Array(array.buffer, array.byteOffset, array.byteLength >> 1);
}

function gatherWords(source: Words, target: Words, width: number, rows: Uint32Array): void {
  if (width === 1) gatherOne(source, target, rows);
  else if (width === 2) gatherTwo(source, target, rows);
  else if (width > 0) gatherMany(source, target, width, rows);
}

function gatherOne(source: Words, target: Words, rows: Uint32Array): void {
  for (let index = 0; index < rows.length; index++) target[index] = source[rows[index]!]!;
}

function gatherTwo(source: Words, target: Words, rows: Uint32Array): void {
  for (let index = 0; index < rows.length; index++) {
    const from = 2 * rows[index]!;
    target[2 * index] = source[from]!;
    target[2 * index + 1] = source[from + 1]!;
  }
}

function gatherMany(source: Words, target: Words, width: number, rows: Uint32Array): void {
  let index = 0;
  while (index < rows.length) {
    const first = rows[index]!;
    let end = index + 1;
    while (end < rows.length && rows[end] === first + (end - index)) end++;
    const count = (end - index) * width;
    copyRun(source, first * width, target, index * width, count);
    index = end;
  }
}

/** Copies `count` elements from one place to another. */
export function copyRun(
  source: Words,
  from: number,
  target: Words,
  to: number,
  count: number,
): void {
  if (count >= blockElements) {
    target.set(source.subarray(from, from + count), to);
    return;
  }
  for (let index = 0; index < count; index++) target[to + index] = source[from + index]!;
}
