import { describe, expect, it } from 'vitest';
import { Seats, type Seated } from '../../../src/gateway/backends/connection-limit.ts';

/** Who writes down when it is seated. */
function guest(name: string, told: string[]): Seated {
  return { seated: () => void told.push(name) };
}

describe('Seats', () => {
  it('are given at once while there are some, then in the order of asking', () => {
    const told: string[] = [];
    const seats = new Seats(2);
    const [a, b, c, d] = ['a', 'b', 'c', 'd'].map((name) => guest(name, told));
    for (const each of [a!, b!, c!, d!]) seats.take(each);
    expect(told).toEqual(['a', 'b']);
    seats.leave(b!);
    expect(told).toEqual(['a', 'b', 'c']);
    seats.leave(a!);
    expect(told).toEqual(['a', 'b', 'c', 'd']);
  });

  it('are not given to who waits no more', () => {
    const told: string[] = [];
    const seats = new Seats(1);
    const [a, b, c] = ['a', 'b', 'c'].map((name) => guest(name, told));
    for (const each of [a!, b!, c!]) seats.take(each);
    seats.leave(b!);
    seats.leave(a!);
    expect(told).toEqual(['a', 'c']);
    seats.leave(c!);
    seats.take(b!);
    expect(told).toEqual(['a', 'c', 'b']);
  });
});
