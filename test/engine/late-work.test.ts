import { describe, expect, it } from 'vitest';
import { LateWork } from '../../src/engine/late-backend.ts';

describe('the work of an engine that opens late', () => {
  it.each(['told first', 'opened first'])('begins once, %s', (order) => {
    const begun: unknown[] = [];
    const work = new LateWork();
    const onFault = () => undefined;
    const engine = { startWork: (told: unknown) => void begun.push(told) };
    const steps = [() => work.start(onFault), () => expect(work.of(engine)).toBe(engine)];
    for (const step of order === 'told first' ? steps : steps.toReversed()) step();
    expect(begun).toEqual([onFault]);
  });

  it('does not begin while there is none', () => {
    const work = new LateWork();
    work.start(() => undefined);
    expect(work.of('the store is away')).toBe('the store is away');
  });
});
