import { describe, expect, it } from 'vitest';
import {
  ClientDisconnected,
  OverBudget,
  RequestBudget,
  defaultBudget,
  smallestOf,
  type BudgetLimits,
} from '../../src/protocol/budget.ts';

function budget(limits: Partial<BudgetLimits>): RequestBudget {
  return new RequestBudget({ ...defaultBudget, ...limits });
}

describe('a budget', () => {
  it('holds memory up to its limit, and gets back what is released', () => {
    const own = budget({ memory: 1024 ** 2 });
    own.charge(1024 ** 2);
    expect(() => own.charge(1)).toThrow(
      'The request needs more than 1 MiB of memory (budget.memory): ask for less, or for fewer rows at once',
    );
    own.release(10);
    own.charge(10);
    expect(own.held).toBe(1024 ** 2);
  });

  it.each([
    [
      'result',
      (own: RequestBudget) => own.answer(11),
      'The answer has more than 10 bytes (budget.result)',
    ],
    [
      'decompressed',
      (own: RequestBudget) => own.decompress(11),
      'The body has more than 10 bytes once decompressed (budget.decompressed)',
    ],
    [
      'rows',
      (own: RequestBudget) => own.addRows(11),
      'The request adds more than 10 rows (budget.rows)',
    ],
  ] as const)('counts %s over the whole request', (key, spend, sentence) => {
    const own = budget({ [key]: 10 });
    const error = caught(() => spend(own));
    expect(error).toBeInstanceOf(OverBudget);
    expect(error).toMatchObject({ key, limit: 10, row: { code: 13, status: 400 } });
    expect(String(error)).toContain(sentence);
  });

  it('counts time only while something runs', () => {
    const own = budget({ time: 1000 });
    own.add(1000.5);
    expect(() => own.run(() => undefined)).toThrow(
      'The request needs more than 1 s of processor time (budget.time)',
    );
    expect(budget({ time: 1000 }).run(() => 7)).toBe(7);
  });

  it('reads the clock once per number of bytes of work', () => {
    const own = budget({ time: 10 });
    own.run(() => {
      own.add(11);
      own.work(10);
      expect(() => own.work(2 ** 16)).toThrow(OverBudget);
    });
  });

  it('ends its work in every thread once the client has gone', () => {
    let gone: () => void = () => undefined;
    const own = new RequestBudget(defaultBudget, (listener) => {
      gone = listener;
      return () => undefined;
    });
    const other = RequestBudget.of(structuredClone(own.message()));
    other.check();
    gone();
    expect(() => other.check()).toThrow(ClientDisconnected);
    expect(() => own.run(() => undefined)).toThrow(ClientDisconnected);
  });

  it('goes on in another thread with what is left', () => {
    const own = budget({ memory: 100, time: 50 });
    own.charge(60);
    own.add(40);
    const other = RequestBudget.of(own.message());
    expect(() => other.charge(41)).toThrow(OverBudget);
    other.add(11);
    expect(() => other.check()).toThrow(OverBudget);
  });

  it('takes the smallest limit of each kind', () => {
    expect(smallestOf([{ time: 5, memory: 9 }, { time: 7, memory: 2, rows: 3 }, {}])).toEqual({
      time: 5,
      memory: 2,
      rows: 3,
    });
  });
});

function caught(work: () => void): unknown {
  try {
    work();
  } catch (error) {
    return error;
  }
  return undefined;
}
