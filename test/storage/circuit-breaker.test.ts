import { describe, expect, it } from 'vitest';
import { CircuitBreaker } from '../../src/storage/circuit-breaker.ts';

function breakerAt(clock: { now: number }): CircuitBreaker {
  const refusal = (seconds: number): Error => new Error(`refused for ${seconds} s`);
  return new CircuitBreaker({ refusal, failures: 2, open: 1_500, now: () => clock.now });
}

describe('A circuit breaker', () => {
  it('opens after a number of failures in a row, and says for how long', () => {
    const breaker = breakerAt({ now: 0 });
    breaker.enter().failed();
    breaker.enter().succeeded();
    breaker.enter().failed();
    expect(breaker.open).toBe(false);
    breaker.enter().failed();
    expect(breaker.open).toBe(true);
    expect(() => breaker.enter()).toThrow('refused for 2 s');
  });

  it('lets one request try when the time is over, whose fate decides for all', () => {
    const clock = { now: 0 };
    const breaker = breakerAt(clock);
    breaker.note(false);
    breaker.note(false);
    clock.now = 1_500;
    const trial = breaker.enter();
    expect(() => breaker.enter()).toThrow('refused for 1 s');
    trial.failed();
    expect(() => breaker.enter()).toThrow('refused for 2 s');
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

  it('closes when a check finds the service well', () => {
    const breaker = breakerAt({ now: 0 });
    breaker.note(false);
    breaker.note(false);
    expect(breaker.open).toBe(true);
    breaker.note(true);
    expect(breaker.open).toBe(false);
  });
});
