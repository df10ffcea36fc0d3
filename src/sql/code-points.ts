import { hold, spend } from './meter.ts';
import { foldCase } from './like.ts';

/** Room for the code points of one text; it grows with the longest one. */
export class CodePoints {
  codes = new Uint32Array(256);
  length = 0;

  /** Decodes the bytes from `start` to `end`, which are UTF-8. */
  read(bytes: Uint8Array, start: number, end: number, ignoreCase: boolean): void {
    spend(end - start);
    if (this.codes.length < end - start) {
      hold((end - start) * 4);
      this.codes = new Uint32Array(end - start);
    }
    let length = 0;
    for (let at = start; at < end;) {
      const first = bytes[at]!;
      const size = first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
      let code = size === 1 ? first : first & (0x7f >> size);
      for (let next = 1; next < size; next++) {
        code = (code << 6) | (bytes[at + next]! & 0x3f);
      }
      this.codes[length] = ignoreCase ? foldCase(code) : code;
      length++;
      at += size;
    }
    this.length = length;
  }
}
