import { describe, expect, it } from 'vitest';
import { MemoryLease, ReadMemory } from '../../../../src/engine/format/memory/read-memory.ts';

const LONG = 2 ** 20;

describe('memory for reads', () => {
  it('is used again once it was given back', () => {
    const memory = new ReadMemory();
    const first = memory.take(LONG);
    memory.giveBack(first.buffer);
    const second = memory.take(LONG - 1000);
    expect(second.buffer).toBe(first.buffer);
    expect(second.byteLength).toBe(LONG - 1000);
  });

  it('is nobody else’s before that', () => {
    const memory = new ReadMemory();
    const taken = Array.from({ length: 4 }, () => memory.take(LONG).buffer);
    memory.giveBack(taken[1]!);
    const more = [memory.take(LONG).buffer, memory.take(LONG).buffer];
    expect(new Set([...taken, ...more]).size).toBe(5);
  });

  it('is not handed out twice when it is given back twice', () => {
    const memory = new ReadMemory();
    const { buffer } = memory.take(LONG);
    memory.giveBack(buffer);
    memory.giveBack(buffer);
    expect(memory.take(LONG).buffer).toBe(buffer);
    expect(memory.take(LONG).buffer).not.toBe(buffer);
  });

  it('is not taken from others, nor for a read that is far shorter', () => {
    const memory = new ReadMemory();
    const foreign = new ArrayBuffer(LONG);
    memory.giveBack(foreign);
    memory.giveBack(new SharedArrayBuffer(LONG));
    const { buffer } = memory.take(LONG);
    expect(buffer).not.toBe(foreign);
    memory.giveBack(buffer);
    expect(memory.take(LONG / 8).buffer).not.toBe(buffer);
  });

  it('is kept up to 64 MiB', () => {
    const memory = new ReadMemory();
    const taken = Array.from({ length: 6 }, () => memory.take(16 * LONG).buffer);
    for (const buffer of taken) memory.giveBack(buffer);
    const again = Array.from({ length: 6 }, () => memory.take(16 * LONG).buffer);
    expect(again.filter((buffer) => taken.includes(buffer))).toHaveLength(4);
  });
});

describe('a lease', () => {
  it('gives all that was taken back, once', () => {
    const memory = new ReadMemory();
    const lease = new MemoryLease(memory);
    const taken = [lease.take(LONG).buffer, lease.take(2 * LONG).buffer];
    lease.release();
    lease.release();
    const again = [memory.take(2 * LONG).buffer, memory.take(LONG).buffer];
    expect(new Set(again)).toEqual(new Set(taken));
    expect(taken).not.toContain(memory.take(LONG).buffer);
  });
});
