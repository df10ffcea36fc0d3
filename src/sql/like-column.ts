import type { BytesColumn, Column, StatesColumn } from './column.ts';
import { bothValid, maskStates, newStates, statesColumn, truth, validOf } from './column.ts';
import type { LikeMatcher } from './like.ts';
import { compileLike } from './like.ts';
import { CodePoints } from './code-points.ts';
import { room, spend } from './meter.ts';
import { textAt } from './text.ts';

/** What one LIKE needs beside its columns. */
export interface LikeOptions {
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
  if (!matcher.needsCharacters) {
    return matcher.matches(column.bytes, start, end);
  }
  room.read(column.bytes, start, end, ignoreCase);
  return matcher.matches(room.codes, 0, room.length);
}

/** The matcher of each row's pattern; equal patterns one behind the other are made ready once. */
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

/** `column LIKE patterns`; `matcher` is the one of a pattern that is the same for all rows. */
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
