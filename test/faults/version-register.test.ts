import { describe, expect, it } from 'vitest';
import { randomOf, type Random } from '../service/random.ts';
import { range } from '../service/insert-ledger.ts';
import { linearise, type RegisterCall, type Timed } from './version-register.ts';

function at(start: number, end: number, call: RegisterCall): Timed {
  return { start, end, call };
}

const next = (version?: number): RegisterCall => ({ kind: 'next', version });
const newest = (version: number): RegisterCall => ({ kind: 'newest', version });
const create = (version: number, made?: boolean): RegisterCall => ({
  kind: 'create',
  version,
  made,
});
const has = (version: number, found: boolean): RegisterCall => ({ kind: 'has', version, found });
const list = (...versions: number[]): RegisterCall => ({ kind: 'list', versions });

const good: Readonly<Record<string, readonly Timed[]>> = {
  'one after the other': [at(0, 1, next(2)), at(2, 3, newest(2)), at(4, 5, list(1, 2))],
  'a read beside a write sees it or not': [
    at(0, 9, next(2)),
    at(1, 2, newest(1)),
    at(3, 4, newest(2)),
  ],
  'two writers in either order': [at(0, 9, next(3)), at(0, 9, next(2)), at(10, 11, newest(3))],
  'a write without answer that took effect late': [
    at(0, Infinity, next()),
    at(1, 2, newest(1)),
    at(3, 4, newest(2)),
  ],
  'a write without answer that never did': [at(0, Infinity, next()), at(1, 2, newest(1))],
  'of two creators of one version one wins': [
    at(0, 5, create(2, true)),
    at(0, 5, create(2, false)),
    at(6, 7, has(2, true)),
  ],
  'a refusal that a write without answer explains': [
    at(0, Infinity, create(2)),
    at(1, 2, create(2, false)),
  ],
};

const bad: Readonly<Record<string, readonly Timed[]>> = {
  'a stale read': [at(0, 1, next(2)), at(2, 3, newest(1))],
  'a read that goes back': [at(0, 9, next(2)), at(1, 2, newest(2)), at(3, 4, newest(1))],
  'a version that was made twice': [at(0, 1, next(2)), at(0, 1, next(2))],
  'a version that was left out': [at(0, 1, next(3))],
  'a lost version': [at(0, 1, next(2)), at(2, 3, next(2))],
  'two winners': [at(0, 5, create(2, true)), at(0, 5, create(2, true))],
  'a refusal without a winner': [at(0, 1, create(2, false)), at(2, 3, newest(1))],
  'a listing with a gap': [at(0, 1, next(2)), at(2, 3, next(3)), at(4, 5, list(1, 3))],
  'a listing that lacks what was over': [at(0, 1, next(2)), at(2, 3, list(1))],
  'a version that is there, and then is not': [
    at(0, 9, next(2)),
    at(1, 2, has(2, true)),
    at(3, 4, has(2, false)),
  ],
  'a write without answer that was made twice': [
    at(0, Infinity, next()),
    at(1, 2, newest(2)),
    at(3, 4, newest(3)),
  ],
  'a write without answer that was seen, and then is gone': [
    at(0, Infinity, next()),
    at(1, 2, newest(2)),
    at(3, 4, next(2)),
  ],
};

/** What clients of a true register see who ask at random times. */
function history(random: Random, calls: number): Timed[] {
  let version = 1;
  return range(calls).map((moment) => {
    const write = random(2) === 0;
    if (write) version += 1;
    const call = write ? next(version) : newest(version);
    return at(moment - random(5) - 0.5, moment + random(5) + 0.5, call);
  });
}

describe('the checker of version registers', () => {
  it.each(Object.entries(good))('explains %s', (_, calls) => {
    expect(linearise(calls, 1)?.length).toBeGreaterThan(0);
  });

  it.each(Object.entries(bad))('has no explanation for %s', (_, calls) => {
    expect(linearise(calls, 1)).toBeUndefined();
  });

  it.each(range(50))('explains what a true register answers (seed %i)', (seed) => {
    const calls = history(randomOf(seed), 60);
    expect(linearise(calls, 1)).toHaveLength(60);
  });

  it.each(range(50))('notices one wrong answer among many (seed %i)', (seed) => {
    const random = randomOf(seed);
    const calls = history(random, 60);
    const end = Math.max(...calls.map((call) => call.end));
    const versions = calls.filter(({ call }) => call.kind === 'next').length;
    calls.push(at(end + 1, end + 2, newest(versions + 1 - 1 - random(versions))));
    expect(linearise(calls, 1)).toBeUndefined();
  });
});
