import { describe, expect, it } from 'vitest';
import { FailureLimit, TooManyFailures } from '../../../src/gateway/identity/failure-limit.ts';
import { MemoryQuota } from '../../../src/store/embedded/memory-quota.ts';

const second = 1_000;

/** A limit with a clock that is moved by hand. */
class Fixture {
  now = 0;
  readonly limit: FailureLimit;

  constructor(perMinute: number | null) {
    this.limit = new FailureLimit(perMinute, undefined, () => this.now);
  }

  fail(address: string, times: number): void {
    for (let count = 0; count < times; count++) this.limit.count(address);
  }

  /** Seconds to wait, 0 if nothing keeps the address away. */
  wait(address: string): number {
    try {
      this.limit.check(address);
      return 0;
    } catch (error) {
      expect(error).toMatchObject({ row: { code: 21, status: 429 } });
      return (error as { readonly retryAfter: number }).retryAfter;
    }
  }
}

describe('failed identifications', () => {
  it('keep an address away when they are too many, until its share of a minute has passed', () => {
    const fixture = new Fixture(6);
    fixture.fail('192.0.2.1', 5);
    expect(fixture.wait('192.0.2.1')).toBe(0);
    fixture.fail('192.0.2.1', 1);
    expect(fixture.wait('192.0.2.1')).toBe(10);
    fixture.now = 9.5 * second;
    expect(fixture.wait('192.0.2.1')).toBe(1);
    fixture.now = 10 * second;
    expect(fixture.wait('192.0.2.1')).toBe(0);
    fixture.fail('192.0.2.1', 1);
    expect(fixture.wait('192.0.2.1')).toBe(10);
    fixture.now = 600 * second;
    fixture.fail('192.0.2.1', 5);
    expect(fixture.wait('192.0.2.1')).toBe(0);
  });

  it('do not keep a neighbour away, but four times as many a whole network', () => {
    const fixture = new Fixture(6);
    fixture.fail('192.0.2.1', 6);
    expect(fixture.wait('192.0.2.2')).toBe(0);
    for (const host of [3, 4, 5]) fixture.fail(`192.0.2.${host}`, 6);
    expect(fixture.wait('192.0.2.2')).toBe(3);
    expect(fixture.wait('192.0.3.2')).toBe(0);
  });

  it('of many addresses of one IPv6 network count together, however they are written', () => {
    const fixture = new Fixture(1);
    for (const address of [
      '2001:db8::1',
      '2001:0DB8:0:0:1::',
      '2001:db8:0:0:ffff::',
      '2001:db8::2',
    ])
      fixture.fail(address, 1);
    expect(fixture.wait('2001:db8::abcd')).toBe(15);
    expect(fixture.wait('2001:db8:0:1::1')).toBe(0);
  });

  it('that were counted in advance are taken back', () => {
    const fixture = new Fixture(1);
    fixture.fail('192.0.2.1', 1);
    expect(fixture.wait('192.0.2.1')).toBe(60);
    fixture.limit.forgive('192.0.2.1');
    expect([fixture.wait('192.0.2.1'), fixture.limit.size]).toEqual([0, 0]);
  });

  it('of a hundred thousand addresses take bounded memory, the latest remembered', () => {
    const fixture = new Fixture(1);
    for (let index = 0; index < 100_000; index++) {
      fixture.fail(`2001:db8:${(index >> 12).toString(16)}:${(index & 0xfff).toString(16)}::1`, 1);
    }
    expect(fixture.limit.size).toBeLessThanOrEqual(50_000);
    expect(fixture.wait('2001:db8:18:69f::1')).toBe(60);
    expect(fixture.wait('2001:db8:0:1::1')).toBe(0);
  });

  it('are shown with what their sources have left', () => {
    const fixture = new Fixture(6);
    fixture.fail('192.0.2.1', 6);
    fixture.now = 5 * second;
    const network = { source: '192.0.2.0/24', left: 20, burst: 24, fullMillis: 10_000 };
    expect(fixture.limit.used([])).toEqual([
      { source: '192.0.2.1', left: 0, burst: 6, fullMillis: 55_000 },
      network,
    ]);
    fixture.now = 11 * second;
    expect(fixture.limit.used([]).map(({ source, left }) => [source, left])).toEqual([
      ['192.0.2.1', 1],
      ['192.0.2.0/24', 22],
    ]);
    fixture.now = 61 * second;
    expect(fixture.limit.used([])).toEqual([]);
  });

  it('keep nobody away without a limit', () => {
    const fixture = new Fixture(null);
    fixture.fail('192.0.2.1', 1_000);
    expect(fixture.limit.used([])).toEqual([]);
    expect([fixture.wait('192.0.2.1'), fixture.limit.size]).toEqual([0, 0]);
  });
});

describe('failed identifications that gateways count together', () => {
  it('keep an address away from each of them, as soon as it fails there once', async () => {
    let micros = 0;
    const shared = new MemoryQuota(100, () => micros);
    const [one, other] = [1, 2].map(() => new FailureLimit(6, shared, () => micros / 1000));
    const fail = async (limit: FailureLimit): Promise<void> => {
      limit.count('192.0.2.1');
      await limit.share('192.0.2.1');
    };
    for (let count = 0; count < 5; count++) await fail(one!);
    expect(() => one!.check('192.0.2.1')).not.toThrow();
    await fail(other!);
    expect(() => other!.check('192.0.2.1')).toThrow(TooManyFailures);
    expect(() => other!.check('192.0.2.2')).not.toThrow();
    const uses = await shared.used(10);
    // The first has not failed since the other did, and shows it all the same.
    expect(one!.used(uses)).toEqual(other!.used(uses));
    expect(one!.used(uses)).toContainEqual({
      source: '192.0.2.1',
      left: 0,
      burst: 6,
      fullMillis: 60_000,
    });
    await fail(one!);
    expect(() => one!.check('192.0.2.1')).toThrow(TooManyFailures);
    micros = 10_000_000;
    expect(() => other!.check('192.0.2.1')).not.toThrow();
  });

  it('are counted by each for itself while the counters are away', async () => {
    const away = new MemoryQuota();
    away.take = () => {
      throw new Error('they are away');
    };
    const limit = new FailureLimit(1, away);
    limit.count('192.0.2.1');
    await limit.share('192.0.2.1');
    expect(() => limit.check('192.0.2.1')).toThrow(TooManyFailures);
  });
});
