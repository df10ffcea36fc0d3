import { CatalogError } from '../../../protocol/errors.ts';
import type { Storage } from '../../../storage/storage.ts';
import type { StoreChange, Check, CommitResult, Store, Write } from '../../../store/store.ts';
import { requireOwnStore } from '../records/catalog-id.ts';
import type { Decided } from '../records/commit-loop.ts';
import { encodeChange } from './journal-line.ts';
import { openJournalLog } from './journal-log.ts';
import type { JournalLog } from './object-log.ts';

/** The catalog's journal: what the store commits, written down on disk as well. */
export interface Journal {
  /**
   * Commits to the store and writes the change down. When it resolves as
   * committed, both the store and the journal have it on stable storage.
   * @param decided Done beside that, once the store has the change.
   * @throws CatalogError ServiceUnavailable when the journal cannot be written; the
   * change may be in the store all the same, and is written down before the next.
   */
  commit(
    checks: readonly Check[],
    writes: readonly Write[],
    decided?: Decided,
  ): Promise<CommitResult>;
  /**
   * Journals every change that the store still holds, of any process. Callers that find an unknown commit
   * in effect call this before they report it.
   * @throws CatalogError ServiceUnavailable if the journal cannot be written.
   */
  catchUp(): Promise<void>;
  /** Why the journal cannot be written now; undefined while it can. */
  readonly fault: string | undefined;
  /** Finishes what is in progress. The store stays open. */
  close(): Promise<void>;
}

interface JournalOptions {
  /** A file that is as large gets no further line. */
  readonly rotateBytes?: number;
}

/** Number of changes that are removed from the store at once, and the maximum delay. */
const FORGET_BATCH = 256;
const FORGET_MILLIS = 200;
/** Changes taken from the store at once: few, since each may be large. */
const PAGE = 32;

/**
 * Opens the journal in a folder, or in an object store. Changes that the store still holds,
 * since a crash came between a commit and its line, are written down first.
 *
 * Each process writes files of its own, so several may share the folder. A line
 * that a crash tore stays where it is, for another process might be at writing
 * it; readers know it by its checksum, and its change is still in the store.
 * @throws CatalogError ServiceUnavailable when the store is not this catalog's: its
 * changes are not ours to take.
 */
export async function openJournal(
  storage: Storage,
  folder: string,
  store: Store,
  options: JournalOptions = {},
): Promise<Journal> {
  await storage.folders?.make(folder);
  await requireOwnStore(storage, folder, store);
  const log = openJournalLog(storage, folder, options.rotateBytes);
  const journal = new StoreJournal(store, log);
  await journal.catchUp();
  return journal;
}

class StoreJournal implements Journal {
  readonly #store: Store;
  readonly #log: JournalLog;
  /** The lines of changes that the store may still hold. */
  readonly #lines = new Map<bigint, Promise<void>>();
  #written: bigint[] = [];
  #forgetting: Promise<void> = Promise.resolve();
  /** How often a change may have come into the store without its line; they get one before anything else is committed. */
  #missed = 0;
  #caughtUp = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(store: Store, log: JournalLog) {
    this.#store = store;
    this.#log = log;
  }

  get fault(): string | undefined {
    return this.#log.fault;
  }

  async commit(
    checks: readonly Check[],
    writes: readonly Write[],
    decided?: Decided,
  ): Promise<CommitResult> {
    if (this.#missed > this.#caughtUp) await this.catchUp();
    if (this.#store.forgetsBeside === true) this.#forgetBeside();
    const result = await this.#store.commit(checks, writes);
    if (result.kind === 'conflict') return result;
    if (result.kind === 'unknown') return this.#unknown(result);
    const written = this.#writeAllDown([{ sequence: result.sequence, writes }]);
    await bothOf(written, decided?.());
    return result;
  }

  async catchUp(): Promise<void> {
    const missed = this.#missed;
    let page: readonly StoreChange[];
    do {
      page = await this.#store.changes(PAGE);
      await this.#writeAllDown(page);
      await this.#forget(page.map((change) => change.sequence));
    } while (page.length === PAGE);
    this.#caughtUp = Math.max(this.#caughtUp, missed);
  }

  async close(): Promise<void> {
    clearTimeout(this.#timer);
    await this.#log.close();
    await this.#forgetting;
    await this.#forgetWritten();
  }

  /** The commit may have taken effect: then its line has to be there before anybody can find that out. */
  async #unknown(result: CommitResult): Promise<CommitResult> {
    this.#missed += 1;
    await this.catchUp();
    return result;
  }

  async #writeAllDown(changes: readonly StoreChange[]): Promise<void> {
    try {
      await Promise.all(changes.map((change) => this.#writeDown(change)));
    } catch (error) {
      this.#missed += 1;
      const said = error instanceof Error ? error.message : String(error);
      throw new CatalogError('ServiceUnavailable', `the catalog journal is not written: ${said}`);
    }
  }

  #writeDown(change: StoreChange): Promise<void> {
    const cached = this.#lines.get(change.sequence);
    if (cached !== undefined) return cached;
    const line = this.#append(change);
    this.#lines.set(change.sequence, line);
    return line;
  }

  async #append(change: StoreChange): Promise<void> {
    try {
      await this.#log.append({ sequence: change.sequence, bytes: encodeChange(change) });
    } catch (error) {
      this.#lines.delete(change.sequence);
      throw error;
    }
    this.#remember(change.sequence);
  }

  #remember(sequence: bigint): void {
    this.#written.push(sequence);
    if (this.#written.length >= FORGET_BATCH) this.#forgetSoon();
    else this.#timer ??= setTimeout(() => this.#forgetSoon(), FORGET_MILLIS);
  }

  #forgetSoon(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#forgetting = this.#forgetting.then(() => this.#forgetWritten());
  }

  /** In the step of the next commit: fewer changes in the store mean fewer pages to write. */
  #forgetBeside(): void {
    if (this.#written.length === 0) return;
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const before = this.#forgetting;
    const now = this.#forgetWritten();
    this.#forgetting = before.then(() => now);
  }

  /** A failed removal is retried; otherwise the change is only journaled twice. */
  async #forgetWritten(): Promise<void> {
    const sequences = this.#written;
    this.#written = [];
    await this.#forget(sequences).catch(() => {
      this.#written.push(...sequences);
    });
  }

  async #forget(sequences: readonly bigint[]): Promise<void> {
    if (sequences.length > 0) await this.#store.forget(sequences);
    for (const sequence of sequences) this.#lines.delete(sequence);
  }
}

/** Waits for both, also when one fails; of two faults it throws the first one's. */
async function bothOf(first: Promise<void>, second: Promise<void> | undefined): Promise<void> {
  const ends = await Promise.allSettled([first, second]);
  for (const end of ends) if (end.status === 'rejected') throw end.reason;
}
