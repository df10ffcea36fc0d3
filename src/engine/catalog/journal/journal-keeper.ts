import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import type { Store } from '../../../store/store.ts';
import { discardAll } from '../../../storage/discard-all.ts';
import type { Storage } from '../../../storage/storage.ts';
import { lostLines } from './lost-lines.ts';
import type { Committer } from '../records/commit-loop.ts';
import { lastInFile } from './journal-end.ts';
import { journaledMoment } from './journal-moment.ts';
import { listedFiles } from './journal-files.ts';
import { IDLE_MILLIS } from './journal-log.ts';
import { mergeObjects } from './journal-objects.ts';
import { isOfObjects } from './journal-place.ts';
import { readState } from './journal-state.ts';
import {
  isSound,
  listDrafts,
  listSnapshots,
  writeSnapshot,
  type SnapshotFile,
} from './snapshot-file.ts';

interface KeeperOptions {
  readonly storage: Storage;
  readonly folder: string;
  readonly store: Store;
  readonly committer: Committer;
  /** Lines may be so large together, or as large as the snapshot, before there is a new one. */
  readonly limitBytes?: number;
  /** Idle time after which a file is removed, in ms: much longer than `IDLE_MILLIS`, since clocks differ. */
  readonly graceMillis?: number;
}

const LIMIT_BYTES = 128 * 2 ** 20;
const GRACE_MILLIS = 10 * IDLE_MILLIS;
const DRAFT_MILLIS = 86_400_000;
/** How often the journal is looked at, in milliseconds, and how much later at random: processes need not all look at once. */
const PAUSE_MILLIS = 60_000;

/**
 * Keeps a journal short: now and then a snapshot takes the place of the lines up
 * to it. Any number of processes may do so on one folder: a snapshot is made of
 * what is on disk, lines are taken away only once a sound snapshot holds them,
 * and no file that its process may still write to.
 */
export class JournalKeeper {
  readonly #storage: Storage;
  readonly #folder: string;
  readonly #store: Store;
  readonly #committer: Committer;
  readonly #limitBytes: number;
  readonly #graceMillis: number;
  #timer: NodeJS.Timeout | undefined;
  #working: Promise<void> = Promise.resolve();
  #stopped = false;

  constructor({ storage, folder, store, committer, limitBytes, graceMillis }: KeeperOptions) {
    this.#storage = storage;
    this.#folder = folder;
    this.#store = store;
    this.#committer = committer;
    this.#limitBytes = limitBytes ?? LIMIT_BYTES;
    this.#graceMillis = graceMillis ?? GRACE_MILLIS;
  }

  /** Looks after the journal until it is stopped. */
  start(onFault: (error: unknown) => void): void {
    if (this.#stopped) return;
    this.#timer = setTimeout(
      () => {
        this.#working = this.keep()
          .catch(onFault)
          .then(() => this.start(onFault));
      },
      PAUSE_MILLIS * (1 + Math.random()),
    );
    this.#timer.unref();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    clearTimeout(this.#timer);
    await this.#working;
  }

  /**
   * Writes down what processes that died have left in the store, makes a snapshot if
   * the lines have become many, and takes away what snapshots hold.
   */
  async keep(): Promise<void> {
    await this.#committer.catchUp?.();
    const [newest] = await listSnapshots(this.#storage, this.#folder);
    if (await this.#isLong(newest)) await this.snapshot();
    await this.#trim();
    await this.#merge();
  }

  /** Merges objects that processes which ended have left. */
  async #merge(): Promise<void> {
    if (!isOfObjects(this.#storage, this.#folder)) return;
    const [newest] = await listSnapshots(this.#storage, this.#folder);
    const instance = randomBytes(4).toString('hex');
    await mergeObjects(this.#storage, this.#folder, instance, newest?.sequence ?? 0n);
  }

  /**
   * Makes a snapshot of all changes that are in the journal for certain.
   * @throws Error when the journal lacks changes: a snapshot would hide that.
   */
  async snapshot(): Promise<void> {
    const upTo = await journaledMoment(this.#store, this.#committer);
    const state = await readState(this.#storage, this.#folder, upTo);
    const [lost] = lostLines(state);
    if (lost !== undefined) throw new Error(`no snapshot of the journal is made: ${lost}`);
    if (state.sequence === state.snapshot?.sequence) return;
    await writeSnapshot(this.#storage, this.#folder, state.sequence, state.entries());
  }

  async #isLong(newest: SnapshotFile | undefined): Promise<boolean> {
    const held = newest?.sequence ?? 0n;
    const size = newest === undefined ? 0 : await this.#sizeOf(newest.name);
    let bytes = 0;
    for (const file of await listedFiles(this.#storage, this.#folder)) {
      const last = await lastInFile(this.#storage, this.#folder, file);
      if (last === undefined || last > held) bytes += file.bytes;
    }
    return bytes > Math.max(this.#limitBytes, size);
  }

  async #sizeOf(name: string): Promise<number> {
    return (await this.#storage.stat(join(this.#folder, name)))?.bytes ?? 0;
  }

  async #trim(): Promise<void> {
    const [newest, ...older] = await listSnapshots(this.#storage, this.#folder);
    for (const draft of await listDrafts(this.#storage, this.#folder))
      await this.#removeAged(draft, DRAFT_MILLIS);
    if (newest === undefined) return;
    const needless = [...older.map(({ name }) => name), ...(await this.#heldBy(newest))];
    // All of a snapshot is read for that: not each time that it is looked whether anything can go.
    if (needless.length === 0 || !(await isSound(this.#storage, this.#folder, newest))) return;
    const keys = needless.map((name) => join(this.#folder, name));
    await discardAll(this.#storage, keys);
    await this.#storage.flush(this.#folder);
  }

  /** Closed files whose lines are all in a snapshot. */
  async #heldBy({ sequence }: SnapshotFile): Promise<readonly string[]> {
    const held: string[] = [];
    const before = Date.now() - this.#graceMillis;
    for (const file of await listedFiles(this.#storage, this.#folder)) {
      if (file.first > sequence || file.writtenMillis >= before) continue;
      const last = await lastInFile(this.#storage, this.#folder, file);
      if (last !== undefined && last <= sequence) held.push(file.name);
    }
    return held;
  }

  async #removeAged(name: string, ageMillis: number): Promise<void> {
    if (await this.#isAged(name, ageMillis)) await this.#storage.discard(join(this.#folder, name));
  }

  async #isAged(name: string, ageMillis: number): Promise<boolean> {
    const stat = await this.#storage.stat(join(this.#folder, name));
    return stat !== undefined && Date.now() - stat.writtenMillis > ageMillis;
  }
}
