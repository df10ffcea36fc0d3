import { describe, expect, it } from 'vitest';
import { AnswerPieces } from '../../../../src/engine/format/memory/answer-pieces.ts';

describe('the pieces of answers', () => {
  it('are views of little memory at a time, each counted once', () => {
    const pieces = new AnswerPieces(10);
    const [first, second] = [new Uint8Array(8), new Uint8Array(8)];
    expect([pieces.view(first.buffer), pieces.view(first.buffer)]).toEqual([true, true]);
    expect(pieces.view(second.buffer)).toBe(false);
    pieces.giveView(first);
    expect(pieces.view(second.buffer)).toBe(false);
    pieces.giveView(first);
    expect(pieces.view(second.buffer)).toBe(true);
  });

  it('may be views of one memory that is larger', () => {
    const pieces = new AnswerPieces(10);
    expect(pieces.view(new ArrayBuffer(100))).toBe(true);
    expect(pieces.view(new ArrayBuffer(1))).toBe(false);
  });

  it('are copies in memory that is used again', () => {
    const pieces = new AnswerPieces();
    const piece = pieces.copy();
    pieces.giveCopy(piece.subarray(0, 5));
    expect(pieces.copy().buffer).toBe(piece.buffer);
    pieces.giveCopy(new Uint8Array(5));
    expect(pieces.copy().byteLength).toBe(piece.byteLength);
  });
});
