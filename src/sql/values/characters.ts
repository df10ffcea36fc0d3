import { spend } from './meter.ts';

/** Whether a text has characters outside the basic plane, which take two UTF-16 units. */
function hasPairs(text: string): boolean {
  return /[\uD800-\uDBFF]/.test(text);
}

/** The UTF-16 units of the character at `index`. */
function unitsAt(text: string, index: number): number {
  return text.codePointAt(index)! > 0xffff ? 2 : 1;
}

/** The number of characters, those outside the basic plane counted once. */
export function countCharacters(text: string): number {
  if (!hasPairs(text)) return text.length;
  let count = 0;
  for (let index = 0; index < text.length; index += unitsAt(text, index)) count++;
  return count;
}

/** The characters from place `from` up to place `to`, both counted from 0 and within the text. */
export function sliceCharacters(text: string, from: number, to: number): string {
  if (!hasPairs(text)) return text.slice(from, to);
  let index = 0;
  let start = text.length;
  for (let count = 0; index < text.length && count < to; count++) {
    start = count === from ? index : start;
    index += unitsAt(text, index);
  }
  return text.slice(start, index);
}

/** Trims the characters of `trimmed` at the chosen ends. */
export function trimCharacters(
  text: string,
  trimmed: ReadonlySet<string>,
  ends: { readonly start: boolean; readonly end: boolean },
): string {
  const from = ends.start ? trimmedStart(text, trimmed) : 0;
  return text.slice(from, ends.end ? trimmedEnd(text, trimmed, from) : text.length);
}

function trimmedStart(text: string, trimmed: ReadonlySet<string>): number {
  let from = 0;
  while (from < text.length && trimmed.has(text.slice(from, from + unitsAt(text, from)))) {
    spend(16);
    from += unitsAt(text, from);
  }
  return from;
}

function trimmedEnd(text: string, trimmed: ReadonlySet<string>, from: number): number {
  let to = text.length;
  for (;;) {
    const units = to - 2 >= from && unitsAt(text, to - 2) === 2 ? 2 : 1;
    if (to <= from || !trimmed.has(text.slice(to - units, to))) return to;
    spend(16);
    to -= units;
  }
}
