import { expect, it } from 'vitest';
import { newStates, truth } from '../../src/sql/values/column.ts';
import { countState, countTrue } from '../../src/sql/compare/logic.ts';

it.each([0, 1, 3, 4, 5, 1019, 1020, 1021, 5000])('counts the true ones of %i states', (length) => {
  const kinds = [truth.true, truth.unknown, truth.false, truth.true, truth.true];
  const mixed = newStates(length).map((_, row) => kinds[(row * row) % 5]!);
  for (const states of [mixed, newStates(length).fill(truth.true), newStates(length)]) {
    const padded = newStates(length);
    padded.set(states);
    expect(countTrue(padded)).toBe(countState(padded, truth.true));
  }
});
