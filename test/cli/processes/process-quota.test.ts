import { afterEach, describe, expect, it } from 'vitest';
import { ProcessQuota, type SupervisorPort } from '../../../src/cli/processes/process-quota.ts';
import {
  SharedCounters,
  type CountedProcess,
  type QuotaReplies,
  type QuotaRequests,
} from '../../../src/cli/processes/shared-counters.ts';
import { MemoryQuota } from '../../../src/store/embedded/memory-quota.ts';
import type { QuotaAnswer, QuotaCharge } from '../../../src/store/quota.ts';
import { quotaSuite } from '../../conformance/quota.ts';
import { eventually } from '../../support/eventually.ts';

/** A process with the way to its supervisor: messages are text, arrive later, and in order. */
class Joined {
  readonly quota: ProcessQuota;
  readonly counted: CountedProcess;
  /** Whether the process runs: a stopped one neither sends nor receives. */
  runs = true;
  readonly #waiting: (() => void)[] = [];

  constructor(counters: SharedCounters) {
    let receive: (message: unknown) => void = () => undefined;
    this.counted = counters.serve((message: QuotaReplies) => {
      const text = JSON.stringify(message);
      this.#later(() => receive(JSON.parse(text)));
    });
    const port: SupervisorPort = {
      isConnected: () => true,
      send: (message) => {
        const text = JSON.stringify(message);
        this.#later(() => this.counted.receive((JSON.parse(text) as QuotaRequests).quotaRequests));
      },
      listen: (on) => {
        receive = on;
        return () => undefined;
      },
    };
    this.quota = new ProcessQuota(port);
  }

  #later(deliver: () => void): void {
    this.#waiting.push(deliver);
    setImmediate(() => this.#deliver());
  }

  #deliver(): void {
    if (this.runs) this.#waiting.shift()?.();
    else setImmediate(() => this.#deliver());
  }
}

quotaSuite(
  'counters of a supervisor',
  async () => new Joined(new SharedCounters(new MemoryQuota())).quota,
);

describe('Processes that count together', () => {
  const all: Joined[] = [];

  function join(count: number): readonly Joined[] {
    const counters = new SharedCounters(new MemoryQuota());
    for (let process = 0; process < count; process++) all.push(new Joined(counters));
    return all;
  }

  afterEach(async () => {
    for (const { quota } of all.splice(0)) await quota.close();
  });

  /** Gains a unit in a year. */
  const rated = (burst: number): QuotaCharge => ({
    key: 'rated',
    rate: { intervalMicros: 3e13, burst },
    cost: 1,
    concurrency: null,
  });
  const slots = (concurrency: number): QuotaCharge => ({
    key: 'slots',
    rate: null,
    cost: 1,
    concurrency,
  });

  /** Asks as many times, some requests at once; the answers in order. */
  async function ask(
    { quota }: Joined,
    charges: readonly QuotaCharge[],
    times: number,
  ): Promise<readonly QuotaAnswer[]> {
    const answers: QuotaAnswer[] = [];
    while (answers.length < times) {
      const some = Array.from({ length: 5 }, async () => quota.take(charges));
      answers.push(...(await Promise.all(some)));
    }
    return answers;
  }

  const grantedOf = (answers: readonly QuotaAnswer[]) => answers.filter(({ granted }) => granted);

  it.each([7, 100, 1000, 5000])(
    'grant a burst of %i exactly, whatever each of them keeps',
    async (burst) => {
      const processes = join(4);
      const answers = await Promise.all(
        processes.map((process) => ask(process, [rated(burst)], burst / 2)),
      );
      expect(grantedOf(answers.flat())).toHaveLength(burst);
    },
  );

  it('have so many requests at once, and every slot again after them', async () => {
    const processes = join(3);
    for (let round = 0; round < 3; round++) {
      const answers = await Promise.all(
        processes.map((process) => ask(process, [slots(200)], 150)),
      );
      const granted = grantedOf(answers.flat());
      expect(granted).toHaveLength(200);
      for (const { release } of granted) {
        release();
        release();
      }
    }
    await eventually(async () => expect(await processes[0]!.quota.used(10)).toEqual([]));
  });

  it('need not ask for each request of a busy caller', async () => {
    const [process] = join(1);
    await ask(process!, [rated(10_000), slots(1000)], 20);
    const answer = process!.quota.take([rated(10_000), slots(1000)]);
    expect(answer).not.toBeInstanceOf(Promise);
    const { readings } = await answer;
    expect(readings.map(({ left }) => left)).toEqual([9979, null]);
    expect(readings[1]!.slotsLeft).toBe(979);
  });

  it('charge nothing that only one of two counters grants', async () => {
    const processes = join(2);
    const both = await Promise.all(
      processes.map((process) => ask(process, [rated(5000), slots(100)], 200)),
    );
    expect(grantedOf(both.flat())).toHaveLength(100);
    const rest = await Promise.all(processes.map((process) => ask(process, [rated(5000)], 4000)));
    expect(grantedOf(rest.flat())).toHaveLength(4900);
  });

  it('get the slots of one that ended, and lose what it had kept of a rate', async () => {
    const [one, other] = join(2);
    const before = grantedOf(await ask(one!, [rated(1000), slots(100)], 60));
    expect(before).toHaveLength(60);
    one!.counted.ended();
    expect(grantedOf(await ask(other!, [slots(100)], 150))).toHaveLength(100);
    const left = grantedOf(await ask(other!, [rated(1000)], 1000)).length;
    expect(left).toBeGreaterThan(800);
    expect(left).toBeLessThanOrEqual(940);
  });

  it('refuse although one that keeps something is stopped, and have it back when it continues', async () => {
    const [one, other] = join(2);
    await ask(one!, [rated(1000)], 20);
    one!.runs = false;
    const granted = grantedOf(await ask(other!, [rated(1000)], 1200)).length;
    expect(granted).toBeGreaterThan(800);
    expect(granted).toBeLessThan(980);
    one!.runs = true;
    await eventually(async () =>
      expect((await other!.quota.take([rated(1000)])).granted).toBe(true),
    );
    const rest = grantedOf(await ask(other!, [rated(1000)], 1000)).length;
    expect(granted + rest + 1).toBeLessThanOrEqual(980);
  });

  it('return what they kept of a limit that was changed', async () => {
    const processes = join(2);
    for (const process of processes) await ask(process, [slots(1000)], 50);
    const answers = await Promise.all(processes.map((process) => ask(process, [slots(300)], 300)));
    // 100 are held under the limit before.
    expect(grantedOf(answers.flat())).toHaveLength(200);
  });
});
