import { randomUUID } from 'node:crypto';
import { CatalogError, errorRow } from '../../../protocol/errors.ts';
import { isStoreDamage, StoreError } from '../../../store/store-error.ts';
import {
  claim,
  JobLost,
  JobStopped,
  type IsGone,
  type Job,
  type JobHold,
  type JobWork,
} from './job.ts';
import { advancedTransaction, type JobSpec, type TransactionRecord } from './transaction.ts';
import type { Transactions } from './transactions.ts';

/** Called with errors of background work. */
export type OnFault = (error: unknown) => void;

export interface JobRunnerOptions {
  readonly transactions: Transactions;
  /** Implementation of each kind of job. */
  readonly works: Readonly<Record<JobSpec['type'], JobWork>>;
  /** Lease of a job: without a renewal within this time it is taken over. */
  readonly leaseMillis?: number;
  /** The name of this process among those that may run the jobs; one of its own unless given. */
  readonly holder?: string;
  /** Whether the process of a name is known to be dead; none is unless it is given. */
  readonly isGone?: IsGone;
  /** How often jobs are looked for that other processes left. */
  readonly pollMillis?: number;
}

export const JOB_LEASE_MILLIS = 10_000;
const POLL_MILLIS = 2_000;
/** Maximum number of concurrent jobs. */
const AT_ONCE = 2;
/** Maximum number of waiting jobs that are examined per pass. */
const LOOKED_AT = 1000;
/** The records of jobs that ended stay for a week. */
const KEPT_MILLIS = 7 * 24 * 3600 * 1000;
const FORGET_MILLIS = 3600 * 1000;

/**
 * Runs the jobs of a store's transactions, those that another process left too.
 * Several processes may run on one store: a job is run by the one that holds its
 * lease, and only it can end the job. A lease is over when its time is, or when its
 * holder is seen to be dead.
 */
export class JobRunner {
  readonly #options: JobRunnerOptions;
  readonly #hold: JobHold;
  readonly #pollMillis: number;
  readonly #running = new Map<string, { readonly job: Job; readonly end: Promise<void> }>();
  #onFault: OnFault = () => undefined;
  #timer: NodeJS.Timeout | undefined;
  #forgotMillis = 0;
  #looking: Promise<void> | undefined;
  #lookAgain = false;
  #begun = false;
  #stopping = false;

  constructor(options: JobRunnerOptions) {
    this.#options = options;
    this.#pollMillis = options.pollMillis ?? POLL_MILLIS;
    this.#hold = {
      transactions: options.transactions,
      holder: options.holder ?? randomUUID(),
      leaseMillis: options.leaseMillis ?? JOB_LEASE_MILLIS,
    };
  }

  /** Begins to run jobs. */
  start(onFault: OnFault): void {
    this.#onFault = onFault;
    this.#begun = true;
    this.#timer = setInterval(() => this.wake(), this.#pollMillis);
    this.#timer.unref();
    this.wake();
  }

  /** Looks for jobs now. Does nothing before `start`. */
  wake(): void {
    if (!this.#begun || this.#stopping) return;
    if (this.#looking !== undefined) {
      this.#lookAgain = true;
      return;
    }
    this.#looking = this.#look()
      .catch((error: unknown) => this.#tell(error))
      .finally(() => {
        this.#looking = undefined;
        if (!this.#lookAgain) return;
        this.#lookAgain = false;
        this.wake();
      });
  }

  /** Stops what runs, soon; it continues where a runner starts next. */
  async stop(): Promise<void> {
    this.#stopping = true;
    clearInterval(this.#timer);
    await this.#looking;
    for (const { job } of this.#running.values()) job.stop(new JobStopped());
    await Promise.all([...this.#running.values()].map(({ end }) => end));
  }

  async #look(): Promise<void> {
    await this.#forget();
    const isGone = this.#goneHolders();
    for (const id of await this.#options.transactions.open(LOOKED_AT)) {
      if (this.#stopping || this.#running.size >= AT_ONCE) return;
      if (this.#running.has(id)) continue;
      // An error of one job must not delay the others.
      const job = await claim(this.#hold, id, isGone).catch((error: unknown) => this.#tell(error));
      if (job !== undefined) this.#begin(job);
    }
  }

  /** Looks at each process once. */
  #goneHolders(): IsGone {
    const { isGone = async () => false } = this.#options;
    const cache = new Map<string, Promise<boolean>>();
    return (holder) => {
      const isHolderGone = cache.get(holder) ?? isGone(holder);
      cache.set(holder, isHolderGone);
      return isHolderGone;
    };
  }

  async #forget(): Promise<void> {
    const now = Date.now();
    if (now - this.#forgotMillis < FORGET_MILLIS) return;
    this.#forgotMillis = now;
    await this.#options.transactions.forgetBefore(now - KEPT_MILLIS);
  }

  #begin(job: Job): void {
    if (this.#stopping) job.stop(new JobStopped());
    const end = this.#run(job)
      .catch((error: unknown) => this.#tell(error))
      .finally(() => {
        this.#running.delete(job.id);
        this.wake();
      });
    this.#running.set(job.id, { job, end });
  }

  async #run(job: Job): Promise<void> {
    const beat = (): void => void job.beat().catch((error: unknown) => this.#tell(error));
    const heart = setInterval(beat, this.#hold.leaseMillis / 4);
    heart.unref();
    try {
      await this.#options.works[job.record.job.type](job);
    } catch (error) {
      await this.#failed(job, error);
    } finally {
      clearInterval(heart);
    }
  }

  /** Reports a fault. Readiness reports an unavailable store, so that is left out here. */
  #tell(error: unknown): void {
    if (!mayPass(error)) this.#onFault(error);
  }

  /** Says what became of a job whose work did not take effect. */
  async #failed(job: Job, error: unknown): Promise<void> {
    if (error instanceof JobLost) return;
    const { holder, leaseMillis } = this.#hold;
    await this.#options.transactions.change(job.id, (record) => {
      if (record.lease?.holder !== holder) return record;
      if (error instanceof JobStopped) return givenBack(record);
      if (mayPass(error)) return postponed(record, error, Date.now() + leaseMillis);
      return failed(record, error);
    });
    if (!(error instanceof CatalogError)) this.#tell(error);
  }
}

function givenBack(record: TransactionRecord): TransactionRecord {
  const attempts = record.attempts - 1;
  const message = 'the service stops; the job goes on when it is back';
  return advancedTransaction(record, { status: 'QUEUED', lease: null, attempts }, message);
}

/** The lease stays, without an owner, until the next attempt. */
function postponed(
  record: TransactionRecord,
  error: Error,
  untilMillis: number,
): TransactionRecord {
  const message = `the job is tried again: ${error.message}`;
  return advancedTransaction(
    record,
    { status: 'QUEUED', lease: { holder: '', untilMillis } },
    message,
  );
}

function failed(record: TransactionRecord, error: unknown): TransactionRecord {
  const failure =
    error instanceof CatalogError
      ? { code: error.row.code, message: error.message }
      : { code: errorRow('Internal').code, message: 'an internal error ended the job' };
  return advancedTransaction(record, { status: 'FAILED', lease: null, failure }, failure.message);
}

/** Transient errors: an unavailable store, or too many other writers. */
function mayPass(error: unknown): error is Error {
  if (error instanceof StoreError) return error.kind !== 'key' && !isStoreDamage(error);
  if (!(error instanceof CatalogError)) return false;
  const { name } = error.row;
  return name === 'ServiceUnavailable' || name === 'ConcurrentModification';
}
