import { expect, it } from 'vitest';
import { columns } from '../../../src/cli/output/output.ts';

it('gives each column the width of its longest cell, however many rows there are', () => {
  const rows = Array.from({ length: 200_000 }, () => ['a', 'b']);
  const lines = columns([['NAME', 'X'], ...rows, ['longer', '']]).split('\n');
  expect([lines.length, lines[0], lines[1], lines.at(-1)]).toEqual([
    200_002,
    'NAME    X',
    'a       b',
    'longer',
  ]);
});
