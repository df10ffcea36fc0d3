import { CatalogError } from '../../../protocol/errors.ts';
import type { ObjectPath } from '../../../protocol/identifier.ts';
import type { Store, Write } from '../../../store/store.ts';
import { children } from '../../catalog/records/children.ts';
import { commitLoop, type Committer } from '../../catalog/records/commit-loop.ts';
import {
  OPEN_TRANSACTIONS,
  openTransactionKey,
  prefixRange,
  TRANSACTIONS,
  transactionKey,
} from '../../catalog/records/keys.ts';
import { absent, unchanged } from '../../catalog/records/reader.ts';
import type { Stored, TableRecord } from '../../format/records.ts';
import type { Seal } from '../../catalog/records/seal.ts';
import {
  decodeTransaction,
  encodeTransaction,
  hasEnded,
  advancedTransaction,
  type JobSpec,
  type TransactionRecord,
} from './transaction.ts';
import { randomBytes } from 'node:crypto';

const TIME_BYTES = 6;

/** A new id: a UUID of version 7 (RFC 9562), so that ids are in the order of their time. */
function newTransactionId(): string {
  const bytes = randomBytes(16);
  bytes.writeUIntBE(Date.now(), 0, TIME_BYTES);
  bytes[6] = 0x70 | (bytes[6]! & 0x0f);
  bytes[8] = 0x80 | (bytes[8]! & 0x3f);
  const hex = bytes.toString('hex');
  return [
    [0, 8],
    [8, 12],
    [12, 16],
    [16, 20],
    [20, 32],
  ]
    .map(([from, to]) => hex.slice(from, to))
    .join('-');
}

/** The first id of a moment, in milliseconds since 1970: every id of an earlier one lies before it. */
function firstIdOf(millis: number): string {
  const hex = Math.max(0, Math.floor(millis))
    .toString(16)
    .padStart(2 * TIME_BYTES, '0');
  return `${hex.slice(0, 8)}-${hex.slice(8)}`;
}

/** Work to begin on a table. */
interface NewTransaction {
  readonly path: ObjectPath;
  readonly table: Stored<TableRecord>;
  readonly job: JobSpec;
  readonly seal?: Seal<TransactionRecord> | undefined;
}

/** The record of a transaction that waits for a process that runs it. */
export function queuedTransaction(
  table: TransactionRecord['table'],
  job: JobSpec,
): TransactionRecord {
  const now = Date.now();
  const fresh: TransactionRecord = {
    id: newTransactionId(),
    table,
    status: 'QUEUED',
    createdMillis: now,
    updatedMillis: now,
    properties: {},
    job,
    progress: { done: 0, total: 0 },
    lease: null,
    attempts: 0,
    version: null,
    failure: null,
    events: [],
  };
  return advancedTransaction(fresh, {}, 'the job waits to be run');
}

const ID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** How many records are removed in one step. */
const REMOVED_AT_ONCE = 100;

/** The transactions of tables, each a record of its own in the store. */
export class Transactions {
  readonly #store: Store;
  readonly #committer: Committer;

  constructor(store: Store, committer: Committer) {
    this.#store = store;
    this.#committer = committer;
  }

  /**
   * Begins a transaction: it waits for a process that runs it.
   * @throws CatalogError ConcurrentModification when the table was changed or dropped meanwhile.
   */
  async begin({ path, table, job, seal }: NewTransaction): Promise<TransactionRecord> {
    const record = queuedTransaction({ id: table.content.id, path }, job);
    const by = { committer: this.#committer, seal };
    return commitLoop<TransactionRecord>(by, async (uncertain) => {
      if (uncertain && (await this.get(record.id)) !== undefined) {
        return { kind: 'done', result: record };
      }
      return {
        kind: 'commit',
        checks: [unchanged(table), absent(transactionKey(record.id))],
        writes: writesOf(record),
        result: record,
        lost: (check) => {
          if (check === 0) throw tableChanged();
        },
      };
    });
  }

  async get(id: string): Promise<Stored<TransactionRecord> | undefined> {
    if (!ID.test(id)) return undefined;
    const key = transactionKey(id);
    const value = await this.#store.get(key);
    return value === undefined ? undefined : { key, value, content: decodeTransaction(value) };
  }

  /** The transactions in the order in which they began, beyond an id. */
  async *after(id: string): AsyncGenerator<TransactionRecord> {
    for await (const { value } of children(this.#store, TRANSACTIONS, id)) {
      yield decodeTransaction(value);
    }
  }

  /** The ids of the transactions that have not ended, oldest first. */
  async open(limit: number): Promise<readonly string[]> {
    const entries = await this.#store.range({ ...prefixRange(OPEN_TRANSACTIONS), limit });
    return entries.map(({ key }) => key.slice(OPEN_TRANSACTIONS.length));
  }

  /** The work on a table that has not ended, oldest first. */
  async openJobs(tableId: string): Promise<readonly JobSpec[]> {
    const jobs: JobSpec[] = [];
    for await (const { name, value } of children(this.#store, OPEN_TRANSACTIONS)) {
      if (Buffer.from(value).toString() !== tableId) continue;
      const stored = await this.get(name);
      if (stored !== undefined && !hasEnded(stored.content)) jobs.push(stored.content.job);
    }
    return jobs;
  }

  /**
   * Changes a transaction in one step. `change` gets the current record, again after a conflict; its errors
   * pass through, and if it returns the same record nothing is written.
   * @throws CatalogError TransactionNotFound.
   */
  async change(
    id: string,
    change: (record: TransactionRecord) => TransactionRecord,
    seal?: Seal<TransactionRecord>,
  ): Promise<TransactionRecord> {
    const by = { committer: this.#committer, seal };
    return commitLoop<TransactionRecord>(by, async (uncertain) => {
      const stored = await this.get(id);
      if (stored === undefined) throw transactionNotFound(id);
      const next = change(stored.content);
      const value = encodeTransaction(next);
      if (next === stored.content || (uncertain && Buffer.from(value).equals(stored.value))) {
        return { kind: 'done', result: stored.content };
      }
      return {
        kind: 'commit',
        checks: [unchanged(stored)],
        writes: writesOf(next),
        result: next,
      };
    });
  }

  /** Removes the records of transactions that ended before a moment. */
  async forgetBefore(millis: number): Promise<void> {
    const limit = firstIdOf(millis);
    let expired: TransactionRecord[] = [];
    for await (const record of this.after('')) {
      if (record.id >= limit) break;
      if (hasEnded(record) && record.updatedMillis < millis) expired.push(record);
      if (expired.length < REMOVED_AT_ONCE) continue;
      await this.#remove(expired);
      expired = [];
    }
    if (expired.length > 0) await this.#remove(expired);
  }

  async #remove(records: readonly TransactionRecord[]): Promise<void> {
    const writes = records.map(({ id }) => ({ key: transactionKey(id), value: null }));
    await this.#committer.commit([], writes);
  }
}

/** Writes of a transaction; an ended one is no longer among the open ones. */
export function writesOf(record: TransactionRecord): readonly Write[] {
  return [
    { key: transactionKey(record.id), value: encodeTransaction(record) },
    {
      key: openTransactionKey(record.id),
      value: hasEnded(record) ? null : Buffer.from(record.table.id),
    },
  ];
}

export function transactionNotFound(id: string): CatalogError {
  return new CatalogError('TransactionNotFound', `there is no transaction ${JSON.stringify(id)}`);
}

function tableChanged(): CatalogError {
  return new CatalogError('ConcurrentModification', 'the table was changed meanwhile');
}
