import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import * as fc from 'fast-check';
import type { Quota, QuotaCharge } from '../../src/store/quota.ts';
import { eventually } from '../support/eventually.ts';

const HOUR = 3_600_000_000;

let made = 0;

/** A counter of its own that gains one unit in a year, so that none comes back while a test runs. */
function slow(more: Partial<QuotaCharge> & { readonly burst?: number } = {}): QuotaCharge {
  const { burst = 3, ...rest } = more;
  const rate = { intervalMicros: 8760 * HOUR, burst };
  return { key: `slow-${made++}`, rate, cost: 1, concurrency: null, ...rest };
}

/** A counter of its own without a rate. */
function slots(concurrency: number): QuotaCharge {
  return { key: `slots-${made++}`, rate: null, cost: 1, concurrency };
}

/** What every implementation of counters keeps to. */
export function quotaSuite(name: string, open: () => Promise<Quota>): void {
  describe(name, () => {
    let quota: Quota;

    beforeEach(async () => {
      quota = await open();
    });

    afterEach(() => quota.close());

    const granted = async (...asks: readonly QuotaCharge[]) => (await quota.take(asks)).granted;

    it('lets a burst through and nothing after it', async () => {
      const ask = slow();
      const answers = [];
      for (let turn = 0; turn < 5; turn++) answers.push(await quota.take([ask]));
      expect(answers.map((answer) => answer.granted)).toEqual([true, true, true, false, false]);
      expect(answers.map(({ readings }) => readings[0]!.left)).toEqual([2, 1, 0, 0, 0]);
      expect(answers.map(({ readings }) => readings[0]!.waitMicros > 0)).toEqual([
        false,
        false,
        false,
        true,
        true,
      ]);
    });

    it('never lets more through than the burst, however many ask at once', async () => {
      const ask = slow({ burst: 7 });
      const answers = await Promise.all(Array.from({ length: 50 }, () => granted(ask)));
      expect(answers.filter(Boolean)).toHaveLength(7);
    });

    it('lets units come back one by one', async () => {
      const ask = { ...slow({ burst: 2 }), rate: { intervalMicros: 20_000, burst: 2 } };
      await quota.take([{ ...ask, cost: 2 }]);
      await eventually(async () => expect(await granted(ask)).toBe(true));
    });

    it('charges the cost, and nothing for a cost of 0', async () => {
      const ask = slow({ burst: 10 });
      expect((await quota.take([{ ...ask, cost: 8 }])).readings[0]!.left).toBe(2);
      expect(await granted({ ...ask, cost: 3 })).toBe(false);
      expect((await quota.take([{ ...ask, cost: 0 }])).readings[0]!.left).toBe(2);
      expect(await granted({ ...ask, cost: 2 })).toBe(true);
      expect(await granted({ ...ask, cost: 0 })).toBe(true);
    });

    it('says how long the burst takes to be whole, and how long to wait', async () => {
      const ask = { ...slow(), rate: { intervalMicros: HOUR, burst: 2 } };
      const { readings } = await quota.take([{ ...ask, cost: 2 }]);
      expect(Math.round(readings[0]!.fullMicros / HOUR)).toBe(2);
      const refused = await quota.take([{ ...ask, cost: 2 }]);
      expect(Math.round(refused.readings[0]!.waitMicros / HOUR)).toBe(2);
    });

    it('takes nothing from any counter when one refuses', async () => {
      const [free, full] = [slow(), slow({ burst: 1 })];
      expect(await granted(full)).toBe(true);
      for (let turn = 0; turn < 5; turn++) {
        const { granted: all, readings } = await quota.take([free, full]);
        expect([all, readings[0]!.left, readings[1]!.left]).toEqual([false, 3, 0]);
      }
      const busy = slots(1);
      const held = await quota.take([busy]);
      expect(await granted(free, busy)).toBe(false);
      expect((await quota.take([free])).readings[0]!.left).toBe(2);
      held.release();
    });

    it('gives slots to as many as may run, and again when one is given back', async () => {
      const ask = slots(2);
      const [first, second] = [await quota.take([ask]), await quota.take([ask])];
      expect([first, second].map(({ readings }) => readings[0]!.slotsLeft)).toEqual([1, 0]);
      const third = await quota.take([ask]);
      expect(third).toMatchObject({ granted: false, readings: [{ busy: true, slotsLeft: 0 }] });
      third.release();
      expect(await granted(ask)).toBe(false);
      first.release();
      first.release();
      await eventually(async () => expect(await granted(ask)).toBe(true));
      expect(await granted(ask)).toBe(false);
      second.release();
    });

    it('never gives more slots than there are, however many ask at once', async () => {
      const ask = slots(4);
      const answers = await Promise.all(Array.from({ length: 40 }, async () => quota.take([ask])));
      expect(answers.filter((answer) => answer.granted)).toHaveLength(4);
      for (const answer of answers) answer.release();
      await eventually(async () => {
        const answer = await quota.take([ask]);
        answer.release();
        expect(answer.readings[0]!.slotsLeft).toBe(3);
      });
    });

    it('counts a rate and slots of one name apart', async () => {
      const ask = { ...slow({ burst: 5 }), concurrency: 1 };
      const held = await quota.take([ask]);
      const busy = await quota.take([ask]);
      expect(busy.granted).toBe(false);
      expect(busy.readings[0]).toMatchObject({ left: 4, waitMicros: 0, busy: true });
      held.release();
      await eventually(async () => expect(await granted(ask)).toBe(true));
    });

    it('does not hold up those who used a limit that was larger', async () => {
      const ask = slow({ burst: 1_000 });
      await quota.take([{ ...ask, cost: 1_000 }]);
      const smaller = { ...ask, rate: { intervalMicros: HOUR, burst: 2 } };
      const { readings } = await quota.take([smaller]);
      expect(Math.round(readings[0]!.waitMicros / HOUR)).toBe(1);
    });

    it('knows which counters are in use, and how far', async () => {
      const [long, short, untouched] = [
        slow({ burst: 9 }),
        { ...slow(), rate: { intervalMicros: HOUR, burst: 4 } },
        slow(),
      ];
      const both = { ...slow({ burst: 5 }), concurrency: 3 };
      const slot = slots(2);
      await quota.take([{ ...long, cost: 5 }]);
      await quota.take([{ ...short, cost: 2 }]);
      await quota.take([{ ...untouched, cost: 0 }]);
      const held = await quota.take([both, slot]);
      await quota.take([slot]);
      const shown = async () =>
        (await quota.used(100)).map(({ key, fullMicros, slots: taken }) => [
          key,
          Math.round(fullMicros / HOUR),
          taken,
        ]);
      const year = 8760;
      const rates = [
        [long.key, 5 * year, 0],
        [both.key, year, 1],
        [short.key, 2, 0],
      ];
      expect(await shown()).toEqual([...rates, [slot.key, 0, 2]]);
      expect((await quota.used(2)).map(({ key }) => key)).toHaveLength(2);
      held.release();
      await eventually(async () =>
        expect(await shown()).toEqual([
          [long.key, 5 * year, 0],
          [both.key, year, 0],
          [short.key, 2, 0],
          [slot.key, 0, 1],
        ]),
      );
    });

    it('forgets counters that are whole again', async () => {
      const brief = { ...slow(), rate: { intervalMicros: 20_000, burst: 2 } };
      await quota.take([brief]);
      await eventually(async () => expect(await quota.used(100)).toEqual([]));
    });

    it('takes names of any characters and length', async () => {
      const odd = ['a{b}c', 'x y\n', 'ü'.repeat(5000), `${'ü'.repeat(5000)}b`, ''];
      for (const key of odd) {
        const ask = { ...slow({ burst: 1 }), key: `${key}${made++}` };
        expect([await granted(ask), await granted(ask)]).toEqual([true, false]);
      }
    });

    it('adds up any costs to exactly the burst', async () => {
      await fc.assert(
        fc.asyncProperty(
          fc.array(fc.integer({ min: 0, max: 9 }), { maxLength: 12 }),
          fc.integer({ min: 1, max: 30 }),
          async (costs, burst) => {
            const ask = slow({ burst });
            let left = burst;
            for (const cost of costs) {
              const fits = cost <= left;
              if (fits) left -= cost;
              const answer = await quota.take([{ ...ask, cost }]);
              expect([answer.granted, answer.readings[0]!.left]).toEqual([fits, left]);
            }
          },
        ),
        { numRuns: 50 },
      );
    });
  });
}
