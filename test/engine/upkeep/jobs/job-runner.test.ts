import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, it } from 'vitest';
import { tableKey, transactionKey } from '../../../../src/engine/catalog/records/keys.ts';
import { encodeTable } from '../../../../src/engine/catalog/records/records-codec.ts';
import { type Job, type JobWork } from '../../../../src/engine/upkeep/jobs/job.ts';
import { JobRunner } from '../../../../src/engine/upkeep/jobs/job-runner.ts';
import type { TransactionRecord } from '../../../../src/engine/upkeep/jobs/transaction.ts';
import { Transactions } from '../../../../src/engine/upkeep/jobs/transactions.ts';
import { CatalogError } from '../../../../src/protocol/errors.ts';
import { StoreError } from '../../../../src/store/store-error.ts';
import { tableRecord } from '../../../support/catalog.ts';
import { MemoryStore } from '../../../support/memory-store.ts';
import { waitUntil } from '../../../support/eventually.ts';

/** Long enough that no busy machine lets it run out, and so short that it soon does. */
const LONG = 600_000;
const SHORT = 200;
const store = new MemoryStore();
const transactions = new Transactions(store, store);
const runners: JobRunner[] = [];

afterEach(async () => {
  await Promise.all(runners.splice(0).map((runner) => runner.stop()));
});

/** A runner as another process would have it. */
function runnerOf(work: JobWork, leaseMillis: number, faults: unknown[] = []): JobRunner {
  const works = { backfill: work, index: work, lance_index: work };
  const runner = new JobRunner({ transactions, works, leaseMillis, pollMillis: 10 });
  runners.push(runner);
  runner.start((error) => faults.push(error));
  return runner;
}

async function begin(): Promise<string> {
  const content = tableRecord();
  const [key, value] = [tableKey([content.id]), encodeTable(content)];
  await store.commit([], [{ key, value }]);
  const main = { branch: 'main', branchKey: 'main' };
  const job = { type: 'backfill', column: 'c', where: null, ...main } as const;
  return (await transactions.begin({ path: [content.id], table: { key, value, content }, job })).id;
}

/** Ends a job as its work does: along with a commit. */
async function end(job: Job): Promise<void> {
  const check = await job.endCheck();
  const { kind } = await store.commit([check], job.endWrites(7n));
  if (kind !== 'committed') throw new CatalogError('ConcurrentModification', 'lost');
}

/** Works until it is stopped. */
const endless: JobWork = async (job) => {
  for (;;) {
    job.checkRunning();
    await sleep(1);
  }
};

async function until(id: string, ...statuses: readonly string[]): Promise<TransactionRecord> {
  for (;;) {
    const record = (await transactions.get(id))!.content;
    if (statuses.includes(record.status)) return record;
    await sleep(2);
  }
}

describe('a job', () => {
  it('is run by one of several processes, once', async () => {
    const ids = await Promise.all(Array.from({ length: 10 }, begin));
    const ran: string[] = [];
    const work: JobWork = async (job) => {
      ran.push(job.id);
      await sleep(5);
      await end(job);
    };
    for (const _ of [1, 2, 3]) runnerOf(work, LONG);
    for (const id of ids) expect(await until(id, 'SUCCEEDED')).toMatchObject({ version: '7' });
    expect(ran.toSorted()).toEqual(ids.toSorted());
    expect(await transactions.open(10)).toEqual([]);
  });

  it('runs beside no more than one other in a process', async () => {
    let [now, most] = [0, 0];
    const ids = await Promise.all(Array.from({ length: 8 }, begin));
    runnerOf(async (job) => {
      most = Math.max(most, ++now);
      await sleep(5);
      now--;
      await end(job);
    }, LONG);
    for (const id of ids) await until(id, 'SUCCEEDED');
    expect(most).toBe(2);
  });

  it('tells how far it is while it runs', async () => {
    const id = await begin();
    runnerOf(async (job) => {
      job.progress(3, 10);
      await endless(job);
    }, SHORT);
    await until(id, 'RUNNING');
    for (;;) {
      const { progress } = (await transactions.get(id))!.content;
      if (progress.done > 0) {
        expect(progress).toEqual({ done: 3, total: 10 });
        break;
      }
      await sleep(5);
    }
  });

  it('goes on in another process when its own stops', async () => {
    const id = await begin();
    const first = runnerOf(endless, LONG);
    await until(id, 'RUNNING');
    await first.stop();
    expect(await until(id, 'QUEUED')).toMatchObject({ lease: null, attempts: 0 });
    runnerOf(end, LONG);
    expect(await until(id, 'SUCCEEDED')).toMatchObject({ attempts: 1 });
  });

  it('goes on in another process when its own has died, and the dead one cannot end it', async () => {
    const id = await begin();
    let wake: () => void = () => undefined;
    const woken = new Promise<void>((resolve) => (wake = resolve));
    const late: unknown[] = [];
    const dead = runnerOf(async (job) => {
      job.beat = async () => undefined;
      await woken;
      await end(job).catch((error: unknown) => late.push(error));
    }, SHORT);
    await until(id, 'RUNNING');
    clearIntervalOf(dead);
    runnerOf(async (job) => {
      wake();
      await sleep(20);
      await end(job);
    }, LONG);
    expect(await until(id, 'SUCCEEDED')).toMatchObject({ attempts: 2 });
    expect(late).toEqual([
      expect.objectContaining({ message: expect.stringMatching(/taken over/) }),
    ]);
  });

  it('is taken over at once from a process that is known to be dead, and from no other', async () => {
    const [first, second] = [await begin(), await begin()];
    for (const [id, holder] of [
      [first, 'dead'],
      [second, 'alive'],
    ] as const) {
      const lease = { holder, untilMillis: Date.now() + LONG };
      await transactions.change(id, (record) => ({ ...record, status: 'RUNNING', lease }));
    }
    const works = { backfill: end, index: end, lance_index: end };
    const isGone = async (holder: string) => holder === 'dead';
    const runner = new JobRunner({ transactions, works, pollMillis: 10, isGone });
    runners.push(runner);
    runner.start(() => undefined);
    expect(await until(first, 'SUCCEEDED')).toMatchObject({ attempts: 1 });
    expect(await until(second, 'RUNNING')).toMatchObject({ lease: { holder: 'alive' } });
    await transactions.change(second, (record) => ({ ...record, status: 'CANCELED', lease: null }));
  });

  it('waits for no other of which something is wrong', async () => {
    const broken = await begin();
    const key = transactionKey(broken);
    const before = await store.get(key);
    await store.commit([], [{ key, value: Buffer.from('{') }]);
    const id = await begin();
    const faults: unknown[] = [];
    runnerOf(end, LONG, faults);
    expect(await until(id, 'SUCCEEDED')).toMatchObject({ version: '7' });
    expect(faults[0]).toBeInstanceOf(SyntaxError);
    await store.commit([], [{ key, value: before! }]);
    await until(broken, 'SUCCEEDED');
  });

  it('is cancelled under way, and cannot end any more', async () => {
    const id = await begin();
    const stopped: unknown[] = [];
    runnerOf(async (job) => {
      await endless(job).catch((error: unknown) => stopped.push(error));
      await end(job);
    }, SHORT);
    await until(id, 'RUNNING');
    await transactions.change(id, (record) => ({ ...record, status: 'CANCELED', lease: null }));
    await waitUntil(() => stopped.length > 0);
    await sleep(20);
    expect(await until(id, 'CANCELED', 'SUCCEEDED')).toMatchObject({ status: 'CANCELED' });
  });

  it('fails with the sentence of a refusal, and without one for any other error', async () => {
    const [first, second] = [await begin(), await begin()];
    const faults: unknown[] = [];
    const bug = new Error('a bug');
    runnerOf(
      async (job) => {
        throw job.id === first ? new CatalogError('TableColumnNotFound', 'no column') : bug;
      },
      LONG,
      faults,
    );
    expect(await until(first, 'FAILED')).toMatchObject({
      failure: { code: 12, message: 'no column' },
    });
    expect(await until(second, 'FAILED')).toMatchObject({
      failure: { code: 18, message: 'an internal error ended the job' },
    });
    await waitUntil(() => faults.length > 0);
    expect(faults).toEqual([bug]);
  });

  it.each([
    new CatalogError('ServiceUnavailable', 'the store is away'),
    new StoreError('unavailable', 'no answer'),
  ])('is tried again over what may pass, and given up in the end: %s', async (error) => {
    const id = await begin();
    let times = 0;
    runnerOf(async () => {
      times++;
      throw error;
    }, SHORT);
    expect(await until(id, 'FAILED')).toMatchObject({
      attempts: 5,
      failure: { code: 18, message: 'the job was begun 5 times and never ended' },
    });
    expect(times).toBe(5);
  });
});

describe('the records of jobs', () => {
  it('go when they are old, those that have not ended stay', async () => {
    const [ended, open] = [await begin(), await begin()];
    await transactions.change(ended, (record) => ({ ...record, status: 'FAILED' }));
    await transactions.forgetBefore(Date.now() - 60_000);
    expect(await transactions.get(ended)).toBeDefined();
    await transactions.forgetBefore(Date.now() + 60_000);
    expect(await transactions.get(ended)).toBeUndefined();
    expect(await transactions.get(open)).toBeDefined();
    await transactions.change(open, (record) => ({ ...record, status: 'CANCELED' }));
  });
});

/** Keeps a runner from looking for further jobs, as one that has died would not. */
function clearIntervalOf(runner: JobRunner): void {
  runner.wake = () => undefined;
}
