import type { ObjectPath } from '../../../protocol/identifier.ts';
import type { IndexDefinition, IndexType } from '../../format/snapshot.ts';
import type { LanceIndexSpec } from '../../versions/managed/lance-library.ts';
import type { TextOptions } from '../../tokens/text-options.ts';

/** How far a transaction has come, in the protocol's words. The last three are final. */
export type TransactionStatus = 'QUEUED' | 'RUNNING' | 'SUCCEEDED' | 'FAILED' | 'CANCELED';

/** Fills a computed column of the rows that a table has. */
export interface BackfillSpec {
  readonly type: 'backfill';
  readonly column: string;
  /** SQL that a row must fulfil to get a value; null for every row. */
  readonly where: string | null;
  /** The line of versions that gets the values, and what tells it from a later one of its name. */
  readonly branch: string;
  readonly branchKey: string;
  /** `budget.memory` of the request that began it, in bytes; null for any, absent in older records. */
  readonly memory?: number | null;
}

/** Builds an index over the rows that a table has. */
export interface IndexSpec {
  readonly type: 'index';
  readonly column: string;
  readonly where: null;
  readonly name: string;
  readonly uuid: string;
  readonly indexType: IndexType;
  /** Of a vector index: its distance, and the requested type. */
  readonly distance?: IndexDefinition['distance'];
  readonly asked?: string | undefined;
  /** Tokeniser options of an index of type FTS. */
  readonly text?: TextOptions | undefined;
  /** Whether it takes the place of an index of its name. */
  readonly replace: boolean;
  readonly branch: string;
  readonly branchKey: string;
}

/** Has the Lance library build an index of a Lance table. */
export interface LanceIndexJob {
  readonly type: 'lance_index';
  readonly column: string;
  readonly where: null;
  readonly name: string;
  readonly index: LanceIndexSpec;
  /** Whether it takes the place of an index of its name. */
  readonly replace: boolean;
  readonly branch: string;
  readonly branchKey: string;
}

/** The work of a transaction: each kind is a member of this union and a row of the runner's table. */
export type JobSpec = BackfillSpec | IndexSpec | LanceIndexJob;

/** The index that a job builds: its name and its type; null for other work. */
export function indexOfJob(job: JobSpec): { readonly name: string; readonly type: string } | null {
  if (job.type === 'index') return { name: job.name, type: job.indexType };
  return job.type === 'lance_index' ? { name: job.name, type: job.index.type } : null;
}

/** Rows that are done, of those that are to be done. */
export interface JobProgress {
  readonly done: number;
  readonly total: number;
}

/** Lease of a job. If it expires without a renewal, its process has died. */
interface JobLease {
  readonly holder: string;
  readonly untilMillis: number;
}

/** Why a job failed: a code of the error table and a sentence. */
interface JobFailure {
  readonly code: number;
  readonly message: string;
}

/** Something that happened to a job. */
export interface JobEvent {
  readonly millis: number;
  readonly status: TransactionStatus;
  readonly message: string;
  readonly progress: JobProgress;
}

/** Record of a transaction: work on a table that continues after its request. */
export interface TransactionRecord {
  readonly id: string;
  readonly table: { readonly id: string; readonly path: ObjectPath };
  readonly status: TransactionStatus;
  readonly createdMillis: number;
  readonly updatedMillis: number;
  /** Properties set by clients. */
  readonly properties: Readonly<Record<string, string>>;
  readonly job: JobSpec;
  readonly progress: JobProgress;
  readonly lease: JobLease | null;
  /** How many times it was begun and not given back. */
  readonly attempts: number;
  /** The version of the table that it made. */
  readonly version: string | null;
  readonly failure: JobFailure | null;
  /** The newest of what happened, oldest first. */
  readonly events: readonly JobEvent[];
}

const final: ReadonlySet<TransactionStatus> = new Set(['SUCCEEDED', 'FAILED', 'CANCELED']);

/** Whether nothing more can come of a transaction. */
export function hasEnded({ status }: Pick<TransactionRecord, 'status'>): boolean {
  return final.has(status);
}

/** Maximum number of stored events of a transaction. */
const MOST_EVENTS = 32;

/** A transaction after a step, with the event of the step. */
export function advancedTransaction(
  record: TransactionRecord,
  change: Partial<TransactionRecord>,
  message: string,
): TransactionRecord {
  const next = { ...record, ...change, updatedMillis: Date.now() };
  const { status, progress, updatedMillis: millis } = next;
  const events = [...record.events, { millis, status, message, progress }];
  return { ...next, events: events.slice(-MOST_EVENTS) };
}

/** The bytes of a transaction's record: JSON. */
export function encodeTransaction(record: TransactionRecord): Uint8Array {
  return Buffer.from(JSON.stringify(record));
}

/** The inverse of `encodeTransaction`. */
export function decodeTransaction(bytes: Uint8Array): TransactionRecord {
  return JSON.parse(Buffer.from(bytes).toString()) as TransactionRecord;
}
