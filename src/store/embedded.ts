import { open, type RootDatabase } from 'lmdb';
import { decodeWrites } from './change-codec.ts';
import {
  applySteps,
  sequenceKey,
  sequenceOf,
  type Bytes,
  type Step,
  type Tables,
} from './embedded-transaction.ts';
import { StoreError } from './errors.ts';
import { makeFolder, syncFolder } from './folder.ts';
import { Group, type Settled } from './group.ts';
import { boundBytes, keyBytes, keyText } from './key.ts';
import type { Change, Check, CommitResult, Range, Store, StoreEntry, Write } from './store.ts';

/** Address space that the file may grow into; nothing is taken up before it is used. */
const MAP_BYTES = 2 ** 36;
/** The most commits that share one flush of the disk. */
const MAX_BATCH = 256;
/** A commit that is not confirmed by then is unknown: a process that was stopped may hold the lock. */
const PATIENCE_MILLIS = 30_000;

const binary = { keyEncoding: 'binary', encoding: 'binary' } as const;

/**
 * Opens the embedded store of a folder, which is made where it is missing (mode
 * 0700). Any number of processes of one machine may have it open.
 *
 * What a resolved commit means: with `overlappingSync` off, LMDB writes the
 * pages, waits for `fdatasync`, writes the page that makes them count through a
 * descriptor opened with O_DSYNC, and only then reports back (as strace shows).
 */
export async function openEmbeddedStore(folder: string): Promise<Store> {
  await makeFolder(folder, 0o700);
  const root = open<Uint8Array, Uint8Array>({
    ...binary,
    path: folder,
    noSubdir: false,
    overlappingSync: false,
    // Off: when it is on, a commit that fails also rejects a promise that nobody holds.
    eventTurnBatching: false,
    mapSize: MAP_BYTES,
    maxDbs: 3,
  });
  await syncFolder(folder);
  return new EmbeddedStore(root);
}

class EmbeddedStore implements Store {
  readonly #root: RootDatabase<Uint8Array, Uint8Array>;
  readonly #tables: Tables;
  readonly #group = new Group<Step, CommitResult>((steps) => this.#transact(steps), MAX_BATCH);
  #closed = false;

  constructor(root: RootDatabase<Uint8Array, Uint8Array>) {
    this.#root = root;
    this.#tables = {
      values: root.openDB('values', binary),
      changes: root.openDB('changes', binary),
      counters: root.openDB('counters', binary),
    };
  }

  async get(key: string): Promise<Uint8Array | undefined> {
    const bytes = keyBytes(key);
    return this.#newest().values.get(bytes);
  }

  async getMany(keys: readonly string[]): Promise<readonly (Uint8Array | undefined)[]> {
    const bytes = keys.map(keyBytes);
    const { values } = this.#newest();
    return bytes.map((key) => values.get(key));
  }

  async range(range: Range): Promise<readonly StoreEntry[]> {
    const [start, end] = [boundBytes(range.start), boundBytes(range.end)];
    const { values } = this.#newest();
    if (Buffer.compare(start, end) >= 0 || range.limit <= 0) return [];
    const span =
      range.reverse === true
        ? { reverse: true, start: end, exclusiveStart: true, end: start, inclusiveEnd: true }
        : { start, end };
    return entries(values, { ...span, limit: range.limit });
  }

  async commit(checks: readonly Check[], writes: readonly Write[]): Promise<CommitResult> {
    verifyKeys(checks, writes);
    return this.#submit({ kind: 'commit', checks, writes });
  }

  async changes(limit: number): Promise<readonly Change[]> {
    const { changes } = this.#newest();
    return [...changes.getRange({ start: sequenceKey(0n), limit })].map(({ key, value }) => ({
      sequence: sequenceOf(key),
      writes: decodeWrites(Buffer.from(value)),
    }));
  }

  async forget(sequences: readonly bigint[]): Promise<void> {
    const result = await this.#submit({ kind: 'forget', sequences });
    if (result.kind === 'unknown') throw new StoreError('failed', result.reason);
  }

  async weakness(): Promise<undefined> {
    this.#requireOpen();
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    await this.#group.idle();
    await this.#root.close();
  }

  /** The tables as every commit so far has left them, those of other processes too; at one moment for as long as nothing is awaited. */
  #newest(): Tables {
    this.#requireOpen();
    this.#root.resetReadTxn();
    return this.#tables;
  }

  #requireOpen(): void {
    if (this.#closed) throw new StoreError('closed', 'the store is closed');
  }

  #submit(step: Step): Promise<CommitResult> {
    this.#requireOpen();
    return patiently(this.#group.submit(step));
  }

  /** Does steps in one transaction, with one flush of the disk for all. */
  async #transact(steps: readonly Step[]): Promise<readonly Settled<CommitResult>[]> {
    let inside: unknown;
    try {
      // A child transaction, so that a step that throws leaves nothing of the others either.
      const results = await this.#root.childTransaction(() => {
        try {
          return applySteps(this.#tables, steps);
        } catch (error) {
          inside = error;
          throw error;
        }
      });
      return results.map((outcome) => ({ kind: 'done', outcome }));
    } catch (error) {
      const settled = inside === undefined ? unconfirmed(error) : failed(inside);
      return steps.map(() => settled);
    }
  }
}

function entries(table: Bytes, options: Parameters<Bytes['getRange']>[0]): readonly StoreEntry[] {
  return [...table.getRange(options)].map(({ key, value }) => ({ key: keyText(key), value }));
}

/** Keys are looked at before the transaction, so that one commit's key cannot spoil another's batch. */
function verifyKeys(checks: readonly Check[], writes: readonly Write[]): void {
  for (const check of checks) {
    if (check.kind === 'value') keyBytes(check.key);
    else [check.start, check.end].forEach(boundBytes);
  }
  for (const { key } of writes) keyBytes(key);
}

function failed(error: unknown): Settled<CommitResult> {
  return {
    kind: 'failed',
    error: new StoreError('failed', `the store could not make the change: ${messageOf(error)}`),
  };
}

/** The disk refused while the transaction was written out; whether it counts has to be read back. */
function unconfirmed(error: unknown): Settled<CommitResult> {
  quieten(error);
  const reason = `the store could not be written: ${messageOf(error)}`;
  return { kind: 'done', outcome: { kind: 'unknown', reason } };
}

/** The package hangs a second promise on the error, rejected too; unheard it would end the process. */
function quieten(failure: unknown): void {
  if (failure instanceof Error && 'commitError' in failure) {
    Promise.resolve(failure.commitError).catch(() => undefined);
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Waits so long and no longer: the answer after that is that the outcome is not known. */
async function patiently(result: Promise<CommitResult>): Promise<CommitResult> {
  let timer: NodeJS.Timeout | undefined;
  const tooLate = new Promise<CommitResult>((resolve) => {
    const reason = `the store did not confirm the commit within ${PATIENCE_MILLIS / 1000} seconds`;
    timer = setTimeout(() => resolve({ kind: 'unknown', reason }), PATIENCE_MILLIS);
  });
  try {
    return await Promise.race([result, tooLate]);
  } finally {
    clearTimeout(timer);
  }
}
