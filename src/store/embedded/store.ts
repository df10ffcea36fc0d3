import type { RangeOptions } from 'lmdb';
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
  type WriteWaits,
} from '../store.ts';
import { inodeOf, EmbeddedFile, unreadable } from './file.ts';
import {
  applyReplay,
  applyRestore,
  applySteps,
  endSealing,
  holdsContent,
  lastSequence,
  openChange,
  sealPage,
  sequenceKey,
  sequenceOf,
  type EmbeddedTable,
  type TransactionStep,
  type EmbeddedTables,
} from './transaction.ts';
import { DamageRegister, type OnStoreDamage } from '../damage.ts';
import type { KeyCheck } from '../key-digest.ts';
import { compareKeys } from './key-check.ts';
import { unsealValue } from '../value-seal.ts';
import { messageOf, StoreError } from '../store-error.ts';
import { makeFolder, syncFolder } from '../../storage/folder.ts';
import { Gate } from '../gate.ts';
import { Group, type Settled } from '../../storage/group.ts';
import { readingStore } from '../reading-store.ts';
import { boundBytes, keyBytes, keyText } from '../key.ts';
import { WriteRoom } from './write-room.ts';
import { WriteTurn } from './write-turn.ts';

type Test = (values: EmbeddedTable) => boolean;

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
  return (values) => {
    // The package reuses this memory for the next value, so bytes are only compared.
    const found: Uint8Array | undefined = values.getBinaryFast(key);
    return found !== undefined && holdsContent(found, found.length, value);
  };
}

function countTest({ start, end, count }: Extract<ReadCheck, { kind: 'count' }>): Test {
  const range = { start: boundBytes(start), end: boundBytes(end) };
  return (values) => values.getKeysCount(range) === count;
}

/** Maximum number of cached values, and maximum size of each, in bytes. */
const REMEMBERED = 4096;
const LARGEST_BYTES = 2048;

/** Encoded key, and the value of its last read: as the file has it, and without its seal. */
interface CachedValue {
  readonly key: Buffer;
  stored: Buffer | undefined;
  value: Buffer | undefined;
}

/**
 * Reads values from the file. Each read compares the bytes of the file with those of the last read;
 * if they are equal, it returns the same object, copies nothing and computes no checksum.
 */
class EmbeddedReads {
  readonly #cache = new Map<string, CachedValue>();
  readonly #damage: DamageRegister;

  constructor(damage: DamageRegister) {
    this.#damage = damage;
  }

  /**
   * The value of a key, which must not be modified.
   * @throws StoreError key, damaged.
   */
  read(tables: EmbeddedTables, key: string): Uint8Array | undefined {
    const cached = this.#cache.get(key) ?? this.#remember(key);
    // The package reuses this memory for the next value; it may be larger than `length`.
    const found: Uint8Array | undefined = tables.values.getBinaryFast(cached.key);
    if (found === undefined) {
      cached.stored = undefined;
      this.#damage.requireAbsence(cached.key);
      return undefined;
    }
    if (cached.stored !== undefined && isSame(cached.stored, found)) return cached.value;
    const stored = Buffer.allocUnsafeSlow(found.length);
    stored.set(found.subarray(0, found.length));
    const value = unsealValue(cached.key, stored);
    if (value === undefined) throw this.#damage.value(key);
    cached.stored = stored.byteLength > LARGEST_BYTES ? undefined : stored;
    cached.value = value;
    return value;
  }

  #remember(key: string): CachedValue {
    const cached: CachedValue = { key: keyBytes(key), stored: undefined, value: undefined };
    this.#cache.set(key, cached);
    if (this.#cache.size > REMEMBERED) this.#forgetOldest();
    return cached;
  }

  #forgetOldest(): void {
    for (const oldest of this.#cache.keys()) {
      this.#cache.delete(oldest);
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
/** Time after which a commit that has begun and is not confirmed is unknown, in ms. */
export const COMMIT_MILLIS = 30_000;
/** Default time that a commit waits for its turn, in ms. */
export const WRITE_WAIT_MILLIS = 5000;

/** Options of an embedded store. */
export interface EmbeddedOptions {
  /** How long a commit, and the opening, wait for another writer, in ms. */
  readonly waitMillis?: number | undefined;
  /** Called for damage that is found. */
  readonly onDamage?: OnStoreDamage | undefined;
}

/**
 * Opens the embedded store of a folder, which is made where it is missing (mode
 * 0700). Processes of one machine may share it. If the file is missing, operations fail; if it
 * is replaced, the new file is the store.
 * @throws StoreError busy if another process does not end its turn in time.
 */
export async function openEmbeddedStore(
  folder: string,
  { waitMillis = WRITE_WAIT_MILLIS, onDamage }: EmbeddedOptions = {},
): Promise<Store> {
  await makeFolder(folder, 0o700);
  const turn = new WriteTurn(folder, waitMillis);
  try {
    const file = await turn.during(() => new EmbeddedFile(folder));
    await syncFolder(folder);
    return new EmbeddedStore(folder, file, new DamageRegister(onDamage), turn);
  } catch (error) {
    turn.close();
    throw error;
  }
}

/**
 * Opens the embedded store of a folder for reading: beside those that write to it, or alone.
 * Nothing but LMDB's lock file, where readers are registered, is written.
 * @throws StoreError unavailable when there is none.
 */
export function openEmbeddedReading(folder: string, onDamage?: OnStoreDamage): Store {
  const store = new EmbeddedStore(folder, readingFile(folder), new DamageRegister(onDamage));
  return { ...readingStore(store), checkKeys: () => store.checkKeys() };
}

function readingFile(folder: string): EmbeddedFile {
  try {
    return new EmbeddedFile(folder, true);
  } catch (error) {
    throw unreadable(error);
  }
}

class EmbeddedStore implements Store {
  readonly forgetsBeside = true;
  readonly #folder: string;
  /** Undefined if the store is open for reading only. */
  readonly #turn: WriteTurn | undefined;
  readonly #group = new Group<TransactionStep, CommitResult>(
    (steps) => this.#transact(steps),
    MAX_BATCH,
    () => this.#ready(),
  );
  readonly #gate = new Gate();
  readonly #room: WriteRoom;
  readonly #damage: DamageRegister;
  readonly #reads: EmbeddedReads;
  #file: EmbeddedFile;
  /** When the inode of the file was last checked. */
  #seenMillis = 0;
  #moving: Promise<void> | undefined;
  #retired: Promise<void> = Promise.resolve();
  #closed = false;

  constructor(folder: string, file: EmbeddedFile, damage: DamageRegister, turn?: WriteTurn) {
    this.#folder = folder;
    this.#file = file;
    this.#room = new WriteRoom(folder);
    this.#damage = damage;
    this.#reads = new EmbeddedReads(damage);
    this.#turn = turn;
  }

  get writeWaits(): WriteWaits | undefined {
    return this.#turn;
  }

  get(key: string): Promise<Uint8Array | undefined> {
    return this.#read((tables) => this.#reads.read(tables, key));
  }

  getMany(keys: readonly string[]): Promise<readonly (Uint8Array | undefined)[]> {
    return this.#read((tables) => keys.map((key) => this.#reads.read(tables, key)));
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
    return this.#read((tables) => {
      this.#damage.requireRange(start, end);
      if (range.keysOnly === true) return keys(tables.values, options);
      return this.#entries(tables, options);
    });
  }

  #entries(tables: EmbeddedTables, options: RangeOptions): readonly StoreEntry[] {
    return [...tables.values.getRange(options)].map((entry) => {
      const [bytes, key] = [Buffer.from(entry.key), keyText(entry.key)];
      const value = unsealValue(bytes, Buffer.from(entry.value));
      if (value === undefined) throw this.#damage.value(key);
      return { key, value };
    });
  }

  async commit(checks: readonly Check[], writes: readonly Write[]): Promise<CommitResult> {
    verifyKeys(checks, writes);
    this.#damage.requireKnown(checks);
    return this.#submit({ kind: 'commit', checks, writes });
  }

  async changes(limit: number): Promise<readonly StoreChange[]> {
    // Writes of a killed process become visible with the next write.
    if (this.#turn !== undefined) await this.#submit({ kind: 'forget', sequences: [] });
    return this.#read(({ changes }) =>
      [...changes.getRange({ start: sequenceKey(0n), limit })].map(({ key, value }) => ({
        sequence: sequenceOf(key),
        writes: decodeWrites(openChange(key, Buffer.from(value))),
      })),
    );
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
    const bytes = bytesOf(all);
    const done = await this.#alone((tables) => applyRestore(tables, all, sequence), bytes);
    if (!done) throw new StoreError('occupied', 'the store is not empty');
  }

  async replay(changes: readonly StoreChange[]): Promise<void> {
    for (const { writes } of changes) verifyKeys([], writes);
    await this.#current();
    const bytes = bytesOf(changes.flatMap(({ writes }) => writes));
    await this.#alone((tables) => applyReplay(tables, changes), bytes);
  }

  guard(look: StoreGuard): void {
    this.#gate.shut(() => {
      return look(new EmbeddedStore(this.#folder, this.#file, this.#damage, this.#turn));
    });
  }

  async checkKeys(): Promise<KeyCheck> {
    const check = await compareKeys(await this.#current());
    this.#damage.checked(check.damaged);
    return check;
  }

  async sealOlder(): Promise<number> {
    await this.#current();
    let sealed = 0;
    // Without a turn of its own, which commits of this process could keep from it; LMDB orders transactions.
    for (let after: Buffer | undefined, more = true; more; more = after !== undefined) {
      const page = await this.#write((tables) => sealPage(tables, after));
      after = page.last;
      sealed += page.sealed;
    }
    return sealed + (await this.#write(endSealing));
  }

  async weakness(): Promise<undefined> {
    this.#requireOpen();
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.#turn?.stop();
    await this.#group.idle();
    await this.#retired;
    await this.#file.close();
    this.#turn?.close();
  }

  /** Reads the tables at one moment, after all commits so far, also those of other processes. */
  async #read<Result>(look: (tables: EmbeddedTables) => Result): Promise<Result> {
    const tables = this.#atOnce() ?? (await this.#newest());
    try {
      return look(tables);
    } catch (error) {
      await this.#file.closeIfDead();
      throw this.#damage.error(unreadable(error));
    }
  }

  async #newest(): Promise<EmbeddedTables> {
    const file = await this.#current();
    file.renew();
    return file.tables;
  }

  /** The newest tables; undefined if the file must be checked or opened first. */
  #atOnce(): EmbeddedTables | undefined {
    if (!this.#isOpen()) return undefined;
    this.#file.renew();
    return this.#file.tables;
  }

  /** The current file after its check. */
  async #current(): Promise<EmbeddedFile> {
    for (;;) {
      if (!this.#isCurrent()) await (this.#moving ??= this.#move());
      else if (this.#file.isClosed) await this.#reopen();
      else if (this.#gate.isOpen) return this.#file;
      else await this.#gate.pass();
    }
  }

  /** Reopens a file that was closed because it did not answer. */
  async #reopen(): Promise<void> {
    const old = this.#file;
    const file = await old.reopened(() => this.#open());
    if (this.#file !== old) return;
    this.#file = file;
    if (file.inode !== old.inode) this.#gate.shut();
  }

  /** Whether the file can be used at once. */
  #isOpen(): boolean {
    return this.#isCurrent() && this.#gate.isOpen && !this.#file.isClosed;
  }

  /** Opens the file of the folder; for writing, in a turn of its own. */
  async #open(): Promise<EmbeddedFile> {
    const reading = this.#turn === undefined;
    const open = () => new EmbeddedFile(this.#folder, reading);
    return this.#turn === undefined ? open() : this.#turn.during(open);
  }

  /** Whether the folder still holds the open file. */
  #isCurrent(): boolean {
    this.#requireOpen();
    const now = Date.now();
    if (this.#seenMillis === now) return true;
    if (inodeOf(this.#folder) !== this.#file.inode) return false;
    this.#seenMillis = now;
    return true;
  }

  /** Switches to the file that the folder holds now. */
  async #move(): Promise<void> {
    try {
      const old = this.#file;
      this.#turn?.renew();
      this.#file = await this.#open();
      this.#gate.shut();
      const before = this.#retired;
      this.#retired = Promise.all([before, this.#group.idle()]).then(() => old.close());
    } finally {
      this.#moving = undefined;
    }
  }

  #requireOpen(): void {
    if (this.#closed) throw new StoreError('closed', 'the store is closed');
  }

  async #submit(step: TransactionStep): Promise<CommitResult> {
    // At once if possible, so that `close` awaits it.
    if (!this.#isOpen()) await this.#current();
    let timer: NodeJS.Timeout | undefined;
    const tooLate = new Promise<CommitResult>((resolve, reject) => {
      const later = (): void => {
        if (this.#turn !== undefined && this.#group.withdraw(step)) reject(this.#turn.refusal());
        else timer = setTimeout(() => resolve(unconfirmed), COMMIT_MILLIS);
      };
      timer = setTimeout(later, this.#turn?.waitMillis);
    });
    try {
      return await Promise.race([this.#group.submit(step), tooLate]);
    } finally {
      clearTimeout(timer);
    }
  }

  /** Waits until the next batch may be written. */
  async #ready(): Promise<void> {
    await this.#turn?.take(() => this.#group.waiting > 0);
    if (!this.#file.isClosed) return;
    this.#turn?.release();
    await this.#current();
    await this.#ready();
  }

  /** Runs a function in one transaction, in a turn of its own. @throws as `#write` does; StoreError busy. */
  async #alone<Result>(work: (tables: EmbeddedTables) => Result, bytes: number): Promise<Result> {
    const write = () => this.#write(work, bytes);
    return this.#turn === undefined ? write() : this.#turn.during(write);
  }

  /** Applies steps in one transaction with one flush. */
  async #transact(steps: readonly TransactionStep[]): Promise<readonly Settled<CommitResult>[]> {
    let inside: unknown;
    try {
      if (steps.length === 0) return [];
      const results = await this.#write((tables, inode) => {
        try {
          // Writes to a removed file would be lost.
          if (inodeOf(this.#folder) !== inode) throw replaced();
          return applySteps(tables, steps);
        } catch (error) {
          inside = error;
          throw error;
        }
      }, valuesOf(steps));
      return results.map((outcome) => ({ kind: 'done', outcome }));
    } catch (error) {
      const settled = settledBy(inside ?? error, inside === undefined);
      if (settled.kind === 'failed' && settled.error instanceof StoreError)
        this.#damage.error(settled.error);
      return steps.map(() => settled);
    } finally {
      this.#turn?.release();
    }
  }

  /**
   * Runs a function in one transaction.
   * @param bytes Of the values that it writes, where they may be large.
   * @throws StoreError unavailable if the disk has no room for it; Error if the disk fails: the
   * caller reads back whether it was applied.
   */
  async #write<Result>(
    work: (tables: EmbeddedTables, inode: number) => Result,
    bytes = 0,
  ): Promise<Result> {
    const file = this.#file;
    if (file.isClosed) throw new StoreError('unavailable', 'the store is being opened again');
    this.#room.require(bytes);
    try {
      // A child transaction is rolled back completely if a step throws.
      return await file.transact(() => work(file.tables, file.inode));
    } catch (error) {
      if (!(error instanceof StoreError)) this.#room.doubt();
      ignoreSecondRejection(error);
      await file.closeIfDead();
      throw error;
    }
  }
}

function valuesOf(steps: readonly TransactionStep[]): number {
  return bytesOf(steps.flatMap((step) => (step.kind === 'commit' ? step.writes : [])));
}

/** Bytes of all values together. */
function bytesOf(writes: readonly Write[]): number {
  return writes.reduce((bytes, { value }) => bytes + (value?.byteLength ?? 0), 0);
}

function replaced(): StoreError {
  return new StoreError('unavailable', 'the file of the store was replaced');
}

const NO_VALUE = new Uint8Array();

function keys(table: EmbeddedTable, options: RangeOptions): readonly StoreEntry[] {
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

/** The result of a commit that has begun and is not confirmed in time. */
const unconfirmed: CommitResult = {
  kind: 'unknown',
  reason: `the store did not confirm the commit within ${COMMIT_MILLIS / 1000} seconds`,
};
