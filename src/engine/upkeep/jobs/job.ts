import type { Check, Write } from '../../../store/store.ts';
import { CatalogError } from '../../../protocol/errors.ts';
import { unchanged } from '../../catalog/records/reader.ts';
import type { Stored } from '../../format/records.ts';
import { writesOf, type Transactions } from './transactions.ts';
import {
  hasEnded,
  advancedTransaction,
  type JobProgress,
  type TransactionRecord,
} from './transaction.ts';

/** A job is not this process's any more: it was cancelled, or another process has taken it over. */
export class JobLost extends CatalogError {
  constructor() {
    super('ConcurrentModification', 'the job was cancelled or taken over');
  }
}

/** The process is to end: the job waits for the next. */
export class JobStopped extends CatalogError {
  constructor() {
    super('ConcurrentModification', 'the job was stopped and will go on');
  }
}

/** Does the work of a job, and ends it in the same step in which its work takes effect. */
export type JobWork = (job: Job) => Promise<void>;

/** Under which a process holds a job. */
export interface JobHold {
  readonly transactions: Transactions;
  readonly holder: string;
  readonly leaseMillis: number;
}

/** A job that this process runs, as its work sees it. */
export class Job {
  readonly id: string;
  readonly #hold: JobHold;
  #record: TransactionRecord;
  #progress: JobProgress;
  #stop: CatalogError | undefined;
  readonly #stopping = new AbortController();

  constructor(hold: JobHold, record: TransactionRecord) {
    this.#hold = hold;
    this.#record = record;
    this.#progress = record.progress;
    this.id = record.id;
  }

  get record(): TransactionRecord {
    return this.#record;
  }

  /** How far the work is, for those who ask; it is written down at the next beat. */
  progress(done: number, total: number): void {
    this.#progress = { done: Math.min(done, total), total };
  }

  /** Called at short intervals. @throws JobLost, JobStopped. */
  checkRunning(): void {
    if (this.#stop !== undefined) throw this.#stop;
  }

  /** Aborted when the next `checkRunning` throws. */
  get signal(): AbortSignal {
    return this.#stopping.signal;
  }

  /** Makes the next `checkRunning` throw. */
  stop(reason: CatalogError): void {
    this.#stop ??= reason;
    this.#stopping.abort(this.#stop);
  }

  /** Writes down how far it is, and that this process is alive. Learns whether the job is still its own. */
  async beat(): Promise<void> {
    const { transactions } = this.#hold;
    try {
      this.#record = await transactions.change(this.id, (record) => ({
        ...this.#own(record),
        progress: this.#progress,
        updatedMillis: Date.now(),
        lease: this.#lease(),
      }));
    } catch (error) {
      if (error instanceof JobLost) this.stop(error);
      else throw error;
    }
  }

  /**
   * The check that the job is still this process's, for the commit that does its work.
   * @throws JobLost.
   */
  async endCheck(): Promise<Check> {
    const stored = await this.#hold.transactions.get(this.id);
    if (stored === undefined) throw new JobLost();
    this.#record = this.#own(stored.content);
    return unchanged(stored);
  }

  /** Writes of the same commit as its work, after `endCheck`. */
  endWrites(version: bigint): readonly Write[] {
    const { total } = this.#progress;
    const change = {
      status: 'SUCCEEDED',
      progress: { done: total, total },
      lease: null,
      version: String(version),
    } as const;
    return writesOf(
      advancedTransaction(this.#record, change, `version ${version} of the table was made`),
    );
  }

  #own(record: TransactionRecord): TransactionRecord {
    if (hasEnded(record) || record.lease?.holder !== this.#hold.holder) throw new JobLost();
    return record;
  }

  #lease() {
    const { holder, leaseMillis } = this.#hold;
    return { holder, untilMillis: Date.now() + leaseMillis };
  }
}

/** Whether an unfinished job has no owner: it waits, or its process has died. */
function isFree({ lease }: TransactionRecord, now: number): boolean {
  return lease === null || lease.untilMillis < now;
}

/** How often the process of a job may end before the job counts as failed. */
const MOST_ATTEMPTS = 5;

/** Whether the process of a holder has ended for certain, so that nothing has to be waited for. */
export type IsGone = (holder: string) => Promise<boolean>;

/**
 * Takes a job that nobody runs. Answers nothing when somebody does, and when it
 * is given up because it was begun too often.
 */
export async function claim(
  hold: JobHold,
  id: string,
  isGone: IsGone = async () => false,
): Promise<Job | undefined> {
  const { transactions, holder, leaseMillis } = hold;
  const found: Stored<TransactionRecord> | undefined = await transactions.get(id);
  if (found === undefined || hasEnded(found.content)) return undefined;
  const before = found.content.lease?.holder ?? '';
  const isHolderGone = before !== '' && before !== holder && (await isGone(before));
  const record = await transactions.change(id, (current) => {
    const now = Date.now();
    const free = isFree(current, now) || (isHolderGone && current.lease?.holder === before);
    if (hasEnded(current) || !free) return current;
    if (current.attempts >= MOST_ATTEMPTS) return givenUp(current);
    return advancedTransaction(
      current,
      {
        status: 'RUNNING',
        attempts: current.attempts + 1,
        lease: { holder, untilMillis: now + leaseMillis },
      },
      current.attempts === 0 ? 'the job runs' : 'the job runs again',
    );
  });
  return record.lease?.holder === holder ? new Job(hold, record) : undefined;
}

function givenUp(record: TransactionRecord): TransactionRecord {
  const message = `the job was begun ${record.attempts} times and never ended`;
  const failure = { code: 18, message };
  return advancedTransaction(record, { status: 'FAILED', lease: null, failure }, message);
}
