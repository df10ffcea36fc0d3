import { describe, expect, it } from 'vitest';
import { CircuitBreaker } from '../../../src/gateway/backends/circuit-breaker.ts';

function breakerAt(clock: { now: number }): CircuitBreaker {
  return new CircuitBreaker({ name: 'west', failures: 2, open: 1_500, now: () => clock.now });
}

const REFUSAL = 'the backend west failed and is tried again later';

describe('A circuit breaker', () => {
  it('opens after a number of failures in a row, and says for how long', () => {
    const breaker = breakerAt({ now: 0 });
    breaker.enter().failed();
    breaker.enter().succeeded();
    breaker.enter().failed();
    expect(breaker.open).toBe(false);
    breaker.enter().failed();
    expect(breaker.open).toBe(true);
    expect(() => breaker.enter()).toThrow(
      expect.objectContaining({ message: REFUSAL, retryAfter: '2' }),
    );
  });

  it('lets one request try when the time is over, whose fate decides for all', () => {
    const clock = { now: 0 };
    const breaker = breakerAt(clock);
    breaker.note(false);
    breaker.note(false);
    clock.now = 1_500;
    const trial = breaker.enter();
    expect(() => breaker.enter()).toThrow(REFUSAL);
    trial.failed();
    expect(() => breaker.enter()).toThrow(REFUSAL);
    clock.now = 3_000;
    const second = breaker.enter();
    second.undecided();
    second.failed();
    const third = breaker.enter();
    third.succeeded();
    breaker.enter();
    breaker.enter();
    expect(breaker.open).toBe(false);
  });

  it('closes when a check finds the backend well', () => {
    const breaker = breakerAt({ now: 0 });
    breaker.note(false);
    breaker.note(false);
    expect(breaker.open).toBe(true);
    breaker.note(true);
    expect(breaker.open).toBe(false);
  });
});
