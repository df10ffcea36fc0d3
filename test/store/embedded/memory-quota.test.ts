import { describe, expect, it } from 'vitest';
import { MemoryQuota } from '../../../src/store/embedded/memory-quota.ts';
import type { QuotaCharge } from '../../../src/store/quota.ts';
import { quotaSuite } from '../../conformance/quota.ts';

quotaSuite('counters in memory', async () => new MemoryQuota());

function ask(key: string, intervalMicros = 1000): QuotaCharge {
  return { key, rate: { intervalMicros, burst: 10 }, cost: 1, concurrency: null };
}

describe('counters in memory', () => {
  it('are bounded: those used longest ago go first', () => {
    const quota = new MemoryQuota(100, () => 0);
    for (let caller = 0; caller < 10_000; caller++) {
      quota.take([ask(String(caller))]);
      quota.take([ask('always')]);
      expect(quota.size).toBeLessThanOrEqual(100);
    }
    expect(quota.take([ask('always')]).granted).toBe(false);
    expect(quota.take([ask('9999')]).readings[0]!.left).toBe(8);
    expect(quota.take([ask('1')]).readings[0]!.left).toBe(9);
  });

  it('forget the ones that are paid off before any other', () => {
    let now = 0;
    const quota = new MemoryQuota(100, () => now);
    quota.take([ask('long', 1_000_000)]);
    for (let caller = 0; caller < 99; caller++) quota.take([ask(String(caller))]);
    now = 500_000;
    quota.take([ask('one more')]);
    expect(quota.take([ask('long', 1_000_000)]).readings[0]!.left).toBe(8);
  });

  it('come back exactly as fast as the rate says', () => {
    let now = 0;
    const quota = new MemoryQuota(100, () => now);
    const third = {
      ...ask('third', 1_000_000 / 3),
      rate: { intervalMicros: 1_000_000 / 3, burst: 3 },
    };
    let passed = 0;
    for (now = 0; now < 10_000_000; now += 1000) {
      if (quota.take([third]).granted) passed++;
    }
    // The burst, and three in each of ten seconds but the last moment.
    expect(passed).toBe(3 + 29);
  });
});
