import {
  decodeWrites,
  type StoreChange,
  type Check,
  type CommitResult,
  type KeyRange,
  type ReadCheck,
  type Store,
  type StoreEntry,
  type StoreGuard,
  type StoreWatch,
  type Write,
} from '../store.ts';
import { inodeOf, EmbeddedFile, unreadable } from './file.ts';
import {
  applyReplay,
  applyRestore,
  applySteps,
  lastSequence,
  sequenceKey,
  sequenceOf,
  type EmbeddedTable,
  type TransactionStep,
  type EmbeddedTables,
} from './transaction.ts';
import { messageOf, StoreError } from '../store-error.ts';
import { makeFolder, syncFolder } from '../../storage/folder.ts';
import { Gate } from '../gate.ts';
import { Group, type Settled } from '../../storage/group.ts';
import { readingStore } from '../reading-store.ts';
import { boundBytes, keyBytes, keyText } from '../key.ts';

type Test = (values: EmbeddedTables['values']) => boolean;

/** Compares values of the file with values that were read, without copying them. */
class EmbeddedWatch implements StoreWatch {
  readonly #newest: () => EmbeddedTables | undefined;
  readonly #tests: readonly Test[];

  /** @param newest Returns the tables after all commits so far; undefined if they must be awaited. */
  constructor(newest: () => EmbeddedTables | undefined, seen: readonly ReadCheck[]) {
    this.#newest = newest;
    this.#tests = seen.map(testOf);
  }

  holds(): boolean | undefined {
    const tables = this.#newest();
    if (tables === undefined) return undefined;
    try {
      for (const test of this.#tests) if (!test(tables.values)) return false;
      return true;
    } catch {
      // The file does not answer; a read reports the error.
      return undefined;
    }
  }
}

function testOf(seen: ReadCheck): Test {
  return seen.kind === 'value' ? valueTest(keyBytes(seen.key), seen.value) : countTest(seen);
}

function valueTest(key: Buffer, value: Uint8Array | null): Test {
  if (value === null) return (values) => values.getBinaryFast(key) === undefined;
  const expected = Buffer.from(value.buffer, value.byteOffset, value.byteLength);
  return (values) => {
    // The package reuses this memory for the next value, so bytes are only compared.
    const found: Uint8Array | undefined = values.getBinaryFast(key);
    return found !== undefined && expected.compare(found, 0, found.length) === 0;
  };
}

function countTest({ start, end, count }: Extract<ReadCheck, { kind: 'count' }>): Test {
  const range = { start: boundBytes(start), end: boundBytes(end) };
  return (values) => values.getKeysCount(range) === count;
}

/** Maximum number of cached values, and maximum size of each, in bytes. */
const REMEMBERED = 4096;
const LARGEST_BYTES = 2048;

/** Encoded key, and the value of its last read. */
interface CachedValue {
  readonly key: Buffer;
  value: Buffer | undefined;
}

/**
 * Reads values from the file. Each read compares the bytes of the file with the last value; if
 * they are equal, it returns the same object and copies nothing.
 */
class EmbeddedReads {
  readonly #known = new Map<string, CachedValue>();

  /**
   * The value of a key, which must not be modified.
   * @throws StoreError key.
   */
  read(values: EmbeddedTable, key: string): Uint8Array | undefined {
    const known = this.#known.get(key) ?? this.#remember(key);
    // The package reuses this memory for the next value; it may be larger than `length`.
    const found: Uint8Array | undefined = values.getBinaryFast(known.key);
    if (found === undefined) {
      known.value = undefined;
      return undefined;
    }
    if (known.value !== undefined && isSame(known.value, found)) return known.value;
    const value = Buffer.allocUnsafeSlow(found.length);
    value.set(found.subarray(0, found.length));
    known.value = value.byteLength > LARGEST_BYTES ? undefined : value;
    return value;
  }

  #remember(key: string): CachedValue {
    const known: CachedValue = { key: keyBytes(key), value: undefined };
    this.#known.set(key, known);
    if (this.#known.size > REMEMBERED) this.#forgetOldest();
    return known;
  }

  #forgetOldest(): void {
    for (const oldest of this.#known.keys()) {
      this.#known.delete(oldest);
      return;
    }
  }
}

function isSame(value: Buffer, found: Uint8Array): boolean {
  const { length } = found;
  return value.byteLength === length && value.compare(found, 0, length) === 0;
}

/** Maximum number of commits that share a flush. */
const MAX_BATCH = 256;
/** Time after which an unconfirmed commit is unknown, in ms: a stopped process may hold the lock. */
const PATIENCE_MILLIS = 30_000;

/**
 * Opens the embedded store of a folder, which is made where it is missing (mode
 * 0700). Processes of one machine may share it. If the file is missing, operations fail; if it
 * is replaced, the new file is the store.
 */
export async function openEmbeddedStore(folder: string): Promise<Store> {
  await makeFolder(folder, 0o700);
  const file = new EmbeddedFile(folder);
  await syncFolder(folder);
  return new EmbeddedStore(folder, file);
}

/**
 * Opens the embedded store of a folder for reading: beside those that write to it, or alone.
 * Nothing but LMDB's lock file, where readers are registered, is written.
 * @throws StoreError unavailable when there is none.
 */
export function openEmbeddedReading(folder: string): Store {
  return readingStore(new EmbeddedStore(folder, openedFile(folder, true), true));
}

function openedFile(folder: string, reading: boolean): EmbeddedFile {
  try {
    return new EmbeddedFile(folder, reading);
  } catch (error) {
    throw unreadable(error);
  }
}

class EmbeddedStore implements Store {
  readonly forgetsBeside = true;
  readonly #folder: string;
  readonly #reading: boolean;
  readonly #group = new Group<TransactionStep, CommitResult>(
    (steps) => this.#transact(steps),
    MAX_BATCH,
  );
  readonly #gate = new Gate();
  readonly #reads = new EmbeddedReads();
  #file: EmbeddedFile;
  /** When the inode of the file was last checked. */
  #seenMillis = 0;
  #retired: Promise<void> = Promise.resolve();
  #closed = false;

  constructor(folder: string, file: EmbeddedFile, reading = false) {
    this.#folder = folder;
    this.#file = file;
    this.#reading = reading;
  }

  get(key: string): Promise<Uint8Array | undefined> {
    return this.#read(({ values }) => this.#reads.read(values, key));
  }

  getMany(keys: readonly string[]): Promise<readonly (Uint8Array | undefined)[]> {
    return this.#read(({ values }) => keys.map((key) => this.#reads.read(values, key)));
  }

  watch(seen: readonly ReadCheck[]): StoreWatch {
    return new EmbeddedWatch(() => this.#atOnce(), seen);
  }

  async range(range: KeyRange): Promise<readonly StoreEntry[]> {
    const [start, end] = [boundBytes(range.start), boundBytes(range.end)];
    if (Buffer.compare(start, end) >= 0 || range.limit <= 0) return [];
    const span =
      range.reverse === true
        ? { reverse: true, start: end, exclusiveStart: true, end: start, inclusiveEnd: true }
        : { start, end };
    const options = { ...span, limit: range.limit };
    const list = range.keysOnly === true ? keys : entries;
    return this.#read(({ values }) => list(values, options));
  }

  async commit(checks: readonly Check[], writes: readonly Write[]): Promise<CommitResult> {
    verifyKeys(checks, writes);
    return this.#submit({ kind: 'commit', checks, writes });
  }

  async changes(limit: number): Promise<readonly StoreChange[]> {
    // Writes of a killed process become visible with the next write.
    if (!this.#reading) await this.#submit({ kind: 'forget', sequences: [] });
    const found = await this.#read(({ changes }) =>
      [...changes.getRange({ start: sequenceKey(0n), limit })].map(({ key, value }) => ({
        sequence: sequenceOf(key),
        value: Buffer.from(value),
      })),
    );
    return found.map(({ sequence, value }) => ({ sequence, writes: decodeWrites(value) }));
  }

  async forget(sequences: readonly bigint[]): Promise<void> {
    const result = await this.#submit({ kind: 'forget', sequences });
    if (result.kind === 'unknown') throw new StoreError('failed', result.reason);
  }

  sequence(): Promise<bigint> {
    return this.#read(lastSequence);
  }

  async restore(entries: AsyncIterable<StoreEntry>, sequence: bigint): Promise<void> {
    const all: StoreEntry[] = [];
    for await (const entry of entries) all.push(entry);
    verifyKeys([], all);
    await this.#current();
    const done = await this.#write((tables) => applyRestore(tables, all, sequence));
    if (!done) throw new StoreError('occupied', 'the store is not empty');
  }

  async replay(changes: readonly StoreChange[]): Promise<void> {
    for (const { writes } of changes) verifyKeys([], writes);
    await this.#current();
    await this.#write((tables) => applyReplay(tables, changes));
  }

  guard(look: StoreGuard): void {
    this.#gate.shut(() => look(new EmbeddedStore(this.#folder, this.#file, this.#reading)));
  }

  async weakness(): Promise<undefined> {
    this.#requireOpen();
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    await this.#group.idle();
    await this.#retired;
    await this.#file.close();
  }

  /** Reads the tables at one moment, after all commits so far, also those of other processes. */
  async #read<Result>(look: (tables: EmbeddedTables) => Result): Promise<Result> {
    const tables = this.#atOnce() ?? (await this.#newest());
    try {
      return look(tables);
    } catch (error) {
      await this.#file.closeIfDead();
      throw unreadable(error);
    }
  }

  async #newest(): Promise<EmbeddedTables> {
    const file = await this.#current();
    file.renew();
    return file.tables;
  }

  /** The newest tables; undefined if the file must be checked or opened first. */
  #atOnce(): EmbeddedTables | undefined {
    this.#follow();
    if (!this.#gate.isOpen || this.#file.isClosed) return undefined;
    this.#file.renew();
    return this.#file.tables;
  }

  /** The current file after its check. */
  async #current(): Promise<EmbeddedFile> {
    for (;;) {
      this.#follow();
      if (this.#file.isClosed) await this.#reopen();
      else if (this.#gate.isOpen) return this.#file;
      else await this.#gate.pass();
    }
  }

  /** Reopens a file that was closed because it did not answer. */
  async #reopen(): Promise<void> {
    const old = this.#file;
    const file = await old.reopened();
    if (this.#file !== old) return;
    this.#file = file;
    if (file.inode !== old.inode) this.#gate.shut();
  }

  /** Switches to the file that the folder holds now. */
  #follow(): void {
    this.#requireOpen();
    const now = Date.now();
    if (this.#seenMillis === now) return;
    if (inodeOf(this.#folder) !== this.#file.inode) {
      const old = this.#file;
      this.#file = new EmbeddedFile(this.#folder, this.#reading);
      this.#gate.shut();
      this.#retired = this.#group.idle().then(() => old.close());
    }
    this.#seenMillis = now;
  }

  #requireOpen(): void {
    if (this.#closed) throw new StoreError('closed', 'the store is closed');
  }

  async #submit(step: TransactionStep): Promise<CommitResult> {
    await this.#current();
    return withTimeout(this.#group.submit(step));
  }

  /** Applies steps in one transaction with one flush. */
  async #transact(steps: readonly TransactionStep[]): Promise<readonly Settled<CommitResult>[]> {
    let inside: unknown;
    try {
      const results = await this.#write((tables, inode) => {
        try {
          // Writes to a removed file would be lost.
          if (inodeOf(this.#folder) !== inode) throw replaced();
          return applySteps(tables, steps);
        } catch (error) {
          inside = error;
          throw error;
        }
      });
      return results.map((outcome) => ({ kind: 'done', outcome }));
    } catch (error) {
      const settled = settledBy(inside ?? error, inside === undefined);
      return steps.map(() => settled);
    }
  }

  /** Runs a function in one transaction. @throws Error if the disk fails; the caller reads back whether it was applied. */
  async #write<Result>(work: (tables: EmbeddedTables, inode: number) => Result): Promise<Result> {
    const file = this.#file.isClosed ? await this.#current() : this.#file;
    try {
      // A child transaction is rolled back completely if a step throws.
      return await file.transact(() => work(file.tables, file.inode));
    } catch (error) {
      ignoreSecondRejection(error);
      await file.closeIfDead();
      throw error;
    }
  }
}

function replaced(): StoreError {
  return new StoreError('unavailable', 'the file of the store was replaced');
}

function entries(
  table: EmbeddedTable,
  options: Parameters<EmbeddedTable['getRange']>[0],
): readonly StoreEntry[] {
  return [...table.getRange(options)].map(({ key, value }) => ({ key: keyText(key), value }));
}

const NO_VALUE = new Uint8Array();

function keys(
  table: EmbeddedTable,
  options: Parameters<EmbeddedTable['getKeys']>[0],
): readonly StoreEntry[] {
  return [...table.getKeys(options)].map((key) => ({ key: keyText(key), value: NO_VALUE }));
}

/** Checks keys before the transaction, so that an invalid key does not fail the commits of a batch. */
function verifyKeys(checks: readonly Check[], writes: readonly { readonly key: string }[]): void {
  for (const check of checks) {
    if (check.kind === 'value') keyBytes(check.key);
    else if (check.kind === 'count') [check.start, check.end].forEach(boundBytes);
  }
  for (const { key } of writes) keyBytes(key);
}

/**
 * Result of the steps of a failed transaction. If the disk failed during the write, the result is
 * unknown and must be read back.
 */
function settledBy(error: unknown, inWriting: boolean): Settled<CommitResult> {
  if (error instanceof StoreError) return { kind: 'failed', error };
  if (inWriting) {
    const reason = `the store could not be written: ${messageOf(error)}`;
    return { kind: 'done', outcome: { kind: 'unknown', reason } };
  }
  const message = `the store could not make the change: ${messageOf(error)}`;
  return { kind: 'failed', error: new StoreError('failed', message) };
}

/** Handles the second rejected promise that the package attaches to the error; unhandled it would end the process. */
function ignoreSecondRejection(failure: unknown): void {
  if (failure instanceof Error && 'commitError' in failure) {
    Promise.resolve(failure.commitError).catch(() => undefined);
  }
}

/** The result of a commit, which is unknown after a timeout. */
async function withTimeout(result: Promise<CommitResult>): Promise<CommitResult> {
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
