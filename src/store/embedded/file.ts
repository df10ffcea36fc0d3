import { statSync } from 'node:fs';
import { join } from 'node:path';
import { open, type RootDatabase, type Transaction } from 'lmdb';
import type { EmbeddedTable, EmbeddedTables } from './transaction.ts';
import { requireSoundHead } from './file-head.ts';
import { isStoreDamage, messageOf, StoreError } from '../store-error.ts';

/** Maximum size of the file; address space is reserved, memory is not. */
const MAP_BYTES = 2 ** 36;

const binary = { keyEncoding: 'binary', encoding: 'binary' } as const;

type Root = RootDatabase<Uint8Array, Uint8Array>;

/** Key of the read that checks whether the file answers; it is never written. */
const NO_KEY = Buffer.from([0]);

/** The open file of the embedded store. */
export class EmbeddedFile {
  readonly tables: EmbeddedTables;
  /** Inode of the file when it was opened. */
  readonly inode: number;
  readonly #root: Root;
  #closed: Promise<void> | undefined;
  #next: Promise<EmbeddedFile> | undefined;

  /**
   * Opens the file of a folder, which is made where it is missing, or, for reading, has to be there.
   * Opening it for writing is a transaction, which waits for the writer in progress.
   * @throws StoreError damaged, and the errors of LMDB.
   *
   * What a resolved transaction means: with `overlappingSync` off, LMDB writes the
   * pages, waits for `fdatasync`, writes the page that makes them count through a
   * descriptor opened with O_DSYNC, and only then reports back (as strace shows).
   */
  constructor(folder: string, reading = false) {
    // LMDB would make the folder of a file that is not there.
    if (reading) inodeOf(folder);
    requireSoundHead(folder, MAP_BYTES);
    this.#root = openRoot(folder, reading);
    this.tables = tablesOf(this.#root);
    this.inode = inodeOf(folder);
  }

  /** Whether it is closed or closing. */
  get isClosed(): boolean {
    return this.#closed !== undefined;
  }

  /** Makes the next read see all writes so far, also those of other processes. */
  renew(): void {
    this.#root.resetReadTxn();
  }

  /** A snapshot of all writes so far. The caller ends it with `done()`. */
  snapshot(): Transaction {
    this.renew();
    return this.#root.useReadTransaction();
  }

  /** Runs a function in an atomic transaction. */
  transact<Result>(work: () => Result): Promise<Result> {
    return this.#root.childTransaction(work);
  }

  /**
   * Closes it if it answers nothing any more. When the page that makes a transaction count
   * cannot be written, LMDB gives the file up for good (MDB_PANIC), and a transaction that
   * is begun after that never ends: it has to be opened again.
   */
  async closeIfDead(): Promise<void> {
    if (this.isClosed || this.#answers()) return;
    await this.close();
  }

  /** Resolves when operations in progress have ended and the file is closed. */
  close(): Promise<void> {
    return (this.#closed ??= this.#root.close());
  }

  /**
   * Opens the file of the folder again after this one is closed; all callers get the same file.
   * @throws StoreError unavailable, busy when it cannot be opened.
   */
  reopened(open: () => Promise<EmbeddedFile>): Promise<EmbeddedFile> {
    return (this.#next ??= this.#reopen(open));
  }

  async #reopen(open: () => Promise<EmbeddedFile>): Promise<EmbeddedFile> {
    try {
      await this.close();
      return await open();
    } catch (error) {
      this.#next = undefined;
      throw unreadable(error);
    }
  }

  #answers(): boolean {
    try {
      this.renew();
      this.tables.values.get(NO_KEY);
      return true;
    } catch {
      return false;
    }
  }
}

/** @throws StoreError damaged, or the error of the file */
function tablesOf(root: Root): EmbeddedTables {
  const table = (name: string): EmbeddedTable => root.openDB(name, binary);
  try {
    return { values: table('values'), changes: table('changes'), counters: table('counters') };
  } catch (error) {
    const failure = unreadable(error);
    throw isStoreDamage(failure) ? failure : error;
  }
}

function openRoot(folder: string, readOnly: boolean): Root {
  // Its types do not know the mode of its files.
  const options = {
    ...binary,
    path: folder,
    noSubdir: false,
    overlappingSync: false,
    // Off: otherwise a commit that fails also rejects a promise without a handler.
    eventTurnBatching: false,
    mapSize: MAP_BYTES,
    maxDbs: 3,
    readOnly,
    permissionsMode: 0o600,
  };
  return open<Uint8Array, Uint8Array>(options);
}

/**
 * Inode of the file that a folder holds now.
 * @throws StoreError unavailable if the file is missing.
 */
export function inodeOf(folder: string): number {
  const stats = statSync(join(folder, 'data.mdb'), { throwIfNoEntry: false });
  if (stats === undefined) throw new StoreError('unavailable', 'the file of the store is gone');
  return stats.ino;
}

/** Errors of LMDB about a page that is not what it should be. */
const DAMAGED_PAGE = /^MDB_(CORRUPTED|PAGE_NOTFOUND|BAD_TXN|BAD_VALSIZE|INVALID)\b/;

/** The store error for a failure of the file. */
export function unreadable(error: unknown): StoreError {
  if (error instanceof StoreError) return error;
  if (DAMAGED_PAGE.test(messageOf(error))) {
    return new StoreError('damaged', `a page of the store is damaged: ${messageOf(error)}`);
  }
  return new StoreError('unavailable', `the store could not be read: ${messageOf(error)}`);
}
