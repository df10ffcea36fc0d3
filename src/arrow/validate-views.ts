import { isAscii, isUtf8 } from 'node:buffer';
import type { Data } from 'apache-arrow';
import { wordsOf } from './data.ts';
import { corrupt } from './errors.ts';
import { inlineCapacity, isText, viewWidth } from './layout.ts';
import { badText } from './validate-text.ts';

/**
 * Checks every view of a column, null rows included (other readers do too):
 * length, padding, data buffer, place and prefix, and for text the bytes.
 * Throws `corrupt`.
 */
export function checkViews(data: Data, name: string): void {
  const views: Uint8Array = data.values;
  const words = wordsOf(views);
  const text = isText(data.type);
  const plain = data.variadicBuffers.map((buffer) => isAscii(buffer));
  for (let row = 0; row < data.length; row++) {
    const length = words[4 * row]! | 0;
    if (length < 0) throw badView(name, row);
    if (length <= inlineCapacity) {
      if (!isPadded(views, 16 * row, length)) throw badView(name, row);
      if (text && !isInlineText(views, 16 * row + 4, length)) throw badText(name);
    } else {
      const value = longValue(data, words, row);
      if (value === undefined) throw badView(name, row);
      if (text && plain[words[4 * row + 2]!] !== true && !isUtf8(value)) throw badText(name);
    }
  }
}

/** The bytes of a value beside its view; `undefined` if the view does not lead to them. */
function longValue(data: Data, words: Uint32Array, row: number): Uint8Array | undefined {
  const length = words[4 * row]!;
  const buffer = data.variadicBuffers[words[4 * row + 2]!];
  const offset = words[4 * row + 3]!;
  if (buffer === undefined || offset + length > buffer.length) return undefined;
  const prefix = words[4 * row + 1]!;
  const first =
    buffer[offset]! |
    (buffer[offset + 1]! << 8) |
    (buffer[offset + 2]! << 16) |
    (buffer[offset + 3]! << 24);
  return first === (prefix | 0) ? buffer.subarray(offset, offset + length) : undefined;
}

/** Whether what follows a short value inside its view is zero, as the format demands. */
function isPadded(views: Uint8Array, view: number, length: number): boolean {
  for (let at = view + 4 + length; at < view + viewWidth; at++) if (views[at] !== 0) return false;
  return true;
}

function isInlineText(views: Uint8Array, start: number, length: number): boolean {
  for (let at = start; at < start + length; at++) {
    if (views[at]! > 127) return isUtf8(views.subarray(start, start + length));
  }
  return true;
}

function badView(name: string, row: number): Error {
  return corrupt(`Row ${row} of column "${name}" has no sound view of its value.`);
}
