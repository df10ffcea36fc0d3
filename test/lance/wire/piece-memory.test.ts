import { expect, it } from 'vitest';
import { RESULT_PIECE_BYTES, PieceMemory } from '../../../src/lance/wire/piece-memory.ts';

it('is used again for a piece of another size, once each', () => {
  const memory = new PieceMemory();
  const first = memory.take(RESULT_PIECE_BYTES);
  memory.give(first);
  memory.give(first);
  const [second, third] = [memory.take(RESULT_PIECE_BYTES - 1000), memory.take(RESULT_PIECE_BYTES)];
  expect(second.buffer).toBe(first.buffer);
  expect([second.byteOffset, second.byteLength]).toEqual([0, RESULT_PIECE_BYTES - 1000]);
  expect(third.buffer).not.toBe(first.buffer);
});

it('is of its own for what is small, or larger than a piece', () => {
  const memory = new PieceMemory();
  for (const bytes of [0, 10, 2 ** 16, RESULT_PIECE_BYTES + 1]) {
    const one = memory.take(bytes);
    expect([one.byteLength, one.buffer.byteLength]).toEqual([bytes, bytes]);
    memory.give(one);
    if (bytes > 0) expect(memory.take(bytes).buffer).not.toBe(one.buffer);
  }
});

it('keeps a bounded number of memories', () => {
  const memory = new PieceMemory();
  const all = Array.from({ length: 40 }, () => memory.take(RESULT_PIECE_BYTES));
  for (const one of all) memory.give(one);
  const buffers = new Set(all.map(({ buffer }) => buffer));
  const again = Array.from({ length: 40 }, () => memory.take(RESULT_PIECE_BYTES));
  expect(again.filter(({ buffer }) => buffers.has(buffer))).toHaveLength(16);
});
