import {
  newStates,
  statesColumn,
  truth,
  validOf,
  type Column,
  type StatesColumn,
} from '../values/column.ts';
import type { IsTest } from '../values/expression.ts';

/** The states as 32-bit words of four rows, padding included. */
function wordsOf(states: Uint8Array): Uint32Array {
  return new Uint32Array(states.buffer, states.byteOffset, (states.length + 3) >> 2);
}

/** Kleene's AND: FALSE wins over UNKNOWN, so a null never turns a refusal into a match. */
export function andStates(left: Uint8Array, right: Uint8Array): Uint8Array {
  const states = newStates(left.length);
  const [result, a, b] = [wordsOf(states), wordsOf(left), wordsOf(right)];
  for (let word = 0; word < result.length; word++) result[word] = a[word]! & b[word]!;
  return states;
}

/** Kleene's OR: TRUE wins over UNKNOWN. */
export function orStates(left: Uint8Array, right: Uint8Array): Uint8Array {
  const states = newStates(left.length);
  const [result, a, b] = [wordsOf(states), wordsOf(left), wordsOf(right)];
  for (let word = 0; word < result.length; word++) result[word] = a[word]! | b[word]!;
  return states;
}

/** Kleene's NOT keeps UNKNOWN: otherwise `NOT (region = 'EU')` would match the rows of no region. */
export function notStates(states: Uint8Array): Uint8Array {
  const inverse = newStates(states.length);
  const [result, from] = [wordsOf(inverse), wordsOf(states)];
  for (let word = 0; word < result.length; word++) {
    const flipped = ~from[word]!;
    result[word] = ((flipped & 0x0101_0101) << 1) | ((flipped >>> 1) & 0x0101_0101);
  }
  return inverse;
}

/** The states of a boolean column; untyped nulls are UNKNOWN. */
export function statesOf(column: Column): Uint8Array {
  if (column.kind === 'states') return column.states;
  if (column.kind !== 'null') throw new TypeError(`a ${column.kind} column has no truth values`);
  return newStates(column.length).fill(truth.unknown);
}

/** The rows whose state is not `state`. */
export function rowsOtherThan(states: Uint8Array, state: number): Uint32Array {
  const rows = new Uint32Array(states.length);
  let count = 0;
  for (let row = 0; row < states.length; row++) {
    rows[count] = row;
    count += Number(states[row] !== state);
  }
  return rows.slice(0, count);
}

/** The rows whose state is `state`. */
export function rowsThatAre(states: Uint8Array, state: number): Uint32Array {
  const rows = new Uint32Array(states.length);
  let count = 0;
  for (let row = 0; row < states.length; row++) {
    rows[count] = row;
    count += Number(states[row] === state);
  }
  return rows.slice(0, count);
}

function testNull(column: Column, whenNull: number): Uint8Array {
  const states = newStates(column.length);
  const valid = validOf(column);
  const otherwise = truth.true - whenNull;
  if (valid === null) return states.fill(otherwise);
  for (let row = 0; row < states.length; row++) {
    states[row] = otherwise ^ (-Number(valid[row] === 0) & truth.true);
  }
  return states;
}

const testedStates = { true: truth.true, false: truth.false, unknown: truth.unknown } as const;

/** `IS [NOT] NULL, TRUE, FALSE, UNKNOWN`: never UNKNOWN itself. */
export function testIs(column: Column, test: IsTest['test'], negated: boolean): StatesColumn {
  const match = negated ? truth.false : truth.true;
  if (test === 'null') return statesColumn(testNull(column, match));
  const states = newStates(column.length);
  const from = statesOf(column);
  const wanted = testedStates[test];
  for (let row = 0; row < states.length; row++) {
    states[row] = (truth.true - match) ^ (-Number(from[row] === wanted) & truth.true);
  }
  return statesColumn(states);
}

/** Mask of the bit that only TRUE has, for four states. */
const TRUE_BITS = 0x01_01_01_01;
/** Number of additions before a byte overflows. */
const FULL = 255;

/** The number of rows that are TRUE, of states from `newStates`. Counts four rows at a time. */
export function countTrue(states: Uint8Array): number {
  const words = new Uint32Array(states.buffer, states.byteOffset, states.length >> 2);
  let count = 0;
  for (let start = 0; start < words.length; start += FULL) {
    const end = Math.min(words.length, start + FULL);
    let sums = 0;
    for (let at = start; at < end; at++) sums += (words[at]! >>> 1) & TRUE_BITS;
    count += (sums & 255) + ((sums >>> 8) & 255) + ((sums >>> 16) & 255) + (sums >>> 24);
  }
  for (let row = words.length * 4; row < states.length; row++) count += states[row]! >> 1;
  return count;
}

/** The number of rows that have the state. */
export function countState(states: Uint8Array, state: number): number {
  let count = 0;
  for (let row = 0; row < states.length; row++) count += Number(states[row] === state);
  return count;
}
