import { padded } from './postings.ts';

/** Width of integers in bytes. */
export type Width = 1 | 2 | 4;

/** The smallest width of integers. @param most The greatest of them. */
export function leastWidth(most: number): Width {
  if (most < 2 ** 8) return 1;
  return most < 2 ** 16 ? 2 : 4;
}

/** Growing bytes into which integers of different widths are written. */
export class WideBytes {
  bytes: Uint8Array;
  halves: Uint16Array;
  words: Uint32Array;

  /** @param length A multiple of 8. */
  constructor(length: number) {
    this.bytes = new Uint8Array(length);
    this.halves = new Uint16Array(this.bytes.buffer);
    this.words = new Uint32Array(this.bytes.buffer);
  }

  /** Makes room for as many bytes; the first ones are kept. */
  reserve(length: number): void {
    if (length <= this.bytes.length) return;
    const wider = new WideBytes(padded(Math.max(length, 2 * this.bytes.length), 8));
    wider.bytes.set(this.bytes);
    ({ bytes: this.bytes, halves: this.halves, words: this.words } = wider);
  }

  /**
   * Writes integers, and zeros up to a multiple of 4. Returns the end of these.
   * @param at A multiple of 4 in bytes.
   */
  put(at: number, numbers: Uint32Array, start: number, end: number, width: Width): number {
    writers[width](this, at, numbers, start, end);
    const last = at + width * (end - start);
    const next = padded(last);
    for (let byte = last; byte < next; byte++) this.bytes[byte] = 0;
    return next;
  }
}

type Write = (to: WideBytes, at: number, numbers: Uint32Array, start: number, end: number) => void;

/** Each has a loop of its own, which is compiled for its width. */
const writers: Readonly<Record<Width, Write>> = {
  1: ({ bytes }, at, numbers, start, end) => {
    for (let next = start; next < end; next++) bytes[at + next - start] = numbers[next]!;
  },
  2: ({ halves }, at, numbers, start, end) => {
    for (let next = start; next < end; next++) halves[at / 2 + next - start] = numbers[next]!;
  },
  4: ({ words }, at, numbers, start, end) => {
    for (let next = start; next < end; next++) words[at / 4 + next - start] = numbers[next]!;
  },
};
