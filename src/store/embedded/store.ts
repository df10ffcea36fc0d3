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

/** Compares what lies in the file with what was read from it, and copies none of it. */
class EmbeddedWatch implements StoreWatch {
  readonly #newest: () => EmbeddedTables | undefined;
  readonly #tests: readonly Test[];

  /** @param newest The tables as every commit so far has left them; undefined where they have to be awaited. */
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
      // The file does not answer, and a read says so.
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
    // Memory that the package uses again for the next value: its bytes are only compared.
    const found: Uint8Array | undefined = values.getBinaryFast(key);
    return found !== undefined && expected.compare(found, 0, found.length) === 0;
  };
}

function countTest({ start, end, count }: Extract<ReadCheck, { kind: 'count' }>): Test {
  const range = { start: boundBytes(start), end: boundBytes(end) };
  return (values) => values.getKeysCount(range) === count;
}

/** So many values are remembered, each of so many bytes at most. */
const REMEMBERED = 4096;
const LARGEST_BYTES = 2048;

/** A key as the file has it, and the value that it had when it was read last. */
interface CachedValue {
  readonly key: Buffer;
  value: Buffer | undefined;
}

/**
 * Reads values out of the file. The file is asked each time; but where it has the bytes that it had
 * the last time, they are the same object again, and nothing is copied.
 */
class EmbeddedReads {
  readonly #known = new Map<string, CachedValue>();

  /**
   * The value of a key. Nobody may change it.
   * @throws StoreError key.
   */
  read(values: EmbeddedTable, key: string): Uint8Array | undefined {
    const known = this.#known.get(key) ?? this.#remember(key);
    // Memory that the package uses again for the next value. It may be longer than its length says.
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

/** The most commits that share one flush of the disk. */
const MAX_BATCH = 256;
/** A commit that is not confirmed by then is unknown: a process that was stopped may hold the lock. */
const PATIENCE_MILLIS = 30_000;

/**
 * Opens the embedded store of a folder, which is made where it is missing (mode
 * 0700). Any number of processes of one machine may have it open. When its file
 * is taken away nothing is answered, and when another is put there, that is the store.
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
  /** When its name was last seen to stand for it. */
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
    // What a process that was killed had just written is seen by nobody until the next one writes.
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

  /** Reads the tables as every commit so far has left them, those of other processes too, at one moment. */
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

  /** The same where nobody has to look at the file before; undefined where somebody has. */
  #atOnce(): EmbeddedTables | undefined {
    this.#follow();
    if (!this.#gate.isOpen || this.#file.isClosed) return undefined;
    this.#file.renew();
    return this.#file.tables;
  }

  /** The file that is there now, once it was looked at. */
  async #current(): Promise<EmbeddedFile> {
    for (;;) {
      this.#follow();
      if (this.#file.isClosed) await this.#reopen();
      else if (this.#gate.isOpen) return this.#file;
      else await this.#gate.pass();
    }
  }

  /** Goes on with a file that had to be closed because it did not answer any more. */
  async #reopen(): Promise<void> {
    const old = this.#file;
    const file = await old.reopened();
    if (this.#file !== old) return;
    this.#file = file;
    if (file.inode !== old.inode) this.#gate.shut();
  }

  /** Goes over to the file that its name stands for now. */
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

  /** Does steps in one transaction, with one flush of the disk for all. */
  async #transact(steps: readonly TransactionStep[]): Promise<readonly Settled<CommitResult>[]> {
    let inside: unknown;
    try {
      const results = await this.#write((tables, inode) => {
        try {
          // What is written to a file without a name is lost.
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

  /** Runs a function in one transaction. @throws Error when the disk refuses; whether it counts has to be read back. */
  async #write<Result>(work: (tables: EmbeddedTables, inode: number) => Result): Promise<Result> {
    const file = this.#file.isClosed ? await this.#current() : this.#file;
    try {
      // A child transaction, so that a step that throws leaves nothing of the others either.
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

/** Keys are looked at before the transaction, so that one commit's key cannot spoil another's batch. */
function verifyKeys(checks: readonly Check[], writes: readonly { readonly key: string }[]): void {
  for (const check of checks) {
    if (check.kind === 'value') keyBytes(check.key);
    else if (check.kind === 'count') [check.start, check.end].forEach(boundBytes);
  }
  for (const { key } of writes) keyBytes(key);
}

/**
 * What a failure is to those whose steps were in the transaction. One that the disk refused
 * while it was written out has to be read back to see whether it counts.
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

/** The package hangs a second promise on the error, rejected too; unheard it would end the process. */
function ignoreSecondRejection(failure: unknown): void {
  if (failure instanceof Error && 'commitError' in failure) {
    Promise.resolve(failure.commitError).catch(() => undefined);
  }
}

/** Waits so long and no longer: the answer after that is that the outcome is not known. */
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
