import {
  bothValid,
  maskStates,
  newStates,
  statesColumn,
  truth,
  validOf,
  type BytesColumn,
  type Column,
  type StatesColumn,
} from '../values/column.ts';
import { compileLike, foldCase, type LikeMatcher } from './like.ts';
import { room, spend, hold } from '../values/meter.ts';
import { textAt } from '../values/text.ts';

/** Reusable buffer for the code points of one text. */
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
      for (let next = 1; next < size; next++) code = (code << 6) | (bytes[at + next]! & 0x3f);
      this.codes[length] = ignoreCase ? foldCase(code) : code;
      length++;
      at += size;
    }
    this.length = length;
  }
}

/** Settings of a LIKE. */
interface LikeOptions {
  readonly escape: string;
  readonly ignoreCase: boolean;
  readonly negated: boolean;
  readonly position: number;
}

function test(
  matcher: LikeMatcher,
  column: BytesColumn,
  row: number,
  room: CodePoints,
  ignoreCase: boolean,
): boolean {
  const start = column.starts[row]!;
  const end = column.ends[row]!;
  spend((end - start) * (matcher.needsCharacters ? 8 : 2));
  if (!matcher.needsCharacters) return matcher.matches(column.bytes, start, end);
  room.read(column.bytes, start, end, ignoreCase);
  return matcher.matches(room.codes, 0, room.length);
}

/** The matcher of each row's pattern; consecutive equal patterns are compiled once. */
function matcherByRow(
  patterns: BytesColumn,
  { escape, ignoreCase, position }: LikeOptions,
): (row: number) => LikeMatcher {
  let last: { readonly text: string; readonly matcher: LikeMatcher } | undefined;
  return (row) => {
    const text = textAt(patterns, row);
    if (last?.text !== text) {
      spend(text.length * 32);
      room(text.length * 64);
      last = { text, matcher: compileLike(text, escape, ignoreCase, position) };
    }
    return last.matcher;
  };
}

/** `column LIKE patterns`; `matcher` is given if the pattern is constant. */
export function testLike(
  column: Column,
  patterns: Column,
  matcher: LikeMatcher | undefined,
  options: LikeOptions,
): StatesColumn {
  const states = newStates(column.length);
  const valid = bothValid(validOf(column), validOf(patterns));
  if (column.kind === 'bytes' && patterns.kind === 'bytes') {
    const room = new CodePoints();
    const matcherOf = matcher === undefined ? matcherByRow(patterns, options) : () => matcher;
    for (let row = 0; row < states.length; row++) {
      if (valid === null || valid[row] === 1) {
        const found = test(matcherOf(row), column, row, room, options.ignoreCase);
        states[row] = found === options.negated ? truth.false : truth.true;
      }
    }
  }
  maskStates(states, valid);
  return statesColumn(states);
}
