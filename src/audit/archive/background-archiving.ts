import { setTimeout as sleep } from 'node:timers/promises';
import { archiveRetention, type RetentionOptions } from './archive-retention.ts';
import { ArchiveUploads, type ArchiveOptions } from './archive-uploads.ts';

/** Pause between two rounds, in ms. With the time of a round, lines are in the archive within ten seconds. */
const PAUSE_MILLIS = 3_000;
/** Time for which records may miss in the archive before `/readyz` says so, in ms. */
const LATE_MILLIS = 15_000;
/** Interval in which segments of gateways that are gone are examined for their retention, in ms. */
const RETENTION_MILLIS = 3_600_000;
/** Time for the last round at the end of a process, in ms. */
export const LAST_ARCHIVE_MILLIS = 5_000;

export interface BackgroundArchivingOptions
  extends ArchiveOptions, Pick<RetentionOptions, 'key' | 'retainMillis'> {
  /** The archive in the configuration, for messages. */
  readonly name: string;
  /** Called when a round failed and the one before did not. */
  readonly failed: (error: unknown) => void;
  /** Called after a round that worked. */
  readonly done: () => void;
  readonly pauseMillis?: number;
  readonly lateMillis?: number;
}

/** Uploads the audit log of a data folder at intervals, and what retention ends in the archive. Nobody waits for it. */
export class BackgroundArchiving {
  readonly #options: BackgroundArchivingOptions;
  readonly uploads: ArchiveUploads;
  readonly #stopping = new AbortController();
  #running: Promise<void> | undefined;
  #own = '';
  /** All records before this moment are in the archive, by `performance.now()`. */
  #archivedUntil = performance.now();
  #isWorking = false;
  #fault: string | undefined;
  #retained = -Infinity;

  constructor(options: BackgroundArchivingOptions) {
    this.#options = options;
    this.uploads = new ArchiveUploads(options);
  }

  /** Begins the rounds. @param own Instance of this process. */
  start(own: string): void {
    this.#own = own;
    this.#running = this.#run();
  }

  /** Ends with a last round, which has the records of a log that was closed before; a store that does not answer cannot delay it. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    if (this.#running === undefined) return;
    const over = new AbortController();
    const last = this.#running
      .then(() => this.#round())
      .catch(() => undefined)
      // A timer that runs on would keep the process for its whole time.
      .finally(() => over.abort());
    const late = sleep(LAST_ARCHIVE_MILLIS, undefined, { signal: over.signal });
    await Promise.race([last, late.catch(() => undefined)]);
  }

  /** Upper bound of the age of the oldest record that is not in the archive, in seconds; 0 if the last round got all. */
  ageSeconds(): number {
    const isBehind = this.#isWorking || this.#fault !== undefined;
    return isBehind ? (performance.now() - this.#archivedUntil) / 1000 : 0;
  }

  /** Why records are not in the archive; undefined if all are that are older than 15 s. */
  fault(): string | undefined {
    const age = this.ageSeconds();
    const { lateMillis = LATE_MILLIS } = this.#options;
    if (age === 0 || age * 1000 < lateMillis) return undefined;
    const seconds = Math.round(age);
    const why = this.#fault ?? 'the upload takes long';
    return `the audit records of the last ${seconds} s are not in the archive ${this.#options.name}: ${why}`;
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      const more = await this.#attempt();
      const pause = more ? 0 : (this.#options.pauseMillis ?? PAUSE_MILLIS);
      await sleep(pause, undefined, { signal, ref: false }).catch(() => undefined);
    }
  }

  /** @returns Whether there is more to upload. */
  async #attempt(): Promise<boolean> {
    try {
      return await this.#round();
    } catch (error) {
      if (this.#fault === undefined && !this.#stopping.signal.aborted) this.#options.failed(error);
      this.#fault = error instanceof Error ? error.message : String(error);
      return false;
    }
  }

  async #round(): Promise<boolean> {
    const begun = performance.now();
    this.#isWorking = true;
    try {
      const { more } = await this.uploads.round(this.#own, this.#stopping.signal);
      if (!more) this.#archivedUntil = begun;
      this.#options.done();
      this.#fault = undefined;
      if (!more) await this.#retain();
      this.#isWorking = more;
      return more;
    } catch (error) {
      this.#isWorking = false;
      throw error;
    }
  }

  async #retain(): Promise<void> {
    if (performance.now() - this.#retained < RETENTION_MILLIS) return;
    await archiveRetention(this.#options);
    this.#retained = performance.now();
  }
}
